// SPDX-License-Identifier: BSL-1.0
#include "platform/file.hpp"

#include "failure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

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

struct flock byte_of(std::uint64_t part, short type) {
  struct flock byte {};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(part);
  byte.l_len = 1;
  return byte;
}

// Time and size of the last change: whatever is written to the file later changes them.
std::string state_of(const std::string& path) {
  const struct stat status = status_of(path);
  return fmt::format("{}.{:09} {}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size);
}

// The pages of an overlay's file belong to the file below it. A mapping is one of that; cachestat asks the upper file,
// and finds none (seen on Linux 6.18).
bool is_of_overlay(int handle) {
  struct statfs facts;
  return ::fstatfs(handle, &facts) == 0 && facts.f_type == OVERLAYFS_SUPER_MAGIC;
}

std::optional<std::uint64_t> pages_by_cachestat(int handle, std::uint64_t bytes) {
  // Linux 6.5. By number and layout, since the C library may be older than the kernel.
  constexpr long cachestat_call = 451;
  const std::uint64_t range[2] = {0, bytes};
  std::uint64_t counts[5] = {};  // cached, dirty, under writeback, evicted, recently evicted
  if (::syscall(cachestat_call, handle, range, counts, 0) != 0) return std::nullopt;
  return counts[0];
}

// To others it says of every page that it is there (since Linux 5.2).
bool is_told_by_mincore(const std::string& path) {
  return status_of(path).st_uid == ::geteuid() || ::geteuid() == 0 || ::access(path.c_str(), W_OK) == 0;
}

std::optional<std::uint64_t> pages_by_mincore(int handle, std::uint64_t bytes) {
  void* const mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, handle, 0);
  if (mapping == MAP_FAILED) return std::nullopt;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((bytes + page - 1) / page);
  const bool told = ::mincore(mapping, bytes, resident.data()) == 0;
  ::munmap(mapping, bytes);
  if (!told) return std::nullopt;
  return static_cast<std::uint64_t>(
      std::count_if(resident.begin(), resident.end(), [](auto each) { return each & 1; }));
}

// A fiemap ends in an array without a length, so it is laid over memory that is long enough.
struct extents {
  static constexpr std::uint32_t most = 64;
  alignas(fiemap) std::byte memory[sizeof(fiemap) + most * sizeof(fiemap_extent)] = {};

  fiemap& header() { return *reinterpret_cast<fiemap*>(memory); }
};

bool next_extents(int handle, std::uint64_t from, std::uint64_t to, extents& found) {
  fiemap& header = found.header();
  header.fm_start = from;
  header.fm_length = to - from;
  header.fm_flags = FIEMAP_FLAG_SYNC;
  header.fm_extent_count = extents::most;
  return ::ioctl(handle, FS_IOC_FIEMAP, &header) == 0;
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

bool tells_cached_pages() noexcept { return true; }

std::optional<std::uint64_t> cached_pages(const std::string& path, std::uint64_t bytes) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return std::nullopt;
  auto found = is_of_overlay(handle) ? std::nullopt : pages_by_cachestat(handle, bytes);
  if (!found && is_told_by_mincore(path)) found = pages_by_mincore(handle, bytes);
  ::close(handle);
  return found;
}

std::optional<std::uint64_t> bytes_without_data(const std::string& path, std::uint64_t bytes) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return std::nullopt;
  std::uint64_t written = 0;
  std::uint64_t at = 0;
  bool known = true;
  while (at < bytes && known) {
    extents found;
    known = next_extents(handle, at, bytes, found);
    const fiemap& header = found.header();
    if (!known || header.fm_mapped_extents == 0) break;
    for (std::uint32_t each = 0; each < header.fm_mapped_extents; ++each) {
      const fiemap_extent& extent = header.fm_extents[each];
      const std::uint64_t end = std::min<std::uint64_t>(extent.fe_logical + extent.fe_length, bytes);
      if ((extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN) == 0 && end > at)
        written += end - std::max<std::uint64_t>(extent.fe_logical, at);
      at = std::max(at, end);
    }
  }
  ::close(handle);
  if (!known) return std::nullopt;
  return bytes - written;
}

bool advise_random(std::span<const std::byte> mapping) noexcept {
  return ::madvise(const_cast<std::byte*>(mapping.data()), mapping.size(), MADV_RANDOM) == 0;
}

lock_file::lock_file(const std::string& path)
    : path_(path), handle_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (handle_ < 0) fail(path);
}

lock_file::~lock_file() { ::close(handle_); }

// Locks of the open file (F_OFD_…, Linux 3.15): those of a process would be one and the same for all its threads.
void lock_file::lock(std::uint64_t part) {
  struct flock byte = byte_of(part, F_WRLCK);
  while (::fcntl(handle_, F_OFD_SETLKW, &byte) != 0)
    if (errno != EINTR) fail(path_);
}

void lock_file::unlock(std::uint64_t part) noexcept {
  struct flock byte = byte_of(part, F_UNLCK);
  ::fcntl(handle_, F_OFD_SETLK, &byte);
}

temporary_file::temporary_file(const std::string& directory)
    : handle_(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
  if (handle_ < 0) {
    // Not every file system has files without a name: one that loses its name at once.
    std::string name = directory + "/.qd1-XXXXXX";
    handle_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (handle_ < 0) fail("a temporary file in " + directory);
    ::unlink(name.c_str());
  }
  path_ = fmt::format("/proc/self/fd/{}", handle_);
}

temporary_file::~temporary_file() { ::close(handle_); }

}  // namespace qd1::platform
