// SPDX-License-Identifier: BSL-1.0
// How a file is opened: by its path, or by a handle that the program opened; and how it is locked for that handle.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/directory.hpp>
#include <qio/system/linux/page_cache.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Names that nobody else can have taken ---

/// A number that nobody else can predict, for names that nobody else can have taken. If a sandbox forbids getrandom(2),
/// uses the clock, the process ID and an address instead.
inline std::uint64_t unguessable_number() noexcept {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  number = static_cast<std::uint64_t>(now.tv_nsec) ^ static_cast<std::uint64_t>(::getpid()) << 32 ^
           reinterpret_cast<std::uintptr_t>(&number);
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;  // the finalizer of splitmix64
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

// --- Opening ---
//
// Opening a file in steps, so that an open that fails late (because the mode is unavailable) leaves the disk unchanged.

/// Whether a file can be read and written at offsets.
inline bool has_offsets(native_handle handle, const struct stat& status) noexcept {
  return S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) || ::lseek(handle, 0, SEEK_CUR) >= 0;
}

/// A file that is being opened. begin() opens a handle and destroys nothing; commit() then truncates or replaces, as
/// the caller asked. Without commit(), destruction closes the handle and removes what begin() created.
class opening {
 public:
  /// Of `kind`, ignores `asynchronous` and `direct`: on Linux, any handle serves any engine, and make_direct() makes it
  /// direct later. If the path must stay beneath a directory, every step stays beneath it.
  static result<opening> begin(path_view path, native_handle beneath, access wanted, creation how,
                               std::uint32_t permissions, detail::handle_kind kind) {
    // POSIX leaves O_TRUNC without write access undefined, and Linux truncates.
    if (how == creation::truncate_existing && wanted == access::read)
      return error(errc::access_not_granted, static_cast<std::uint64_t>(wanted),
                   static_cast<std::uint64_t>(access::read_write));
    opening self(path.c_str(), beneath, how);
    const int flags = flags_for(wanted, kind);
    if (const error failure = self.open(flags, static_cast<mode_t>(permissions)); failure.exists()) return failure;
    if (const error failure = self.check(); failure.exists()) return failure;
    self.expect(kind.pattern);
    return self;
  }

  /// begin() of an existing file, if that does not wait: the kernel has every name on the path in memory, nobody has a
  /// lease on the file, and `may_be_used` returns true for what `known` tells of its file system. Otherwise fails with
  /// std::errc::resource_unavailable_try_again. (It does wait for permission events of fanotify(7).)
  template <class MayBeUsed>
  static result<opening> begin_at_once(path_view path, native_handle beneath, access wanted, detail::handle_kind kind,
                                       known_file_systems& known, MayBeUsed&& may_be_used) {
    opening self(path.c_str(), beneath, creation::open_existing);
    // O_PATH opens nothing, so it sends no request to the file system.
    const native_handle found = openat2::call_if_cached(beneath, path.c_str(), O_PATH | O_CLOEXEC);
    if (found == invalid_handle) return errno == ENOENT ? last_error() : system_error(EAGAIN);
    file_place place;
    const bool is_file = place.find(found) && place.is_of_regular;
    const file_storage* const storage = is_file ? known.find(place) : nullptr;
    // Not by its name, which others may have given to a file that waits.
    if (storage != nullptr && may_be_used(*storage))
      self.handle_ = known.reopen(found, flags_for(wanted, kind) | O_NONBLOCK);
    ::close(found);
    if (self.handle_ == invalid_handle) return system_error(EAGAIN);
    if (const error failure = self.let_wait(); failure.exists()) return failure;
    self.expect(kind.pattern);
    self.storage_ = storage->of_another(place);
    return self;
  }

  /// A handle that the program has opened: nothing is left to do, and without commit() it stays as it is.
  static opening of(native_handle handle) {
    opening self({}, anywhere, creation::open_existing);
    self.handle_ = handle;
    self.is_foreign_ = true;
    return self;
  }

  opening(opening&& other) noexcept
      : beneath_(other.beneath_),
        path_(std::move(other.path_)),
        place_(std::move(other.place_)),
        temporary_(std::move(other.temporary_)),
        how_(other.how_),
        storage_(other.storage_),
        handle_(std::exchange(other.handle_, invalid_handle)),
        is_foreign_(other.is_foreign_),
        created_(std::exchange(other.created_, false)) {}
  opening& operator=(opening&&) = delete;
  ~opening() {
    if (created_) remove_from(place_, how_ == creation::always_new ? temporary_ : place_.name, handle_);
    if (handle_ != invalid_handle && !is_foreign_) ::close(handle_);
  }

