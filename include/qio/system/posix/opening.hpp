// SPDX-License-Identifier: BSL-1.0
// Opening a file in steps, so that an open that fails late (because the mode is unavailable) leaves the disk unchanged.
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/entry.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/primitives.hpp>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

/// The name of a temporary file. What a killed process has left behind can be found by the beginning.
inline std::string temporary_name() { return ".qio-" + std::to_string(unguessable_number()); }

/// A file that is being opened, as far as systems have that in common: see `opening` in open.hpp of each. Destroys
/// nothing until commit(), which truncates or replaces, as the caller asked. Without commit(), destruction closes the
/// handle and removes what was created.
class opening_in_steps {
 public:
  opening_in_steps(opening_in_steps&& other) noexcept
      : beneath_(other.beneath_),
        path_(std::move(other.path_)),
        kind_(other.kind_),
        handle_(std::exchange(other.handle_, invalid_handle)),
        how_(other.how_),
        place_(std::move(other.place_)),
        temporary_(std::move(other.temporary_)),
        is_foreign_(other.is_foreign_),
        created_(std::exchange(other.created_, false)) {}
  opening_in_steps& operator=(opening_in_steps&&) = delete;

  native_handle handle() const noexcept { return handle_; }
  /// Its flags are shared with others, and stay as they are.
  bool is_foreign() const noexcept { return is_foreign_; }

  /// Completes the open. On success, the caller owns the handle.
  result<native_handle> commit() { return commit(false); }
  /// The same, and makes the name of a created or replaced file durable. If the directory cannot be read, nothing is
  /// changed. If it cannot be synced, the open fails, but the file has its name.
  result<native_handle> commit_durably() { return commit(true); }

 protected:
  opening_in_steps(std::string path, native_handle beneath, creation how, detail::handle_kind kind)
      : beneath_(beneath), path_(std::move(path)), kind_(kind), how_(how) {}
  /// For a handle that the program has opened: nothing is left to do, and without commit() it stays as it is.
  explicit opening_in_steps(native_handle foreign)
      : beneath_(anywhere), handle_(foreign), how_(creation::open_existing), is_foreign_(true) {}
  ~opening_in_steps() {
    if (created_) remove_from(place_, how_ == creation::always_new ? temporary_ : place_.name, handle_);
    if (handle_ != invalid_handle && !is_foreign_) ::close(handle_);
  }

  // O_NOCTTY: a path of another user may lead to a terminal, which would become that of a process without one.
  static int flags_for(access wanted, detail::handle_kind kind) noexcept {
    const int mode = wanted == access::read ? O_RDONLY : wanted == access::write ? O_WRONLY : O_RDWR;
    return mode | O_CLOEXEC | O_NOCTTY | (kind.writes_durably ? O_DSYNC : 0) | (kind.follows_links ? 0 : O_NOFOLLOW);
  }

  /// `open_path(flags, permissions)` opens what is at the path, or creates it, if O_CREAT is among the flags.
  template <class OpenPath>
  error open(int flags, mode_t permissions, const OpenPath& open_path) {
    switch (how_) {
      case creation::open_existing:
      case creation::truncate_existing: return open_path(flags, permissions);
      case creation::only_if_missing: return create_path(flags, permissions);
      // In two steps, because O_CREAT alone does not report whether it created the file. The second step uses O_CREAT,
      // too: without it, Linux would not apply fs.protected_regular and fs.protected_fifos. A file that only the second
      // step creates (behind a dangling link, or because another process has just removed the file) stays if the open
      // fails late.
      case creation::if_needed:
      case creation::emptied: {
        const error failure = create_path(flags, permissions);
        return failure.exists() ? open_path(flags | O_CREAT, permissions) : failure;
      }
      case creation::always_new: break;
    }
    return create_new(flags, permissions);
  }

  error take(const result<native_handle>& opened) {
    if (!opened) return opened.error();
    handle_ = opened.value();
    return error();
  }

  /// Why what was opened is no file to read and write at offsets.
  error misfit() const noexcept {
    struct stat status;
    if (::fstat(handle_, &status) != 0) return last_error();
    if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
    if (kind_.regular_only && !S_ISREG(status.st_mode)) return error(errc::not_a_regular_file);
    return has_offsets(handle_, status) ? error() : error(errc::no_offsets);
  }

 private:
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

 protected:
  native_handle beneath_;
  std::string path_;
  detail::handle_kind kind_;
  native_handle handle_ = invalid_handle;

 private:
  creation how_;
  directory_entry place_;  // of the file that is created
  std::string temporary_;  // for creation::always_new: its name, in the directory of `place_`, until commit()
  bool is_foreign_ = false;
  bool created_ = false;
};

}  // namespace platform
QIO_END_NAMESPACE
