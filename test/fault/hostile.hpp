// Somebody else, who owns the directory that files are opened in and keeps exchanging what is there.
#pragma once

#include "catch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>

namespace fault {

inline constexpr uid_t stranger = 65534;

/// How often names are exchanged, and files opened meanwhile: QIO_TEST_FLIPS, else few. The nightly run asks for
/// 50,000.
inline long flips() {
  const char* const chosen = std::getenv("QIO_TEST_FLIPS");
  return chosen == nullptr ? 2000 : std::atol(chosen);
}

/// A process of another user that exchanges two names again and again.
class flipper {
 public:
  flipper(const std::string& one, const std::string& other) {
    void* const shared = ::mmap(nullptr, sizeof *done_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    done_ = new (shared) std::atomic<long>(0);
    child_ = ::fork();
    if (child_ != 0) return;
    if (::setresgid(stranger, stranger, stranger) != 0 || ::setresuid(stranger, stranger, stranger) != 0) ::_exit(1);
    while (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) ++*done_;
    *done_ = -1;
    ::_exit(1);
  }
  flipper(const flipper&) = delete;
  flipper& operator=(const flipper&) = delete;
  ~flipper() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::munmap(done_, sizeof *done_);
  }

  /// Whether names must still be exchanged or files opened: both at least flips() times.
  bool goes_on(long opened) const { return works() && (*done_ < flips() || opened < flips()); }
  bool works() const { return *done_ >= 0; }

 private:
  pid_t child_ = -1;
  std::atomic<long>* done_ = nullptr;
};

/// In memory, where a direct file is refused only after it was created: "victim" of root, with "victim/file"; and
/// "theirs" of the stranger, with the directory "theirs/real" and "theirs/link", which leads to the victim.
class hostile_directory {
 public:
  hostile_directory() {
    if (::geteuid() != 0) {
      missing = "needs root";
      return;
    }
    if (::mkdtemp(root.data()) == nullptr) {
      missing = "no /dev/shm";
      return;
    }
    ::chmod(root.c_str(), 0755);
    theirs = root + "/theirs";
    std::filesystem::create_directories(root + "/victim");
    std::filesystem::create_directories(theirs + "/real");
    restore();
    std::filesystem::create_directory_symlink("../victim", theirs + "/link");
    for (const std::string& each : {theirs, theirs + "/real", theirs + "/link"})
      if (::lchown(each.c_str(), stranger, stranger) != 0) missing = "root may not give files away";
  }
  hostile_directory(const hostile_directory&) = delete;
  hostile_directory& operator=(const hostile_directory&) = delete;
  ~hostile_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }

  void restore() const { std::ofstream(root + "/victim/file") << "contents"; }
  /// Whether the victim has its file, as it was, and no other.
  bool victim_is_untouched() const {
    std::ifstream file(root + "/victim/file");
    return std::string(std::istreambuf_iterator<char>(file), {}) == "contents" &&
           std::distance(std::filesystem::directory_iterator(root + "/victim"), {}) == 1;
  }

  std::string root = "/dev/shm/qio-hostile-XXXXXX";
  std::string theirs;
  std::string missing;  ///< why there is none; else empty
};

}  // namespace fault
