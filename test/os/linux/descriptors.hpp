// The descriptors of this process.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace qio_test {

/// The one that reads the list is closed when it is complete.
inline std::vector<int> descriptors() {
  std::vector<int> all;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    all.push_back(std::stoi(each.path().filename().string()));
  std::erase_if(all, [](int each) { return ::fcntl(each, F_GETFD) < 0; });
  return all;
}

/// How many of them are those of rings and events.
inline std::size_t anonymous_descriptors() {
  std::size_t count = 0;
  for (const int each : descriptors()) {
    std::error_code closed;
    const auto target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(each), closed).string();
    count += target.starts_with("anon_inode:") ? 1u : 0u;
  }
  return count;
}

}  // namespace qio_test