  native_handle handle() const noexcept { return handle_; }
  file_storage storage() const noexcept { return storage_ ? *storage_ : file_storage(handle_); }
  /// Its flags are shared with others, and stay as they are.
  bool is_foreign() const noexcept { return is_foreign_; }
  /// Whether a write through a handle that was opened for durable writes is durable only after a flush. Not with
  /// O_DSYNC.
  static constexpr bool needs_flushes(bool) noexcept { return false; }

  /// Completes the open. On success, the caller owns the handle.
  result<native_handle> commit() {
    if (how_ == creation::truncate_existing)
      if (auto emptied = resize(handle_, 0); !emptied) return emptied.error();
    // rename(2) is atomic: nobody finds the name missing, or only part of the file.
    const native_handle within = place_.directory;
    if (how_ == creation::always_new && ::renameat(within, temporary_.c_str(), within, place_.name.c_str()) != 0)
      return last_error();
    created_ = false;
    return std::exchange(handle_, invalid_handle);
  }

 private:
  opening(std::string path, native_handle beneath, creation how)
      : beneath_(beneath), path_(std::move(path)), how_(how) {}

  static int flags_for(access wanted, detail::handle_kind kind) noexcept {
    return access_flags(wanted) | (kind.writes_durably ? O_DSYNC : 0);
  }

  // O_NOCTTY: a path of another user may lead to a terminal, which would become that of a process without one.
  static int access_flags(access wanted) noexcept {
    constexpr int always = O_CLOEXEC | O_NOCTTY;
    switch (wanted) {
      case access::read: return O_RDONLY | always;
      case access::write: return O_WRONLY | always;
      case access::read_write: break;
    }
    return O_RDWR | always;
  }

  error open(int flags, mode_t permissions) {
    switch (how_) {
      case creation::open_existing:
      case creation::truncate_existing: return open_path(flags, permissions);
      case creation::only_if_missing: return create_path(flags, permissions);
      case creation::if_needed: return open_or_create(flags, permissions);
      case creation::always_new: break;
    }
    return create_new(flags, permissions);
  }

  // Whether what was opened is a file, and one to wait for.
  error check() const noexcept {
    struct stat status;
    if (::fstat(handle_, &status) != 0) return last_error();
    if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
    if (!has_offsets(handle_, status)) return error(errc::no_offsets);
    return nonblocking_ ? let_wait() : error();
  }

  // io_uring does not wait for a file with O_NONBLOCK, so clear it. F_SETFL does not change O_DSYNC.
  error let_wait() const noexcept { return ::fcntl(handle_, F_SETFL, 0) != 0 ? last_error() : error(); }

  // A file that has no pages to read ahead refuses a hint, and needs none.
  void expect(access_pattern pattern) const noexcept {
    if (pattern == access_pattern::normal) return;
    static_cast<void>(
        ::posix_fadvise(handle_, 0, 0, pattern == access_pattern::random ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL));
  }

  error take(const result<native_handle>& opened) {
    if (!opened) return opened.error();
    handle_ = opened.value();
    return error();
  }

  // Never waits for the other end of a pipe or for a terminal's carrier; otherwise, anyone who can put one there could
  // stop every thread that opens files. Only a path that may lead anywhere waits for another process to give up its
  // lease on the file (fcntl(2), F_SETLEASE), as in open(2), but at most a minute: by default, the kernel grants that
  // process 45 s, and another 45 s if it takes a lease again.
  error open_path(int flags, mode_t permissions) {
    constexpr int milliseconds = 10;
    nonblocking_ = true;
    std::optional<detail::clock::time_point> deadline;
    for (;;) {
      const error failure = take(open_at(beneath_, path_.c_str(), flags | O_NONBLOCK, permissions));
      const bool is_leased = failure == std::errc::resource_unavailable_try_again;
      if (!is_leased && failure != std::errc::no_such_device_or_address) return failure;
      if (const error why = why_not_now(); why.exists()) return why;
      if (!is_leased || beneath_ != anywhere) return failure;
      const auto now = detail::clock::now();
      if (!deadline) deadline = now + std::chrono::minutes(1);
      if (now >= *deadline) return failure;
      ::poll(nullptr, 0, milliseconds);
    }
  }

  // Why a path cannot be opened without waiting. No error (exists() is false) if a file is there.
  error why_not_now() const noexcept {
    const auto found = open_at(beneath_, path_.c_str(), O_PATH | O_CLOEXEC);
    if (!found) return found.error();
    struct stat status;
    const error failure = ::fstat(found.value(), &status) != 0 ? last_error() : error();
    ::close(found.value());
    if (failure.exists()) return failure;
    return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ? errc::no_offsets : error();
  }

  error create(const std::string& name, int flags, mode_t permissions) {
    const error failure = take(create_in(place_, name, flags, permissions));
    created_ = !failure.exists();
    return failure;
  }

  // Creates the file in a directory that is kept open, so that it can be removed from there whatever others have done
  // to the path since.
  error create_path(int flags, mode_t permissions) {
    auto found = find_entry(beneath_, path_);
    if (!found) return found.error();
    place_ = std::move(found).value();
    return create(place_.name, flags, permissions);
  }

