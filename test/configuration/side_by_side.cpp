// Four copies of the library transfer in one program, in turns. Their error codes compare by std::errc, not directly.
#include "unit.hpp"

#include <cstdio>
#include <string>
#include <system_error>

int main() {
  bool passed = true;
  for (int turn = 0; turn < 2; ++turn)
    for (const unit* each : {&plain, &without_liburing, &without_exceptions, &with_checks}) {
      const std::string path = "side_by_side.tmp";
      const bool transferred = each->transfers(path);
      std::printf("%s: %s\n", each->configuration, transferred ? "transferred" : "FAILED");
      passed = passed && transferred;
      std::remove(path.c_str());
    }

  const std::error_code one = plain.misaligned(), other = with_checks.misaligned();
  if (one == other || one != std::errc::invalid_argument || other != std::errc::invalid_argument ||
      one.message() != other.message()) {
    std::printf("error codes of two configurations: %s, %s\n", one.message().c_str(), other.message().c_str());
    return 1;
  }
  return passed ? 0 : 1;
}
