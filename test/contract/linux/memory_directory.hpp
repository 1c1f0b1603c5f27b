// A directory whose files are in memory only.
#pragma once

#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace contract {

/// A directory on tmpfs, which is removed by the destructor. Its path is empty if there is no tmpfs.
class memory_directory {
 public:
  memory_directory() {
    struct statfs system;
    if (::statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) return;
    std::string name = "/dev/shm/qio-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path = name;
  }
  ~memory_directory() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  bool is_empty() const { return std::filesystem::is_empty(path); }
  std::string path;
};

}  // namespace contract