  // Works in two steps, because O_CREAT alone does not report whether it created the file. The second step uses
  // O_CREAT, too: without it, the kernel would not apply fs.protected_regular and fs.protected_fifos. A file that only
  // the second step creates (behind a dangling link, or because another process has just removed the file) stays if the
  // open fails late.
  error open_or_create(int flags, mode_t permissions) {
    const error failure = create_path(flags, permissions);
    return failure.exists() ? open_path(flags | O_CREAT, permissions) : failure;
  }

  // Creates the file under another name in the same directory; commit() renames it. Replaces the target of a symbolic
  // link, not the link. Does not replace devices and directories.
  error create_new(int flags, mode_t permissions) {
    auto found = find_regular_entry(beneath_, path_);
    if (!found) return found.error();
    place_ = std::move(found).value();
    error failure;
    for (int attempt = 0; attempt < 8; ++attempt) {
      temporary_ = ".qio-" + std::to_string(unguessable_number());
      failure = create(temporary_, flags, permissions);
      if (failure != std::errc::file_exists) break;
    }
    return failure;
  }

  native_handle beneath_;
  std::string path_;
  directory_entry place_;  // of the file that is created
  std::string temporary_;  // for creation::always_new: its name, in the directory of `place_`, until commit()
  creation how_;
  std::optional<file_storage> storage_;  // if it is known already
  native_handle handle_ = invalid_handle;
  bool is_foreign_ = false;
  bool nonblocking_ = false;
  bool created_ = false;
};

// --- A handle that the program has opened itself, and gives to a file ---

/// A handle serves any number of contexts, and then the caller again.
inline constexpr bool binds_handles = false;

/// Fails if a file of `kind` could not keep its promises with the handle. Changes nothing: the flags belong to the open
/// file description, which others may share.
inline result<detail::adopted_handle<opening>> adopt(native_handle handle, detail::handle_kind kind) {
  const int flags = ::fcntl(handle, F_GETFL);
  if (flags < 0) return last_error();
  if ((flags & O_PATH) != 0) return error(errc::access_not_granted);
  struct stat status;
  if (::fstat(handle, &status) != 0) return last_error();
  if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
  if (!has_offsets(handle, status)) return error(errc::no_offsets);
  const int mode = flags & O_ACCMODE;
  if (mode == O_ACCMODE) return error(errc::access_not_granted);  // open(2): for ioctl(2) only
  // An eventfd and its like pretend to seek.
  if (!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode) &&
      (mode == O_WRONLY ? ::pwrite(handle, "", 0, 0) : ::pread(handle, nullptr, 0, 0)) < 0 && errno == ESPIPE)
    return error(errc::no_offsets);
  if ((flags & O_APPEND) != 0 && mode != O_RDONLY) return error(errc::handle_appends);  // pwrite(2), BUGS
  // io_uring returns EAGAIN instead of waiting.
  if ((flags & O_NONBLOCK) != 0 && kind.asynchronous) return error(errc::handle_is_nonblocking);
  const bool is_direct = (flags & O_DIRECT) != 0;
  if (is_direct && !kind.direct) return error(errc::handle_is_direct);
  const bool writes_durably = (flags & O_DSYNC) != 0;
  if (kind.writes_durably && !writes_durably) return error(errc::handle_is_not_durable);
  const access granted = mode == O_RDONLY ? access::read : mode == O_WRONLY ? access::write : access::read_write;
  return detail::adopted_handle<opening>{opening::of(handle), granted, writes_durably, is_direct};
}

// --- The lock that keeps a second writer from a file ---

/// Locks the file for the open file description of `handle`, until that is closed: by the last process that has it.
/// Returns false if another one has locked it. Does not wait. Only calls of this function are kept out, not transfers:
/// the lock is of a byte that no data reaches.
inline result<bool> lock_exclusively(native_handle handle) noexcept {
  struct flock last {};
  last.l_type = F_WRLCK;
  last.l_whence = SEEK_SET;
  last.l_start = (std::numeric_limits<off_t>::max)() - 1;
  last.l_len = 1;
  while (::fcntl(handle, F_OFD_SETLK, &last) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno != EINTR) return last_error();
  }
  return true;
}

/// Gives the lock back before the handle is closed: a ring may keep the file open for a moment longer.
inline void unlock(native_handle handle) noexcept {
  struct flock last {};
  last.l_type = F_UNLCK;
  last.l_whence = SEEK_SET;
  last.l_start = (std::numeric_limits<off_t>::max)() - 1;
  last.l_len = 1;
  static_cast<void>(::fcntl(handle, F_OFD_SETLK, &last));
}

}  // namespace platform
QIO_END_NAMESPACE
