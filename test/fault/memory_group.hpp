// A control group for memory.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <tuple>

namespace fault {

/// A new control group for memory, including the page cache, of version 1 or 2, whichever has the file that is needed.
/// Needs root. Whoever is in it must have left when it is destroyed.
class memory_group {
 public:
  memory_group(const char* file_of_version_1, const char* file_of_version_2) {
    const std::string name = "qio-test-" + std::to_string(::getpid());
    // Version 1 has a separate tree for memory; in version 2 the controller must have been delegated.
    for (const auto& [root, file, version] :
         {std::tuple{"/sys/fs/cgroup/memory/", file_of_version_1, 1}, {"/sys/fs/cgroup/", file_of_version_2, 2}}) {
      std::error_code refused;
      if (!std::filesystem::exists(std::string(root) + "cgroup.procs") ||
          !std::filesystem::create_directory(root + name, refused))
        continue;
      path_ = root + name;
      file_ = path_ + '/' + file;
      version_ = version;
      if (std::filesystem::exists(file_)) return;
      std::filesystem::remove(path_, refused);
      path_.clear();
    }
  }
  memory_group(const memory_group&) = delete;
  memory_group& operator=(const memory_group&) = delete;
  ~memory_group() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }

  bool exists() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  /// The file that was needed.
  const std::string& file() const { return file_; }
  int version() const { return version_; }

  /// Writes to a file of the group.
  static bool put(const std::string& file, const std::string& text) {
    std::ofstream opened(file);
    return static_cast<bool>(opened << text << std::flush);
  }
  bool enter() const { return put(path_ + "/cgroup.procs", std::to_string(::getpid())); }

 private:
  std::string path_, file_;
  int version_ = 0;
};

}  // namespace fault
