// SPDX-License-Identifier: BSL-1.0
#include "platform/file.hpp"

#include "failure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace qd1::platform {
namespace {

constexpr const char* mark_name = "user.qd1.modified";

[[noreturn]] void fail(const std::string& what) {
  throw usage_error(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

struct stat status_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) fail(path);
  return status;
}

// Time and size of the last change: whatever is written to the file later changes them.
std::string state_of(const std::string& path) {
  const struct stat status = status_of(path);
  return fmt::format("{}.{:09} {}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size);
}

}  // namespace

file_kind kind_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return file_kind::missing;
    fail(path);
  }
  if (S_ISREG(status.st_mode)) return file_kind::regular;
  if (S_ISDIR(status.st_mode)) return file_kind::directory;
  return S_ISBLK(status.st_mode) ? file_kind::block_device : file_kind::other;
}

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs system;
  if (::statvfs(directory.c_str(), &system) != 0) fail(directory);
  return static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize;
}

std::string why_device_is_in_use(const std::string& path) {
  const struct stat status = status_of(path);
  const std::filesystem::path device =
      fmt::format("/sys/dev/block/{}:{}", major(status.st_rdev), minor(status.st_rdev));
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator(device / ".", ignored))
    if (std::filesystem::exists(each.path() / "partition", ignored))
      return "it has partitions (" + each.path().filename().string() + ")";
  for (const auto& each : std::filesystem::directory_iterator(device / "holders", ignored))
    return "it is a part of " + each.path().filename().string();

  // Mounting, swapping and assembling open a device exclusively.
  const int handle = ::open(path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC);
  if (handle >= 0) {
    ::close(handle);
    return {};
  }
  if (errno == EBUSY) return "it is mounted, or in use otherwise";
  fail(path);
}

void mark_as_made_by_qd1(const std::string& path) {
  const std::string state = state_of(path);
  ::setxattr(path.c_str(), mark_name, state.data(), state.size(), 0);
}

bool is_made_by_qd1(const std::string& path) {
  char mark[64];
  const ssize_t length = ::getxattr(path.c_str(), mark_name, mark, sizeof mark);
  return length > 0 && std::string(mark, static_cast<std::size_t>(length)) == state_of(path);
}

void drop_cached_pages(const std::string& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) fail(path);
  ::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED);
  ::close(handle);
}

temporary_file::temporary_file(const std::string& directory)
    : handle_(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
  if (handle_ >= 0) return;
  // Not every file system has files without a name: one that loses its name at once.
  std::string name = directory + "/.qd1-XXXXXX";
  handle_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (handle_ < 0) fail("a temporary file in " + directory);
  ::unlink(name.c_str());
}

temporary_file::~temporary_file() { ::close(handle_); }

std::string temporary_file::path() const { return fmt::format("/proc/self/fd/{}", handle_); }

}  // namespace qd1::platform
