// SPDX-License-Identifier: BSL-1.0
// Transfers through the page cache: on which files they are normally only copies, and how to detect that one was not.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/linux/file_system.hpp>
#include <qio/system/linux/transfer.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/process.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

// --- Page cache ---
//
// Transfers through the page cache: on which files they are normally only copies, and how to detect that one was not.

QIO_BEGIN_NAMESPACE
namespace platform {

/// Whether the process currently has a limit on the size of files that is less than `below`. A write past it raises
/// SIGXFSZ on the thread that makes it, which by default ends the process. On a worker thread or a ring, such a write
/// only fails with EFBIG.
inline bool has_file_size_limit(rlim_t below = RLIM_INFINITY) noexcept {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < below;
}

/// Whether a write that ends at `end` passes that limit, which regular files have.
inline bool passes_size_limit(native_handle handle, std::uint64_t end) noexcept {
  struct stat file;
  return has_file_size_limit(end) && ::fstat(handle, &file) == 0 && S_ISREG(file.st_mode);
}

/// Which file system a file is on.
struct file_place {
  std::uint64_t device = 0;       ///< its number, which another file system may have later
  std::uint64_t mount = 0;        ///< the number of the mount, which no other ever has (Linux 6.8); 0 if unknown
  bool is_of_regular = false;     ///< the file is a regular one
  bool is_open_to_others = true;  ///< by its permissions, users other than its owner may open it

  /// Without a request to a server, also with an O_PATH handle. False if the system does not tell.
  bool find(native_handle handle) noexcept {
    // From include/uapi/linux/stat.h. Read by position, because the C library's struct may be older than the kernel.
    constexpr unsigned unique_mount = 0x4000;  // STATX_MNT_ID_UNIQUE
    constexpr std::size_t at_mount = 0x90;
    struct statx file;
    constexpr int flags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
    if (::statx(handle, "", flags, STATX_TYPE | STATX_MODE | unique_mount, &file) != 0) return false;
    static_assert(sizeof file == 256);
    if ((file.stx_mask & unique_mount) != 0)
      std::memcpy(&mount, reinterpret_cast<const char*>(&file) + at_mount, sizeof mount);
    const std::uint64_t major = file.stx_dev_major, minor = file.stx_dev_minor;
    constexpr std::uint64_t low_minor = 0xff, low_major = 0xfff;  // as in dev_t
    device = (minor & low_minor) | (major & low_major) << 8 | (minor & ~low_minor) << 12 | (major & ~low_major) << 32;
    is_of_regular = S_ISREG(file.stx_mode);
    is_open_to_others = (file.stx_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)) != 0;
    return true;
  }
};

/// Where the data of an open file is, and so whether a thread that must not wait may transfer it.
class file_storage {
 public:
  /// Asks the file system, which may wait (FUSE, NFS).
  explicit file_storage(native_handle handle) noexcept {
    struct statfs system {};
    is_known_ = place_.find(handle) && ::fstatfs(handle, &system) == 0;
    type_ = type_of(system);
    constexpr unsigned long synchronous = 16;  // ST_SYNCHRONOUS of sys/statvfs.h
    is_synchronous_ = (static_cast<unsigned long>(system.f_flags) & synchronous) != 0;
  }

  /// Why buffered reads may wait although the file system does not say so; null if they rarely do. `on_any`: also on
  /// file systems whose transfers are not known to end in memory.
  const char* why_reads_wait(bool on_any) const noexcept {
    if (!is_known_) return "the system does not say which file system this is (fstatfs)";
    if (!place_.is_of_regular) return "not a regular file";
    if (!on_any && !ends_in_memory()) return "it is not known that transfers of this file system end in memory";
    return nullptr;
  }

  /// The same for writes.
  const char* why_writes_wait(bool on_any) const noexcept {
    if (const char* const why = why_reads_wait(on_any)) return why;
    if (is_synchronous_) return "the file system is mounted with the option sync";
    return nullptr;
  }

  /// Whether opening and closing the file rarely wait: see why_reads_wait().
  bool opens_at_once(bool on_any) const noexcept { return why_reads_wait(on_any) == nullptr; }

  /// Whether a sync has nothing to do, since there is no device.
  /// (The nodes of devices are in a file system in memory, too.)
  bool is_memory() const noexcept { return is_known_ && place_.is_of_regular && type_ == file_system_type::tmpfs; }

  /// Whether users other than the file's owner may hold its lock, by reading it directly or by writing it.
  bool is_open_to_others() const noexcept { return place_.is_open_to_others; }

  /// Whether an open for writing may copy the whole file first: in an overlay, from a layer below.
  bool copies_on_open() const noexcept { return type_ == file_system_type::overlay; }

  const file_place& place() const noexcept { return place_; }
  /// That of another file of the same file system.
  file_storage of_another(const file_place& place) const noexcept {
    file_storage other = *this;
    other.place_ = place;
    return other;
  }

  /// Whether a ring would carry out a transfer on the thread that submits it, and let it wait. Files of FUSE can be
  /// polled, and always say that they are ready; so the kernel takes transfers for ones that do not wait (seen on Linux
  /// 6.18). True also if it is not known.
  bool waits_in_submission() const noexcept { return !is_known_ || type_ == file_system_type::fuse; }

