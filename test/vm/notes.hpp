// Numbers that a program notes in a directory, one file each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

inline std::string in(const std::string& directory, std::string_view name) {
  return directory + '/' + std::string(name);
}

// Replaces the number atomically, because the process may be killed at any moment.
inline void note(const std::string& notes, std::string_view name, std::uint64_t number) {
  const std::string next = in(notes, "next");
  std::ofstream(next) << number << '\n';
  std::filesystem::rename(next, in(notes, name));
}

/// 0 if there is none.
inline std::uint64_t noted(const std::string& notes, std::string_view name) {
  std::uint64_t number = 0;
  std::ifstream(in(notes, name)) >> number;
  return number;
}
