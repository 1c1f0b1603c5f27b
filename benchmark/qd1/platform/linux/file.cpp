// SPDX-License-Identifier: BSL-1.0
#include "platform/file.hpp"

#include "failure.hpp"
#include "platform/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <sys/file.h>
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
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

namespace qd1::platform {
namespace {

constexpr const char* mark_name = "user.qd1.modified";

[[noreturn]] void fail_to_write(const std::string& path) {
  throw usage_error(fmt::format("{}: cannot be written: {}", path, std::generic_category().message(errno)));
}

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

// Contains the identity of the file, so that the mark of a copy is not valid; the bytes that it is to have follow.
std::string unfinished_mark(const struct stat& status) {
  return fmt::format("unfinished {} {} ", status.st_dev, status.st_ino);
}

std::string mark_of(const std::string& path) {
  char mark[128];
  const ssize_t length = ::getxattr(path.c_str(), mark_name, mark, sizeof mark);
  return length <= 0 ? std::string() : std::string(mark, static_cast<std::size_t>(length));
}

// The file, with the time and the size of the last change of its contents.
std::string state_of(const struct stat& status) {
  return fmt::format("{} {}.{:09} {}", status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size);
}

std::int64_t milliseconds(const timespec& time) { return std::int64_t(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000; }

bool only_this_user_writes(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Others can put entries into it, or exchange those that are there.
bool others_write(const struct stat& directory) {
  const bool is_own = directory.st_uid == ::geteuid() || directory.st_uid == 0;
  return !is_own || (directory.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

void write_all(int handle, const std::string& path, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = ::write(handle, contents.data(), contents.size());
    if (written < 0 && errno != EINTR) fail_to_write(path);
    if (written > 0) contents.remove_prefix(static_cast<std::size_t>(written));
  }
}

class owned_handle {
 public:
  explicit owned_handle(int handle) noexcept : handle_(handle) {}
  owned_handle(const owned_handle&) = delete;
  owned_handle& operator=(const owned_handle&) = delete;
  ~owned_handle() { close(); }
  int get() const noexcept { return handle_; }
  /// False where it fails, as it does where a write has failed unnoticed.
  bool close() noexcept {
    const int handle = std::exchange(handle_, -1);
    return handle < 0 || ::close(handle) == 0;
  }

 private:
  int handle_;
};

struct output_place {
  qio::platform::directory_entry entry;
  bool others_write = false;
  bool is_of_proc = false;  // whose links are not paths: /dev/stdout and <(…) of shells lead there
  bool is_new = false;
  struct stat status {};  // of what is there, unless it is new
};

// Finds where a file is to go. Follows no link that another user can have created: not at the end of the path in a
// directory that others may write to; before the end, there, only links of this user and of root.
class place_finder {
 public:
  explicit place_finder(const std::string& asked) : asked_(asked) { begin_at(asked); }

  output_place find() {
    while (take_name()) {
      look_around();
      if (place_.is_of_proc && !is_last()) {
        enter(0);  // only the kernel can follow the links of /proc
      } else if (place_.is_of_proc) {
        return std::move(place_);
      } else if (!look_at_name()) {
        return std::move(place_);
      } else if (S_ISLNK(place_.status.st_mode)) {
        follow();
      } else if (is_last()) {
        return std::move(place_);
      } else {
        enter(O_NOFOLLOW);
      }
    }
    throw usage_error(asked_ + ": too many symbolic links");
  }

 private:
  bool is_last() const { return rest_.empty(); }

  void begin_at(const std::string& path) {
    rest_ = path;
    if (path.empty()) {
      errno = ENOENT;
      fail_to_write(asked_);
    }
    if (path.front() == '/')
      open("/", 0);
    else if (place_.entry.directory == qio::platform::invalid_handle)
      open(".", 0);
  }

  void open(const char* name, int flags) {
    const int from = place_.entry.directory == qio::platform::invalid_handle ? AT_FDCWD : place_.entry.directory;
    auto opened = qio::platform::open_from(from, name, qio::platform::search_only | flags);
    if (!opened) throw usage_error(fmt::format("{}: cannot be written: {}", asked_, opened.error().message()));
    qio::platform::directory_entry next;
    next.directory = opened.value();
    place_.entry = std::move(next);
  }

  void enter(int flags) {
    const std::string name = place_.entry.name;
    open(name.c_str(), flags);
  }

  // Takes the next name of the path. A path that ends in a slash ends in the name ".".
  bool take_name() {
    const std::size_t begin = std::min(rest_.find_first_not_of('/'), rest_.size());
    const std::size_t end = std::min(rest_.find('/', begin), rest_.size());
    place_.entry.name = begin == end ? "." : rest_.substr(begin, end - begin);
    rest_.erase(0, end);
    return links_ < 40;
  }

  void look_around() {
    struct stat directory;
    if (::fstat(place_.entry.directory, &directory) != 0) fail_to_write(asked_);
    place_.others_write = others_write(directory);
    struct statfs system;
    place_.is_of_proc = ::fstatfs(place_.entry.directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
  }

  // Returns false if nothing has this name, which is permitted for the last one.
  bool look_at_name() {
    const auto found =
        qio::platform::open_from(place_.entry.directory, place_.entry.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    place_.is_new = is_last() && !found && found.error() == std::errc::no_such_file_or_directory;
    if (place_.is_new) return false;
    seen_ = {};
    if (!found) throw usage_error(fmt::format("{}: cannot be written: {}", asked_, found.error().message()));
    seen_.directory = found.value();
    if (::fstat(seen_.directory, &place_.status) != 0) fail_to_write(asked_);
    return true;
  }

  void follow() {
    // One with several names may have been given this one by somebody else (link(2), unless fs.protected_hardlinks).
    const bool is_trusted =
        (place_.status.st_uid == ::geteuid() || place_.status.st_uid == 0) && place_.status.st_nlink == 1;
    if (place_.others_write && is_last())
      throw usage_error(
          asked_ + ": cannot be written: it is a symbolic link in a directory that others may write to; name a file");
    if (place_.others_write && !is_trusted)
      throw usage_error(
          fmt::format("{}: cannot be written: '{}' is a symbolic link that somebody else may have put there, in a "
                      "directory that others may write to; name the directory that it leads to",
                      asked_, place_.entry.name));
    ++links_;
    const auto target = qio::platform::target_of_link(seen_.directory, "");
    if (!target) throw usage_error(fmt::format("{}: cannot be written: {}", asked_, target.error().message()));
    begin_at(target.value() + rest_);
  }

  std::string asked_;
  std::string rest_;
  output_place place_;
  qio::platform::directory_entry seen_;  // holds what is at the name, which may be a link
  int links_ = 0;
};

output_place find_place(const std::string& path) { return place_finder(path).find(); }

// What is not replaced, since it is no file or its directory may not be changed.
void write_in_place(const output_place& place, const std::string& path, int flags, std::string_view contents) {
  if (!place.is_of_proc) flags |= O_NOFOLLOW;
  owned_handle file(::openat(place.entry.directory, place.entry.name.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | flags));
  if (file.get() < 0) fail_to_write(path);
  write_all(file.get(), path, contents);
  if (!file.close()) fail_to_write(path);
}

// As the kernel writes a device's number in struct loop_info64 (huge_encode_dev, include/linux/kdev_t.h).
std::uint64_t encoded(dev_t device) {
  return (minor(device) & 0xffu) | std::uint64_t(major(device)) << 8 | (std::uint64_t(minor(device)) & ~0xffu) << 12;
}

bool is_same(const struct stat& one, const struct stat& other) {
  if (S_ISBLK(one.st_mode) && S_ISBLK(other.st_mode)) return one.st_rdev == other.st_rdev;
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

std::string why_claimed(const struct stat& status, int error) {
  const std::filesystem::path device =
      fmt::format("/sys/dev/block/{}:{}", major(status.st_rdev), minor(status.st_rdev));
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator(device / ".", ignored))
    if (std::filesystem::exists(each.path() / "partition", ignored))
      return "it has partitions (" + each.path().filename().string() + ")";
  for (const auto& each : std::filesystem::directory_iterator(device / "holders", ignored))
    return "it is a part of " + each.path().filename().string();
  if (error == EBUSY) return "it is mounted, or in use otherwise";
  return error == 0 ? std::string() : std::generic_category().message(error);
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

// To others it reports every page as present (since Linux 5.2).
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

std::string file_identity(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISBLK(status.st_mode)) return fmt::format("device {}", status.st_rdev);
    const bool keeps_data = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
    return keeps_data ? fmt::format("{} {}", status.st_dev, status.st_ino) : std::string();
  }
  try {
    const output_place place = find_place(path);  // of a link that leads to no file, too
    if (!place.is_new || ::fstat(place.entry.directory, &status) != 0) return {};
    return fmt::format("{} {} {}", status.st_dev, status.st_ino, place.entry.name);
  } catch (const usage_error&) {
    return {};  // whoever opens it says why
  }
}

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs system;
  if (::statvfs(directory.c_str(), &system) != 0) fail(directory);
  return static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize;
}

// By the link of /proc, which is this very file, not by a name.
held_file::held_file(const std::string& path) : handle_(::open(path.c_str(), O_PATH | O_CLOEXEC)) {
  if (handle_ < 0) fail(path);
  path_ = fmt::format("/proc/self/fd/{}", handle_);
}

held_file::~held_file() { ::close(handle_); }

qio::cached_file create_file(const std::string& path) {
  const output_place place = find_place(path);
  const int made = ::openat(place.entry.directory, place.entry.name.c_str(),
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (made < 0) fail(path);
  auto adopted = qio::cached_file::adopt(made);
  if (adopted) return std::move(adopted).value();
  ::close(made);
  throw usage_error(path + ": " + adopted.error().message());
}

bool is_same_file(int opened, const std::string& path) {
  struct stat one;
  if (::fstat(opened, &one) != 0) fail(path);
  const struct stat other = status_of(path);
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

void require_no_link_of_others(const std::string& path, const held_file& held) {
  const output_place place = find_place(path);
  if (place.is_of_proc) return;  // the process's own
  const struct stat kept = status_of(held.path());
  if (place.is_new || place.status.st_dev != kept.st_dev || place.status.st_ino != kept.st_ino)
    throw usage_error(path + ": somebody has put another file there meanwhile");
  if (place.others_write && S_ISREG(kept.st_mode) && kept.st_nlink > 1)
    throw usage_error(path + ": it has other names, in a directory that others may write to: it may be anybody's file");
}

// Mounting, swapping and assembling open a device exclusively, too.
device_claim::device_claim(const held_file& device, const std::string& name)
    : handle_(::open(device.path().c_str(), O_RDONLY | O_EXCL | O_CLOEXEC)) {
  std::string reason = why_claimed(status_of(device.path()), handle_ < 0 ? errno : 0);
  if (const std::string over = reason.empty() ? device_over(device.path()) : ""; !over.empty())
    reason = "it is what lies behind " + over;
  if (reason.empty() && is_open_elsewhere(device.path(), true)) reason = "another process has it open for writing";
  if (reason.empty()) return;
  if (handle_ >= 0) ::close(handle_);
  throw usage_error(fmt::format("{}: not overwritten: {}", name, reason));
}

device_claim::~device_claim() { ::close(handle_); }

std::string device_over(const std::string& path) {
  const struct stat status = status_of(path);
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/sys/block", ignored)) {
    std::string name = each.path().filename().string();
    if (!name.starts_with("loop") || !std::filesystem::exists(each.path() / "loop", ignored)) continue;
    std::string behind;
    std::getline(std::ifstream(each.path() / "loop/backing_file"), behind);
    struct stat there;
    if (::stat(behind.c_str(), &there) == 0 && is_same(there, status)) return name;
    // The name may be another one here, or gone; the device knows the file itself. Only root may ask.
    const owned_handle device(::open(("/dev/" + name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct loop_info64 facts {};
    if (device.get() < 0 || ::ioctl(device.get(), LOOP_GET_STATUS64, &facts) != 0) continue;
    if (S_ISBLK(status.st_mode) ? facts.lo_rdevice == encoded(status.st_rdev)
                                : facts.lo_inode == status.st_ino && facts.lo_device == encoded(status.st_dev))
      return name;
  }
  return {};
}

void mark_as_made_by_qd1(const std::string& path) {
  // Again if this process was stopped between the two times.
  for (int attempt = 0; attempt < 10 && !is_made_by_qd1(path); ++attempt) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::string mark = fmt::format("{} {}", milliseconds(now), state_of(status_of(path)));
    if (::setxattr(path.c_str(), mark_name, mark.data(), mark.size(), 0) != 0) return;
  }
}

bool is_made_by_qd1(const std::string& path) {
  constexpr std::int64_t most_ms = 100;  // the clock of files goes in steps of 10 ms
  const std::string mark = mark_of(path);
  if (mark.empty()) return false;
  const std::string_view found = mark;
  const struct stat status = status_of(path);
  std::int64_t marked = 0;
  const auto [end, failed] = std::from_chars(found.data(), found.data() + found.size(), marked);
  if (failed != std::errc() || found.substr(static_cast<std::size_t>(end - found.data())) != ' ' + state_of(status))
    return false;
  const std::int64_t since = milliseconds(status.st_ctim) - marked;
  return only_this_user_writes(status) && since >= -most_ms && since <= most_ms;
}

void mark_as_unfinished(const std::string& path, std::uint64_t bytes) {
  const std::string mark = unfinished_mark(status_of(path)) + std::to_string(bytes);
  ::setxattr(path.c_str(), mark_name, mark.data(), mark.size(), 0);
}

bool is_unfinished(const std::string& path) {
  const std::string mark = mark_of(path);
  const struct stat status = status_of(path);
  const std::string expected = unfinished_mark(status);
  if (!mark.starts_with(expected) || !only_this_user_writes(status) || status.st_nlink != 1) return false;
  off_t bytes = 0;
  const auto [end, failed] = std::from_chars(mark.data() + expected.size(), mark.data() + mark.size(), bytes);
  return failed == std::errc() && end == mark.data() + mark.size() && status.st_size <= bytes;
}

// fcntl(2), "Leases": a read lease is refused while anybody, also the kernel, has the file open for writing, or has
// mapped it so. That is asked before this process opens it for writing.
std::string why_in_use(const std::string& path) {
  constexpr const char* is_written = "another process has it open for writing";
  {
    const owned_handle file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (file.get() < 0) return errno == EWOULDBLOCK ? "another process holds a lease on it" : "";
    ::fcntl(file.get(), F_SETSIG, SIGURG);  // is ignored; the signal of a lease that is broken would end the process
    if (::fcntl(file.get(), F_SETLEASE, F_RDLCK) == 0)
      ::fcntl(file.get(), F_SETLEASE, F_UNLCK);
    else if (errno == EAGAIN || is_open_elsewhere(path, true))  // others: not for this user, or this file system
      return is_written;
  }
  const owned_handle file(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  const bool is_locked =
      file.get() >= 0 && ((::fcntl(file.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK) ||
                          (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK));
  return is_locked ? "another process holds a lock on it" : "";
}

void remove_file(const std::string& path, std::unique_ptr<held_file> held) noexcept {
  try {
    const output_place place = find_place(path);
    const struct stat kept = status_of(held->path());
    if (place.is_of_proc || place.is_new || place.status.st_dev != kept.st_dev || place.status.st_ino != kept.st_ino)
      return;
    ::unlinkat(place.entry.directory, place.entry.name.c_str(), 0);
  } catch (const std::exception&) {
    // The name leads nowhere.
  }
}

namespace {

// Terminals, and what keeps nothing (null, zero, full). By numbers of Documentation/admin-guide/devices.txt, since
// opening another device may have an effect.
bool takes_text(dev_t device) {
  const unsigned kind = major(device), number = minor(device);
  return kind == 4 || kind == 5 || (kind >= 136 && kind <= 143) ||
         (kind == 1 && (number == 3 || number == 5 || number == 7));
}

// What this process was started with is open already, whatever it is.
bool is_own_output(const struct stat& status) {
  for (const int each : {STDOUT_FILENO, STDERR_FILENO})
    if (struct stat own; ::fstat(each, &own) == 0 && own.st_dev == status.st_dev && own.st_ino == status.st_ino)
      return true;
  return false;
}

void require_no_device(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return;
  const bool is_disk = S_ISBLK(status.st_mode);
  if (is_disk || (S_ISCHR(status.st_mode) && !takes_text(status.st_rdev) && !is_own_output(status)))
    throw usage_error(path + ": cannot be written: it is a device; name a file");
  if (const std::string device = S_ISREG(status.st_mode) ? device_over(path) : ""; !device.empty())
    throw usage_error(fmt::format("{}: cannot be written: it is the file behind {}; name another", path, device));
}

// A place where a file, or what is no file, may be written.
output_place allowed_place(const std::string& path) {
  output_place place = find_place(path);
  require_no_device(path);
  if (place.is_of_proc || place.is_new || S_ISREG(place.status.st_mode)) return place;
  if (S_ISDIR(place.status.st_mode)) throw usage_error(path + ": cannot be written: it is a directory");
  if (place.others_write)
    throw usage_error(path +
                      ": cannot be written: it is not a file, in a directory that others may write to; name a file");
  return place;
}

bool is_replaced(const output_place& place) {
  return !place.is_of_proc && (place.is_new || S_ISREG(place.status.st_mode));
}

std::string temporary_name() { return fmt::format(".qd1-{:016x}", qio::platform::unguessable_number()); }

// Never with more permissions than the file that it replaces.
int create_temporary(const output_place& place, const std::string& name) {
  const bool is_own = !place.is_new && place.status.st_uid == ::geteuid();
  const mode_t permissions = is_own ? place.status.st_mode & 0666 : 0666;
  return ::openat(place.entry.directory, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions);
}

// After create_temporary() has failed: a file in a directory that may not be changed.
bool is_written_in_place(const output_place& place) {
  return !place.is_new && !place.others_write && (errno == EACCES || errno == EPERM || errno == EROFS);
}

}  // namespace

void require_writable(const std::string& path) {
  const output_place place = allowed_place(path);
  if (!is_replaced(place)) return;
  const std::string temporary = temporary_name();
  const owned_handle file(create_temporary(place, temporary));
  if (file.get() >= 0) {
    ::unlinkat(place.entry.directory, temporary.c_str(), 0);
    return;
  }
  if (!is_written_in_place(place)) fail_to_write(path);
  const owned_handle old(
      ::openat(place.entry.directory, place.entry.name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (old.get() < 0) fail_to_write(path);
}

void write_whole_file(const std::string& path, std::string_view contents) {
  const output_place place = allowed_place(path);
  if (!is_replaced(place)) return write_in_place(place, path, 0, contents);
  const int directory = place.entry.directory;
  const std::string temporary = temporary_name();
  owned_handle file(create_temporary(place, temporary));
  if (file.get() < 0) {
    if (is_written_in_place(place)) return write_in_place(place, path, O_TRUNC, contents);
    fail_to_write(path);
  }
  try {
    write_all(file.get(), path, contents);
    if (!place.is_new && place.status.st_uid == ::geteuid()) ::fchmod(file.get(), place.status.st_mode & 0777);
    if (!file.close() || ::renameat(directory, temporary.c_str(), directory, place.entry.name.c_str()) != 0)
      fail_to_write(path);
  } catch (const usage_error&) {
    ::unlinkat(directory, temporary.c_str(), 0);
    throw;
  }
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

bool takes_advice_on_mappings() noexcept { return true; }

bool is_cacheable(const std::string&) { return true; }

lock_file::lock_file(const std::string& path) : path_(path) {
  const output_place place = find_place(path);
  handle_ = ::openat(place.entry.directory, place.entry.name.c_str(),
                     O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
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
