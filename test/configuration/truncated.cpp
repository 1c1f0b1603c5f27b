// Four copies of the library have a SIGBUS handler each. Each maps a file; the program truncates all of them; each
// copy reads past the new end, and gets a result.
#include "unit.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

int main() {
  const unit* const units[] = {&plain, &without_liburing, &without_exceptions, &with_checks};
  bool passed = true;
  for (const unit* each : units) {
    const std::string path = std::string(each->configuration) + ".tmp";
    if (!each->map(path) || ::truncate(path.c_str(), 100) != 0) {
      std::printf("%s: cannot be mapped or truncated\n", path.c_str());
      return 1;
    }
    std::remove(path.c_str());
  }
  for (int turn = 0; turn < 2; ++turn)
    for (const unit* each : units) {
      const int bytes = each->read_mapped();
      std::printf("%s: %d bytes read past the end\n", each->configuration, bytes);
      passed = passed && bytes == 0;
    }
  return passed ? 0 : 1;
}
