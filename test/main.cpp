// The main of every test program. Its exit status: 0 passed, 1 failed, 77 nothing failed but something was skipped.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include <cstdio>
#include <string>

namespace {

bool any_skipped = false;

}  // namespace

void qio_test::skipped(std::string_view reason) {
  any_skipped = true;
  const std::string name = Catch::getResultCapture().getCurrentTestName();
  std::printf("SKIPPED: %s: %.*s\n", name.c_str(), static_cast<int>(reason.size()), reason.data());
}

int main(int argc, char** argv) {
  if (Catch::Session().run(argc, argv) != 0) {
    return 1;
  }
  return any_skipped ? 77 : 0;
}
