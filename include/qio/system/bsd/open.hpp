// SPDX-License-Identifier: BSL-1.0
// How a file is opened: by its path, or by a handle that the program opened.
#pragma once

#include <qio/configuration.hpp>
#include <qio/if_exists.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/directory.hpp>
#include <qio/system/bsd/names.hpp>
#include <qio/system/bsd/page_cache.hpp>
#include <qio/system/posix/entry.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/opening.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Names that nobody else can have taken ---

inline std::uint64_t unguessable_number() noexcept {
  std::uint64_t number;
  ::arc4random_buf(&number, sizeof number);
  return number;
}

// --- What darwin and freebsd define ---

inline result<void> advise(native_handle handle, access_pattern pattern) noexcept;

/// Whether a write through a handle with O_DSYNC is as durable when it completes as sync() would make it.
inline bool writes_reach_device() noexcept;

// --- Opening ---

/// A terminal may pretend to seek.
inline bool has_offsets(native_handle handle, const struct stat& status) noexcept {
  if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) return true;
  return S_ISCHR(status.st_mode) && ::isatty(handle) == 0 && ::lseek(handle, 0, SEEK_CUR) >= 0;
}

class opening : public opening_in_steps {
 public:
  /// Ignores `kind.asynchronous` and `kind.direct`: any handle serves any engine, and make_direct() does the rest. If
  /// the path must stay beneath a directory, every step stays beneath it.
  static result<opening> begin(path_view path, native_handle beneath, access wanted, creation how,
                               std::uint32_t permissions, detail::handle_kind kind) {
    if (kind.is_unnamed) return system_error(EOPNOTSUPP);
    if (detail::empties(how) && wanted == access::read)
      return error(errc::access_not_granted, static_cast<std::uint64_t>(wanted),
                   static_cast<std::uint64_t>(access::read_write));
    opening self(path.c_str(), beneath, how, kind);
    const error failure = self.open_and_check(flags_for(wanted, kind), static_cast<mode_t>(permissions));
    if (failure.exists()) return failure;
    if (kind.pattern != access_pattern::normal) static_cast<void>(advise(self.handle_, kind.pattern));
    return self;
  }

  /// Always fails with std::errc::resource_unavailable_try_again: the system does not tell whether an open would wait.
  template <class MayBeUsed>
  static result<opening> begin_at_once(path_view, native_handle, access, detail::handle_kind, known_file_systems&,
                                       MayBeUsed&&) {
    return system_error(EAGAIN);
  }

  /// An opening that is complete: the program has opened the handle itself.
  static opening of(native_handle handle) { return opening(handle); }

  file_storage storage() const noexcept { return file_storage(handle_); }
  /// Whether a write through a handle that was opened for durable writes is durable only after a flush.
  static bool needs_flushes(bool) noexcept { return !writes_reach_device(); }

 private:
  opening(std::string path, native_handle beneath, creation how, detail::handle_kind kind)
      : opening_in_steps(std::move(path), beneath, how, kind) {}
  explicit opening(native_handle foreign) : opening_in_steps(foreign) {}

  error open_and_check(int flags, mode_t permissions) {
    const error failure = open(flags, permissions, [this](int all, mode_t mode) { return open_path(all, mode); });
    if (failure.exists()) return failure;
    const error why = misfit();
    return why.exists() || !nonblocking_ ? why : let_wait();
  }

  // F_SETFL would also take away O_DSYNC.
  error let_wait() const noexcept {
    const int flags = ::fcntl(handle_, F_GETFL);
    return flags < 0 || ::fcntl(handle_, F_SETFL, flags & ~O_NONBLOCK) != 0 ? last_error() : error();
  }

  // Never waits for the other end of a pipe or for a terminal's carrier; otherwise, anyone who can put one there could
  // stop every thread that opens files.
  error open_path(int flags, mode_t permissions) {
    nonblocking_ = true;
    if (kind_.regular_only)
      if (const error misfit = why_not_regular((flags & O_CREAT) != 0); misfit.exists()) return misfit;
    const error failure = take(open_at(beneath_, path_.c_str(), flags | O_NONBLOCK, permissions));
    const bool may_be_pipe = failure == std::errc::no_such_device_or_address ||
                             failure == std::errc::operation_not_supported || failure == std::errc::not_supported;
    return may_be_pipe && leads_to_pipe() ? errc::no_offsets : failure;
  }

  // Asked before anything is opened, because to open a device may change it. (Neither system opens what was looked at:
  // a device that somebody puts there in between is opened, and check() refuses it.)
  error why_not_regular(bool may_be_missing) const noexcept {
    struct stat status;
    const int flags = kind_.follows_links ? 0 : AT_SYMLINK_NOFOLLOW;
    const error failure = status_beneath(beneath_, path_.c_str(), flags, status);
    if (may_be_missing && failure == std::errc::no_such_file_or_directory) return {};
    if (failure.exists()) return failure;
    if (S_ISLNK(status.st_mode)) return system_error(ELOOP);
    if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
    return S_ISREG(status.st_mode) ? error() : errc::not_a_regular_file;
  }

  bool leads_to_pipe() const noexcept {
    struct stat status;
    const int flags = kind_.follows_links ? 0 : AT_SYMLINK_NOFOLLOW;
    return !status_beneath(beneath_, path_.c_str(), flags, status).exists() &&
           (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
  }

  bool nonblocking_ = false;
};

// --- What can be done to a file that is open ---

/// Neither system has hints about the lifetime of data, or files without a name.
inline error set_lifetime(native_handle, data_lifetime) noexcept { return system_error(EOPNOTSUPP); }
inline result<void> give_name(native_handle, path_view, if_exists, native_handle) noexcept {
  return system_error(EOPNOTSUPP);
}

// --- A handle that the program has opened itself, and gives to a file ---

/// A handle serves any number of contexts, and then the caller again.
inline constexpr bool binds_handles = false;

/// Fails if a file of `kind` could not keep its promises with the handle. Changes nothing: the flags belong to the open
/// file description, which others may share.
inline result<detail::adopted_handle<opening>> adopt(native_handle handle, detail::handle_kind kind) {
  const int flags = ::fcntl(handle, F_GETFL);
  if (flags < 0) return last_error();
  if ((flags & O_EXEC) != 0) return error(errc::access_not_granted);  // for searching or running only
  struct stat status;
  if (::fstat(handle, &status) != 0) return last_error();
  if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
  if (kind.regular_only && !S_ISREG(status.st_mode)) return error(errc::not_a_regular_file);
  if (!has_offsets(handle, status)) return error(errc::no_offsets);
  const int mode = flags & O_ACCMODE;
  if ((flags & O_APPEND) != 0 && mode != O_RDONLY) return error(errc::handle_appends);
  if ((flags & O_NONBLOCK) != 0 && kind.asynchronous) return error(errc::handle_is_nonblocking);
  const bool writes_durably = (flags & O_DSYNC) != 0;
  if (kind.writes_durably && !writes_durably) return error(errc::handle_is_not_durable);
  const access granted = mode == O_RDONLY ? access::read : mode == O_WRONLY ? access::write : access::read_write;
  return detail::adopted_handle<opening>{opening::of(handle), granted, writes_durably, false};
}

}  // namespace platform
QIO_END_NAMESPACE
