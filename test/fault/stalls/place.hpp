// File systems that exist for one situation: in a mount namespace of the test's own, so that none outlives it.
#pragma once

#include "../disk.hpp"
#include "neighbors.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace stalls {

using fault::output_of;

/// Empty, or why this process has none. Its mounts end with it, and the loop devices with their mounts, also if it is
/// killed.
inline const std::string& why_no_private_mounts() {
  static const std::string why = [] {
    if (::geteuid() != 0) return std::string("needs root");
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return std::string("no mount namespace of its own");
    return std::string();
  }();
  return why;
}

/// bindfs, a FUSE daemon that passes everything on to a directory.
class fuse_daemon {
 public:
  fuse_daemon(const std::string& below, const std::string& path) {
    output_of("command -v bindfs", &runs_);
    if (!runs_) return;
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execlp("bindfs", "bindfs", "-f", below.c_str(), path.c_str(), nullptr);
      ::_exit(127);
    }
    runs_ = false;
    for (int tries = 0; tries < 1000 && !runs_ && ::waitpid(process_, nullptr, WNOHANG) == 0; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      output_of("mountpoint -q " + path, &runs_);
    }
  }
  fuse_daemon(const fuse_daemon&) = delete;
  fuse_daemon& operator=(const fuse_daemon&) = delete;
  ~fuse_daemon() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  bool runs() const { return runs_; }
  pid_t process() const { return process_; }

 private:
  bool runs_ = false;
  pid_t process_ = -1;
};

/// A file system of that kind ("ext4", "xfs", "btrfs" on a loop device; "tmpfs"; "overlay" and "fuse" on top of the
/// directory `below`), or the working directory ("here").
class place {
 public:
  struct options {
    std::size_t mebibytes = 400;
    std::string below = {};         ///< for a loop device: where its image is; a directory of its own if empty
    unsigned read_ahead = 0;        ///< KiB; 0 leaves it as it is
    std::string mounting = "loop";  ///< options of mount(8)
  };

  explicit place(const std::string& kind) : place(kind, options()) {}
  place(const std::string& kind, const options& wanted) : missing(why_no_private_mounts()) {
    path = scratch_.path;
    if (!missing.empty() || kind == "here") return;
    path += "/mounted";
    std::filesystem::create_directory(path);
    const std::set<std::string> known = backing_devices();
    bool ok = false;
    std::string said;
    if (kind == "fuse") {
      daemon_.emplace(wanted.below, path);
      ok = daemon_->runs();
      said = "bindfs is not installed, or does not mount";
    } else {
      said = output_of(command(kind, wanted), &ok);
    }
    if (!ok) missing = "no " + kind + ": " + said.substr(0, said.find('\n'));
    if (!ok || kind == "fuse" || kind == "overlay" || kind == "tmpfs") return;
    // Otherwise reads of the device are served from the page cache of the image.
    output_of("losetup --direct-io=on " + device());
    if (wanted.below.empty()) output_of("rm " + scratch_.path + "/image");  // nothing is left of it if this is killed
    if (wanted.read_ahead == 0) return;
    set_read_ahead(number_of_device(), wanted.read_ahead);
    for (const std::string& each : backing_devices())
      if (!known.contains(each)) set_read_ahead(each, wanted.read_ahead);  // btrfs has one of its own
  }
  place(const place&) = delete;
  place& operator=(const place&) = delete;
  ~place() {
    if (missing.empty() && path != scratch_.path) output_of("umount " + path + " || umount --lazy " + path);
  }

  std::string operator/(const std::string& name) const { return path + '/' + name; }
  std::string device() const { return output_of("awk '$2 == \"" + path + "\" { print $1 }' /proc/self/mounts"); }
  /// "7:3", as control groups and sysfs name it.
  std::string number_of_device() const {
    struct stat found {};
    const std::string name = device();
    if (::stat(name.c_str(), &found) != 0) return {};
    return std::to_string(gnu_dev_major(found.st_rdev)) + ':' + std::to_string(gnu_dev_minor(found.st_rdev));
  }
  /// The process that serves it, if it is a "fuse"; otherwise -1.
  pid_t daemon() const { return daemon_ ? daemon_->process() : -1; }

  std::string path;
  std::string missing;  ///< why there is none; otherwise empty

 private:
  std::string command(const std::string& kind, const options& wanted) const {
    const std::string base = scratch_.path, image = (wanted.below.empty() ? base : wanted.below) + "/image";
    if (kind == "tmpfs") return "mount -t tmpfs -o size=" + std::to_string(wanted.mebibytes) + "m qio " + path;
    if (kind == "overlay")
      return "mkdir " + base + "/upper " + base + "/work && mount -t overlay qio -o lowerdir=" + wanted.below +
             ",upperdir=" + base + "/upper,workdir=" + base + "/work " + path;
    return "truncate -s " + std::to_string(wanted.mebibytes) + "M " + image + " && mkfs." + kind + " -q " + image +
           " && mount -o " + wanted.mounting + ' ' + image + ' ' + path;
  }

  static std::set<std::string> backing_devices() {
    std::set<std::string> found;
    for (const auto& each : std::filesystem::directory_iterator("/sys/class/bdi"))
      if (each.path().filename().string().starts_with("btrfs")) found.insert(each.path().filename().string());
    return found;
  }
  static void set_read_ahead(const std::string& of, unsigned kibibytes) {
    output_of("echo " + std::to_string(kibibytes) + " >/sys/class/bdi/" + of + "/read_ahead_kb");
  }

  fault::scratch scratch_;
  std::optional<fuse_daemon> daemon_;
};

}  // namespace stalls
