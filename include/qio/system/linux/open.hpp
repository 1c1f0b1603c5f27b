// SPDX-License-Identifier: BSL-1.0
// How a file is opened: by its path, or by a handle that the program opened.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/if_exists.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/directory.hpp>
#include <qio/system/linux/names.hpp>
#include <qio/system/linux/page_cache.hpp>
#include <qio/system/posix/entry.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
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

/// The name of a temporary file. What a killed process has left behind can be found by the beginning.
inline std::string temporary_name() { return ".qio-" + std::to_string(unguessable_number()); }

// --- Opening ---
//
// Opening a file in steps, so that an open that fails late (because the mode is unavailable) leaves the disk unchanged.

/// Whether a file can be read and written at offsets.
inline bool has_offsets(native_handle handle, const struct stat& status) noexcept {
  return S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) || ::lseek(handle, 0, SEEK_CUR) >= 0;
}

/// A magic link that leads to what is open as `handle` (proc_pid_fd(5)).
inline std::string name_in_proc(native_handle handle) { return "/proc/self/fd/" + std::to_string(handle); }

/// A file that is being opened. begin() opens a handle and destroys nothing; commit() then truncates or replaces, as
/// the caller asked. Without commit(), destruction closes the handle and removes what begin() created.
class opening {
 public:
  /// Ignores `kind.asynchronous` and `kind.direct`: on Linux, any handle serves any engine, and make_direct() makes it
  /// direct later. If the path must stay beneath a directory, every step stays beneath it.
  static result<opening> begin(path_view path, native_handle beneath, access wanted, creation how,
                               std::uint32_t permissions, detail::handle_kind kind) {
    // POSIX leaves O_TRUNC without write access undefined, and Linux truncates. O_TMPFILE needs write access.
    if ((detail::empties(how) || kind.is_unnamed) && wanted == access::read)
      return error(errc::access_not_granted, static_cast<std::uint64_t>(wanted),
                   static_cast<std::uint64_t>(access::read_write));
    opening self(path.c_str(), beneath, how, kind);
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
    opening self(path.c_str(), beneath, creation::open_existing, kind);
    // O_PATH opens nothing, so it sends no request to the file system.
    const native_handle found = openat2::call_if_cached(beneath, path.c_str(), found_by(kind));
    if (found == invalid_handle) return errno == ENOENT ? last_error() : system_error(EAGAIN);
    file_place place;
    const bool is_file = place.find(found) && place.is_of_regular;
    const file_storage* const storage = is_file ? known.find(place) : nullptr;
    // Not by its name, which others may have given to a file that waits.
    if (storage != nullptr && may_be_used(*storage))
      self.handle_ = known.reopen(found, (flags_for(wanted, kind) & ~O_NOFOLLOW) | O_NONBLOCK);
    ::close(found);
    if (self.handle_ == invalid_handle) return system_error(EAGAIN);
    if (const error failure = self.let_wait(); failure.exists()) return failure;
    self.expect(kind.pattern);
    self.storage_ = storage->of_another(place);
    return self;
  }

