// Sizes and times on the command line.
#include "failure.hpp"
#include "fuzz.hpp"
#include "units.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace {

void try_size(std::string_view text) {
  try {
    const std::uint64_t bytes = qd1::parse_size("--block", text);
    fuzz::require(bytes >= 1 && bytes <= std::uint64_t(1) << 62, "a size is between 1 and 2^62");
    std::string written = qd1::size_text(bytes);
    written.erase(std::remove(written.begin(), written.end(), ' '), written.end());
    fuzz::require(qd1::parse_size("--block", written) == bytes, "a size survives writing and reading");
  } catch (const qd1::usage_error&) {
    return;
  }
}

void try_time(std::string_view text) {
  try {
    const double seconds = qd1::parse_seconds("--time", text);
    fuzz::require(std::isfinite(seconds) && seconds > 0, "a time is finite and positive");
  } catch (const qd1::usage_error&) {
    return;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::input(data, size).rest();
  try_size(text);
  try_time(text);
  return 0;
}