  /// Whether a ring waits for the file's lock on the thread of its owner: it resumes a read that has missed the page
  /// cache there, and XFS then waits for a write of the same file (seen on Linux 6.12 and 6.18).
  bool waits_after_miss() const noexcept { return type_ == file_system_type::xfs; }

  /// Whether io_submit(2) rarely waits for writes to a direct file that do not extend it. (A direct file that is not a
  /// regular one is a block device.)
  bool writes_directly_at_once() const noexcept {
    return is_known_ && (!place_.is_of_regular || type_ == file_system_type::ext || type_ == file_system_type::xfs);
  }

 private:
  // Other file systems may contact a server (NFS, FUSE) or are unknown. Those of an overlay end in memory if those of
  // its layers do, which the system does not report.
  bool ends_in_memory() const noexcept {
    switch (type_) {
      case file_system_type::ext:  // also ext2 and ext3
      case file_system_type::xfs:
      case file_system_type::btrfs:
      case file_system_type::tmpfs:
      case file_system_type::overlay: return true;
      default: return false;
    }
  }

  file_place place_;
  file_system_type type_;
  bool is_known_;
  bool is_synchronous_;
};

/// Asks the system to drop the pages of the file that are written back and that nobody maps. After a failed write, they
/// have what the device has not.
inline void drop_cached_pages(native_handle handle) noexcept {
  static_cast<void>(::posix_fadvise(handle, 0, 0, POSIX_FADV_DONTNEED));
}

/// Whether closing the file may free its blocks: it has no name any more.
inline bool is_removed(native_handle handle) noexcept {
  struct stat file;
  return ::fstat(handle, &file) != 0 || file.st_nlink == 0;
}

/// Whether a page can be modified without being read first: it is in the page cache, or past the end of the file.
enum class page_state : std::uint8_t { at_hand, elsewhere, unknown };

/// That of the page that begins at `offset`. Unknown if the file is not open for reading, or its file system cannot
/// tell.
inline page_state state_of_page(native_handle handle, std::uint64_t offset) noexcept {
  char byte;
  const detail::piece first{offset, {}, 0, {&byte, 1}};
  const detail::raw_result answer = read_without_waiting(handle, first);
  if (answer >= 0) return page_state::at_hand;
  return answer == -EBADF || answer == -EOPNOTSUPP ? page_state::unknown : page_state::elsewhere;
}

/// The number of context switches of a thread.
struct thread_switches {
  long voluntary = 0;    ///< to wait for something
  long involuntary = 0;  ///< preempted by another thread
};
inline thread_switches switches_of_this_thread() noexcept {
  struct rusage usage {};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {usage.ru_nvcsw, usage.ru_nivcsw};
}

// --- Known file systems ---
//
// File systems that a context has opened files on, so that it knows whether opening another one there may wait.

/// Remembers file systems by the numbers of their mounts. On kernels that have none, remembers them by device number,
/// until something is mounted or unmounted where the calling thread sees it (its mount namespace), since another file
/// system may have the number then. To ask the file system itself could wait: FUSE and NFS hand fstatfs(2) on.
class known_file_systems {
 public:
  known_file_systems() noexcept = default;
  known_file_systems(const known_file_systems&) = delete;
  known_file_systems& operator=(const known_file_systems&) = delete;
  /// That of an open regular file.
  void remember(const file_storage& of) noexcept {
    if (of.place().mount == 0 && mounts_.value() < 0)
      open_in_proc(mounts_, "/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (handles_.value() < 0) open_in_proc(handles_, "/proc/thread-self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    known_[number_of(of.place()) % most] = of;
  }

  /// That of a file at this place. Null if none was opened before. Does not wait.
  const file_storage* find(const file_place& where) noexcept {
    const std::optional<file_storage>& found = known_[number_of(where) % most];
    if (!found || found->place().device != where.device || found->place().mount != where.mount) return nullptr;
    if (where.mount != 0 || !mounts_have_changed()) return &*found;
    for (std::optional<file_storage>& each : known_) each.reset();
    return nullptr;
  }

  /// Opens the file that is open as `found` (O_PATH) once more. Returns a handle, or invalid_handle.
  native_handle reopen(native_handle found, int flags) const noexcept {
    return ::openat(handles_.value(), std::to_string(found).c_str(), flags);  // a magic link (proc_pid_fd(5))
  }

 private:
  static constexpr unsigned most = 16;

  static std::uint64_t number_of(const file_place& where) noexcept {
    return where.mount != 0 ? where.mount : where.device;
  }

  static void open_in_proc(private_descriptor& into, const char* path, int flags) noexcept {
    {
      const without_fork none;
      if (!into.take(none, open_retrying(path, flags, 0))) return;
    }
    struct statfs system;
    if (::fstatfs(into.value(), &system) != 0 || type_of(system) != file_system_type::proc) into.close();
  }

  // The kernel reports a change once (proc_pid_mountinfo(5)).
  bool mounts_have_changed() const noexcept {
    pollfd asked{mounts_.value(), POLLPRI, 0};
    return mounts_.value() < 0 || ::poll(&asked, 1, 0) != 0;
  }

  private_descriptor mounts_;
  private_descriptor handles_;  // the directory of this thread's handles
  std::optional<file_storage> known_[most];
};

}  // namespace platform
QIO_END_NAMESPACE
