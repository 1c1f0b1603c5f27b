// Any text, read as a report.
#include "fuzz.hpp"
#include "reading.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::use_report(fuzz::input(data, size).rest());
  return 0;
}
