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
#include <qio/system/primitives.hpp>

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

/// A number that nobody else can predict.
inline std::uint64_t unguessable_number() noexcept {
  std::uint64_t number;
  ::arc4random_buf(&number, sizeof number);
  return number;
}

/// The name of a temporary file. What a killed process has left behind can be found by the beginning.
inline std::string temporary_name() { return ".qio-" + std::to_string(unguessable_number()); }

// --- Opening ---
//
// Opening a file in steps, so that an open that fails late (because the mode is unavailable) leaves the disk unchanged.

/// Whether a file can be read and written at offsets. A terminal may pretend to seek.
inline bool has_offsets(native_handle handle, const struct stat& status) noexcept {
  if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) return true;
  return S_ISCHR(status.st_mode) && ::isatty(handle) == 0 && ::lseek(handle, 0, SEEK_CUR) >= 0;
}

/// A file that is being opened. begin() opens a handle and destroys nothing; commit() then truncates or replaces, as
/// the caller asked. Without commit(), destruction closes the handle and removes what begin() created.
class opening {
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
    const int flags = flags_for(wanted, kind);
    if (const error failure = self.open(flags, static_cast<mode_t>(permissions)); failure.exists()) return failure;
    if (const error failure = self.check(); failure.exists()) return failure;
    if (kind.pattern != access_pattern::normal) static_cast<void>(advise(self.handle_, kind.pattern));
    return self;
  }

  /// Always fails with std::errc::resource_unavailable_try_again: the system does not tell whether an open would wait.
  template <class MayBeUsed>
  static result<opening> begin_at_once(path_view, native_handle, access, detail::handle_kind, known_file_systems&,
                                       MayBeUsed&&) {
    return system_error(EAGAIN);
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
        handle_(std::exchange(other.handle_, invalid_handle)),
        is_foreign_(other.is_foreign_),
        created_(std::exchange(other.created_, false)) {}
  opening& operator=(opening&&) = delete;
  ~opening() {
    if (created_) remove_from(place_, how_ == creation::always_new ? temporary_ : place_.name, handle_);
    if (handle_ != invalid_handle && !is_foreign_) ::close(handle_);
  }

  native_handle handle() const noexcept { return handle_; }
  file_storage storage() const noexcept { return file_storage(handle_); }
  /// Its flags are shared with others, and stay as they are.
  bool is_foreign() const noexcept { return is_foreign_; }
  /// Whether a write through a handle that was opened for durable writes is durable only after a flush.
  static constexpr bool needs_flushes(bool) noexcept { return !writes_reach_device; }

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

  // O_NOCTTY: a path of another user may lead to a terminal, which would become that of a process without one.
  static int flags_for(access wanted, detail::handle_kind kind) noexcept {
    const int mode = wanted == access::read ? O_RDONLY : wanted == access::write ? O_WRONLY : O_RDWR;
    return mode | O_CLOEXEC | O_NOCTTY | (kind.writes_durably ? O_DSYNC : 0) | (kind.follows_links ? 0 : O_NOFOLLOW);
  }

  error open(int flags, mode_t permissions) {
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

  // F_SETFL would also take away O_DSYNC.
  error let_wait() const noexcept {
    const int flags = ::fcntl(handle_, F_GETFL);
    return flags < 0 || ::fcntl(handle_, F_SETFL, flags & ~O_NONBLOCK) != 0 ? last_error() : error();
  }

  error take(const result<native_handle>& opened) {
    if (!opened) return opened.error();
    handle_ = opened.value();
    return error();
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

  // Works in two steps, because O_CREAT alone does not report whether it created the file. A file that only the second
  // step creates (behind a dangling link, or because another process has just removed the file) stays if the open fails
  // late.
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
  native_handle handle_ = invalid_handle;
  bool is_foreign_ = false;
  bool nonblocking_ = false;
  bool created_ = false;
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
  // Of the handles that a direct file adopts, those of raw devices are direct.
  return detail::adopted_handle<opening>{opening::of(handle), granted, writes_durably, false};
}

}  // namespace platform
QIO_END_NAMESPACE
