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
#include <qio/system/posix/opening.hpp>

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

/// If a sandbox forbids getrandom(2), uses the clock, the process ID and an address instead.
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

inline bool has_offsets(native_handle handle, const struct stat& status) noexcept {
  return S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) || ::lseek(handle, 0, SEEK_CUR) >= 0;
}

/// A magic link that leads to what is open as `handle` (proc_pid_fd(5)).
inline std::string name_in_proc(native_handle handle) { return "/proc/self/fd/" + std::to_string(handle); }

class opening : public opening_in_steps {
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
    if (const error failure = self.open_and_check(flags, static_cast<mode_t>(permissions)); failure.exists())
      return failure;
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

  /// An opening that is complete: the program has opened the handle itself.
  static opening of(native_handle handle) { return opening(handle); }

  file_storage storage() const noexcept { return storage_ ? *storage_ : file_storage(handle_); }
  /// Whether a write through a handle that was opened for durable writes is durable only after a flush. Not with
  /// O_DSYNC.
  static constexpr bool needs_flushes(bool) noexcept { return false; }

 private:
  opening(std::string path, native_handle beneath, creation how, detail::handle_kind kind)
      : opening_in_steps(std::move(path), beneath, how, kind) {}
  explicit opening(native_handle foreign) : opening_in_steps(foreign) {}

  // Flags that open nothing, but find what is there: a symbolic link itself, if that is not to be followed.
  static int found_by(detail::handle_kind kind) noexcept {
    return O_PATH | O_CLOEXEC | (kind.follows_links ? 0 : O_NOFOLLOW);
  }

  error open_and_check(int flags, mode_t permissions) {
    const error failure = kind_.is_unnamed
                              ? take(open_at(beneath_, path_.c_str(), flags | O_TMPFILE, permissions))
                              : open(flags, permissions, [this](int all, mode_t mode) { return open_path(all, mode); });
    if (failure.exists()) return failure;
    const error why = misfit();
    return why.exists() || !nonblocking_ ? why : let_wait();
  }

  // io_uring does not wait for a file with O_NONBLOCK, so clear it. F_SETFL does not change O_DSYNC.
  error let_wait() const noexcept { return ::fcntl(handle_, F_SETFL, 0) != 0 ? last_error() : error(); }

  // A file that has no pages to read ahead refuses a hint, and needs none.
  void expect(access_pattern pattern) const noexcept {
    if (pattern == access_pattern::normal) return;
    static_cast<void>(
        ::posix_fadvise(handle_, 0, 0, pattern == access_pattern::random ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL));
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

  std::optional<file_storage> storage_;  // if it is known already
  bool nonblocking_ = false;
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