  /// A handle that the program has opened: nothing is left to do, and without commit() it stays as it is.
  static opening of(native_handle handle) {
    opening self({}, anywhere, creation::open_existing, {});
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
        kind_(other.kind_),
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
  result<native_handle> commit() { return commit(false); }
  /// The same, and makes the name of a created or replaced file durable. If the directory cannot be read, nothing is
  /// changed. If it cannot be synced, the open fails, but the file has its name.
  result<native_handle> commit_durably() { return commit(true); }

 private:
  opening(std::string path, native_handle beneath, creation how, detail::handle_kind kind)
      : beneath_(beneath), path_(std::move(path)), how_(how), kind_(kind) {}

  result<native_handle> commit(bool is_durable) {
    const auto directory = directory_to_sync::of(place_.directory, is_durable && created_);
    if (!directory) return directory.error();
    if (detail::empties(how_))
      if (auto emptied = resize(handle_, 0); !emptied) return emptied.error();
    // rename(2) is atomic: nobody finds the name missing, or only part of the file.
    const native_handle within = place_.directory;
    if (how_ == creation::always_new && ::renameat(within, temporary_.c_str(), within, place_.name.c_str()) != 0)
      return last_error();
    created_ = false;
    if (auto synced = directory.value().sync(); !synced) return synced.error();
    return std::exchange(handle_, invalid_handle);
  }

  static int flags_for(access wanted, detail::handle_kind kind) noexcept {
    return access_flags(wanted) | (kind.writes_durably ? O_DSYNC : 0) | (kind.follows_links ? 0 : O_NOFOLLOW);
  }
  // Flags that open nothing, but find what is there: a symbolic link itself, if that is not to be followed.
  static int found_by(detail::handle_kind kind) noexcept {
    return O_PATH | O_CLOEXEC | (kind.follows_links ? 0 : O_NOFOLLOW);
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
    if (kind_.is_unnamed) return take(open_at(beneath_, path_.c_str(), flags | O_TMPFILE, permissions));
    switch (how_) {
      case creation::open_existing:
      case creation::truncate_existing: return open_path(flags, permissions);
      case creation::only_if_missing: return create_path(flags, permissions);
      case creation::if_needed:
      case creation::emptied: return open_or_create(flags, permissions);
      case creation::always_new: break;
    }
    return create_new(flags, permissions);
  }

  // Whether what was opened is a file, and one to wait for.
  error check() const noexcept {
    struct stat status;
    if (::fstat(handle_, &status) != 0) return last_error();
    if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
    if (kind_.regular_only && !S_ISREG(status.st_mode)) return error(errc::not_a_regular_file);
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
      const error failure =
          take(kind_.regular_only ? open_regular(flags | O_NONBLOCK, permissions)
                                  : open_at(beneath_, path_.c_str(), flags | O_NONBLOCK, permissions));
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

  // Opens nothing but a regular file. With O_CREAT, by the path once more, because the kernel does not apply
  // fs.protected_regular to a magic link; check() then looks again.
  result<native_handle> open_regular(int flags, mode_t permissions) const {
    const auto found = open_at(beneath_, path_.c_str(), found_by(kind_));
    if (!found) return found.error();
    directory_entry itself;  // closes it
    itself.directory = found.value();
    struct stat status;
    if (::fstat(found.value(), &status) != 0) return last_error();
    if (S_ISLNK(status.st_mode)) return system_error(ELOOP);
    if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
    if (!S_ISREG(status.st_mode)) return error(errc::not_a_regular_file);
    if ((flags & O_CREAT) == 0) {
      const auto opened = open_from(anywhere, name_in_proc(found.value()).c_str(), flags & ~O_NOFOLLOW);
      if (opened || opened.error() != std::errc::no_such_file_or_directory) return opened;
    }
    return open_at(beneath_, path_.c_str(), flags, permissions);
  }

  // Why a path cannot be opened without waiting. No error (exists() is false) if a file is there.
  error why_not_now() const noexcept {
    const auto found = open_at(beneath_, path_.c_str(), found_by(kind_));
    if (!found) return found.error();
    struct stat status;
    const error failure = ::fstat(found.value(), &status) != 0 ? last_error() : error();
    ::close(found.value());
    if (failure.exists()) return failure;
    return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) ? errc::no_offsets : error();
  }

  error create(const std::string& name, int flags, mode_t permissions) {
    const error failure = take(open_from(place_.directory, name.c_str(), flags | O_CREAT | O_EXCL, permissions));
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
    auto found = find_regular_entry(beneath_, path_, kind_.follows_links);
    if (!found) return found.error();
    place_ = std::move(found).value();
    error failure;
    for (int attempt = 0; attempt < 8; ++attempt) {
      temporary_ = temporary_name();
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
  detail::handle_kind kind_;
  std::optional<file_storage> storage_;  // if it is known already
  native_handle handle_ = invalid_handle;
  bool is_foreign_ = false;
  bool nonblocking_ = false;
  bool created_ = false;
};

// --- What can be done to a file that is open ---

/// Gives the file a hint. Returns the error if the system refuses it.
inline error set_lifetime(native_handle handle, data_lifetime lifetime) noexcept {
  constexpr int set_hint = 1036;                                  // F_SET_RW_HINT (include/uapi/linux/fcntl.h)
  std::uint64_t hint = 1 + static_cast<std::uint64_t>(lifetime);  // RWH_WRITE_LIFE_SHORT is 2
  static_assert(static_cast<int>(data_lifetime::short_lived) == 1 && static_cast<int>(data_lifetime::extreme) == 4);
  return ::fcntl(handle, set_hint, &hint) != 0 ? last_error() : error();
}

/// Makes a name for what is open as `handle`. Without the capability that AT_EMPTY_PATH needs before Linux 6.10, by
/// /proc (open(2), O_TMPFILE).
inline error link_handle(native_handle handle, const directory_entry& place, const std::string& name) {
  if (::linkat(handle, "", place.directory, name.c_str(), AT_EMPTY_PATH) == 0) return error();
  if (errno != ENOENT) return last_error();
  const int done = ::linkat(anywhere, name_in_proc(handle).c_str(), place.directory, name.c_str(), AT_SYMLINK_FOLLOW);
  return done != 0 ? last_error() : error();
}

/// Gives the file that is open as `handle` a name. What replaces another file has a name of its own until then.
inline result<void> give_name(native_handle handle, path_view path, if_exists how, native_handle beneath) {
  if (how == if_exists::exchange) return system_error(EINVAL);
  const auto found = find_entry(beneath, path.c_str());
  if (!found) return found.error();
  const directory_entry& place = found.value();
  error failure = link_handle(handle, place, place.name);
  if (how == if_exists::fail || failure != std::errc::file_exists)
    return failure.exists() ? result<void>(failure) : success();
  std::string temporary;
  for (int attempt = 0; attempt < 8 && failure == std::errc::file_exists; ++attempt) {
    temporary = temporary_name();
    failure = link_handle(handle, place, temporary);
  }
  if (failure.exists()) return failure;
  if (::renameat(place.directory, temporary.c_str(), place.directory, place.name.c_str()) != 0) failure = last_error();
  // It is still there after an error, and if `path` was a name of the same file already (rename(2)).
  ::unlinkat(place.directory, temporary.c_str(), 0);
  return failure.exists() ? result<void>(failure) : success();
}

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
  if (kind.regular_only && !S_ISREG(status.st_mode)) return error(errc::not_a_regular_file);
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

}  // namespace platform
QIO_END_NAMESPACE
