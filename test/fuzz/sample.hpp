// A report that qd1 has written.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace fuzz {

inline std::string sample_report(const char* path = QIO_FUZZ_REPORT) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace fuzz
