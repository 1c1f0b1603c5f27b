// The main of every test program. Its exit status: 0 passed, 1 failed, 77 everything that was asked for was skipped.
#include <cfloat>  // which Catch2 2 needs, and does not include

#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include <cstdio>
#include <string>
#include <string_view>

namespace {

bool this_skipped = false;
bool any_skipped = false;
bool any_ran = false;

#if CATCH_VERSION_MAJOR >= 3
using listener = Catch::EventListenerBase;
#else
using listener = Catch::TestEventListenerBase;
#endif

struct count_skipped final : listener {
  using listener::listener;

  void testCaseEnded(const Catch::TestCaseStats&) override {
    (this_skipped ? any_skipped : any_ran) = true;
    this_skipped = false;
  }
};
CATCH_REGISTER_LISTENER(count_skipped)

}  // namespace

void qio_test::skipped(std::string_view reason) {
  this_skipped = true;
  const std::string name = Catch::getResultCapture().getCurrentTestName();
  std::printf("SKIPPED: %.*s [%s]\n", static_cast<int>(reason.size()), reason.data(), name.c_str());
}

// A test of CTest's whose name is no test's would pass.
bool names_no_test(int argc, char** argv) {
  const std::string_view asked_for = argc > 1 ? argv[1] : "*";
  return !any_ran && !any_skipped && asked_for.find('*') == std::string_view::npos && !asked_for.starts_with('-') &&
         !asked_for.starts_with('[') && !asked_for.starts_with('~');
}

int main(int argc, char** argv) {
  if (Catch::Session().run(argc, argv) != 0) return 1;
  if (names_no_test(argc, argv)) {
    std::printf("There is no test of this name: %s\n", argv[1]);
    return 1;
  }
  return any_skipped && !any_ran ? 77 : 0;
}
