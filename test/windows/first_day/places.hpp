// Where the suite works: a directory on each file system that it is given.
#pragma once

#include <qio/qio.hpp>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace first_day {

inline std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// QIO_FIRST_DAY_DIRECTORIES: directories, separated by semicolons, on NTFS, ReFS, exFAT, a share, a drive with sectors
/// of 4096 bytes. By default, the current directory.
inline std::vector<std::string> directories() {
  std::vector<std::string> all;
  std::string given = setting("QIO_FIRST_DAY_DIRECTORIES");
  while (!given.empty()) {
    const std::size_t end = given.find(';');
    all.push_back(given.substr(0, end));
    given.erase(0, end == std::string::npos ? end : end + 1);
  }
  if (all.empty()) all.push_back(".");
  return all;
}

/// A new directory in one of these, gone with its files when the test ends.
class place {
 public:
  explicit place(const std::string& in)
      : path_(in + "/first-day-" + std::to_string(qio::platform::unguessable_number())) {
    std::filesystem::create_directory(path_);
  }
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  ~place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const char* name) const { return path_ + '/' + name; }
  std::size_t entries() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::string path_;
};

/// "NTFS", "ReFS", "exFAT" ...; empty if unknown.
inline std::string file_system(HANDLE handle) {
  wchar_t name[64] = {};
  if (::GetVolumeInformationByHandleW(handle, nullptr, 0, nullptr, nullptr, nullptr, name, 64) == 0) return {};
  std::string narrow;
  for (const wchar_t* each = name; *each != 0; ++each) narrow.push_back(static_cast<char>(*each));
  return narrow;
}

/// DeviceIoControl without an answer, such as FSCTL_SET_SPARSE and FSCTL_SET_COMPRESSION.
inline bool change(HANDLE handle, DWORD code, void* input = nullptr, std::size_t bytes = 0) {
  DWORD length = 0;
  return qio::platform::control(handle, code, input, bytes, nullptr, 0, length) == 0;
}

}  // namespace first_day
