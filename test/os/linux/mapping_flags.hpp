// What the kernel says of a mapping of this process.
#pragma once

#include <cstdint>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>

namespace qio_test {

/// The VmFlags of the mapping at an address (proc(5), smaps): "sr" is MADV_SEQUENTIAL, "rr" MADV_RANDOM, "hg"
/// MADV_HUGEPAGE.
inline std::string flags_of_mapping(const void* address) {
  std::ifstream all("/proc/self/smaps");
  bool is_it = false;
  for (std::string line; std::getline(all, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> begin >> dash >> end && dash == '-')
      is_it = begin <= reinterpret_cast<std::uintptr_t>(address) && reinterpret_cast<std::uintptr_t>(address) < end;
    if (is_it && line.starts_with("VmFlags:")) return line.substr(8) + ' ';
  }
  return {};
}

inline bool has_flag(const std::string& flags, const char* flag) {
  return flags.find(std::string(" ") + flag + ' ') != std::string::npos;
}

}  // namespace qio_test
