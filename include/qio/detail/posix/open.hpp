// SPDX-License-Identifier: BSL-1.0
// Opening a file in steps, so that an open that fails late (the mode cannot be had) leaves the disk as it found it.
#pragma once

#include <qio/detail/handle_kind.hpp>
#include <qio/detail/posix/handle.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace qio::platform {

/// begin() gives a handle and destroys nothing; commit() does what the caller asked for: truncates, replaces. Without
/// commit(), destruction closes the handle and removes what begin() created.
class opening {
 public:
  /// Handles become direct afterwards here, and serve any engine.
  static result<opening> begin(path_view path, access wanted, creation how, std::uint32_t permissions,
                               detail::handle_kind kind) {
    // POSIX leaves O_TRUNC without write access undefined, and Linux truncates.
    if (how == creation::truncate_existing && wanted == access::read) return error(errc::access_not_granted);
    opening self(path.c_str(), how);
    const int flags = access_flags(wanted) | (kind.writes_durably ? O_DSYNC : 0);
    if (const error failure = self.open(flags, static_cast<mode_t>(permissions)); failure.exists()) return failure;
    struct stat status;
    if (::fstat(self.handle_, &status) != 0) return last_error();
    if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
    return self;
  }

  opening(opening&& other) noexcept
      : path_(std::move(other.path_)),
        replaced_(std::move(other.replaced_)),
        how_(other.how_),
        handle_(std::exchange(other.handle_, invalid_handle)),
        created_(std::exchange(other.created_, false)) {}
  opening& operator=(opening&&) = delete;
  ~opening() {
    if (created_) ::unlink(path_.c_str());
    if (handle_ != invalid_handle) ::close(handle_);
  }

  native_handle handle() const noexcept { return handle_; }

  /// The handle is the caller's then.
  result<native_handle> commit() {
    if (how_ == creation::truncate_existing)
      if (auto emptied = resize(handle_, 0); !emptied) return emptied.error();
    // rename(2) is atomic: nobody finds nothing, or half of it, at that name.
    if (how_ == creation::always_new && std::rename(path_.c_str(), replaced_.c_str()) != 0) return last_error();
    created_ = false;
    return std::exchange(handle_, invalid_handle);
  }

 private:
  opening(std::string path, creation how) : path_(std::move(path)), how_(how) {}

  static int access_flags(access wanted) noexcept {
    switch (wanted) {
      case access::read: return O_RDONLY | O_CLOEXEC;
      case access::write: return O_WRONLY | O_CLOEXEC;
      case access::read_write: break;
    }
    return O_RDWR | O_CLOEXEC;
  }

  error open(int flags, mode_t permissions) {
    switch (how_) {
      case creation::open_existing:
      case creation::truncate_existing: return open_path(flags, permissions);
      case creation::only_if_missing: return create_path(flags, permissions);
      case creation::if_needed: return open_or_create(flags, permissions);
      case creation::always_new: break;
    }
    return create_beside(flags, permissions);
  }

  error open_path(int flags, mode_t permissions) {
    handle_ = open_retrying(path_.c_str(), flags, permissions);
    return handle_ == invalid_handle ? last_error() : error();
  }

  error create_path(int flags, mode_t permissions) {
    const error failure = open_path(flags | O_CREAT | O_EXCL, permissions);
    created_ = !failure.exists();
    return failure;
  }

  // In two steps, since O_CREAT alone does not tell whether it created. Between them another process may create or
  // remove the file: then again, but not for ever (a dangling symbolic link is missing and exists at the same time).
  error open_or_create(int flags, mode_t permissions) {
    error failure;
    for (int attempt = 0; attempt < 8; ++attempt) {
      failure = open_path(flags, permissions);
      if (failure != std::errc::no_such_file_or_directory) return failure;
      failure = create_path(flags, permissions);
      if (failure != std::errc::file_exists) return failure;
    }
    return open_path(flags | O_CREAT, permissions);
  }

  // Under another name in the same directory, from where commit() moves it.
  error create_beside(int flags, mode_t permissions) {
    if (const error failure = find_replaced(); failure.exists()) return failure;
    const std::string directory = replaced_.substr(0, replaced_.rfind('/') + 1);
    error failure;
    for (int attempt = 0; attempt < 100; ++attempt) {
      path_ = directory + ".qio-" + std::to_string(::getpid()) + '-' + std::to_string(attempt);
      failure = create_path(flags, permissions);
      if (failure != std::errc::file_exists) break;
    }
    return failure;
  }

  // What a symbolic link leads to is replaced, not the link. Devices and directories are not.
  error find_replaced() {
    replaced_ = path_;
    struct stat status;
    if (::stat(path_.c_str(), &status) != 0) return errno == ENOENT ? error() : last_error();
    if (!S_ISREG(status.st_mode)) return system_error(S_ISDIR(status.st_mode) ? EISDIR : EEXIST);
    char* const resolved = ::realpath(path_.c_str(), nullptr);
    if (resolved == nullptr) return last_error();
    replaced_ = resolved;
    std::free(resolved);
    return error();
  }

  std::string path_;      // of the open file
  std::string replaced_;  // of creation::always_new: where it is to go
  creation how_;
  native_handle handle_ = invalid_handle;
  bool created_ = false;
};

}  // namespace qio::platform
