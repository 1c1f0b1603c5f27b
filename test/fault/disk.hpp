// File systems and devices that exist for one test only. Needs root.
#pragma once

#include "catch.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace fault {

/// The output of a shell command without the final newline. Sets `ok` to whether it succeeded.
inline std::string output_of(const std::string& command, bool* ok = nullptr) {
  std::string text;
  std::FILE* const pipe = ::popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  const int status = ::pclose(pipe);
  if (ok != nullptr) *ok = status == 0;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// A directory, which the destructor removes with its contents.
class scratch {
 public:
  explicit scratch(const std::filesystem::path& within = std::filesystem::current_path())
      : path(within / "fault-XXXXXX") {
    if (::mkdtemp(path.data()) == nullptr) path.clear();
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

/// A loop device over a file of `bytes`, in a new or the given directory, with direct I/O to that file.
class loop_device {
 public:
  explicit loop_device(std::size_t bytes, std::string directory = {})
      : directory_(directory.empty() ? own_.path : std::move(directory)) {
    if (::geteuid() != 0) {
      missing = "needs root";
      return;
    }
    output_of("truncate -s " + std::to_string(bytes) + " " + image());
    bool ok = false;
    path = output_of("losetup --direct-io=on --find --show " + image(), &ok);
    if (!ok) {
      missing = "no loop device: " + path;
      path.clear();
    }
  }
  loop_device(const loop_device&) = delete;
  loop_device& operator=(const loop_device&) = delete;
  ~loop_device() {
    if (!path.empty()) output_of("losetup --detach " + path);
  }

  std::string image() const { return directory_ + "/image"; }
  std::string path;
  std::string missing;  ///< why there is no device; otherwise empty

 private:
  scratch own_;
  std::string directory_;
};

/// A file system: by loop mount, in memory ("tmpfs"), or on top of the directory `below` ("overlay"; "fuse", whose
/// daemon only hands everything on).
class mounted {
 public:
  mounted(const std::string& kind, std::size_t bytes, const std::string& below = {}) {
    if (::geteuid() != 0) {
      missing = "needs root";
      return;
    }
    path = directory_.path + "/mounted";
    std::filesystem::create_directory(path);
    bool ok = false;
    const std::string said = output_of(command(kind, bytes, below), &ok);
    if (!ok) missing = "no " + kind + ": " + said.substr(0, said.find('\n'));
  }
  mounted(const mounted&) = delete;
  mounted& operator=(const mounted&) = delete;
  ~mounted() {
    if (missing.empty()) output_of("umount " + path + " || umount --lazy " + path);
  }

  std::string path;
  std::string missing;

 private:
  std::string command(const std::string& kind, std::size_t bytes, const std::string& below) const {
    const std::string image = directory_.path + "/image", upper = directory_.path + "/upper";
    if (kind == "tmpfs") return "mount -t tmpfs -o size=" + std::to_string(bytes) + " qio " + path;
    if (kind == "fuse") return "bindfs " + below + ' ' + path;
    if (kind == "overlay")
      return "mkdir " + upper + ' ' + upper + ".work && mount -t overlay qio -o lowerdir=" + below +
             ",upperdir=" + upper + ",workdir=" + upper + ".work " + path;
    return "truncate -s " + std::to_string(bytes) + ' ' + image + " && mkfs." + kind + " -q " + image +
           " && mount -o loop " + image + ' ' + path;
  }

  scratch directory_;
};

/// A device that cannot store what is written to it until there is space: as with thin provisioning, its image is a
/// hole in a full file system.
class full_device {
 public:
  full_device() : below_("ext4", 16 << 20), missing(below_.missing) {
    if (!missing.empty()) return;
    device_.emplace(8 << 20, below_.path);
    missing = device_->missing;
    // To the last block.
    const std::string fill = "dd if=/dev/zero oflag=append conv=notrunc,fsync of=" + filler() + " bs=";
    output_of(fill + "64k; " + fill + "1k");
  }

  void make_room() { output_of("rm " + filler() + " && sync --file-system " + below_.path); }
  const std::string& path() const { return device_->path; }

 private:
  std::string filler() const { return below_.path + "/filler"; }

  mounted below_;
  std::optional<loop_device> device_;

 public:
  std::string missing;
};

}  // namespace fault
