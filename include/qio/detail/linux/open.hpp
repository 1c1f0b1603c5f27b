// SPDX-License-Identifier: BSL-1.0
// Opening a file in steps, so that an open that fails late (the mode cannot be had) leaves the disk as it found it.
#pragma once

#include <qio/detail/exceptions.hpp>
#include <qio/detail/handle_kind.hpp>
#include <qio/detail/linux/directory.hpp>
#include <qio/detail/linux/directory_entry.hpp>
#include <qio/detail/posix/handle.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

namespace qio::platform {

/// begin() gives a handle and destroys nothing; commit() does what the caller asked for: truncates, replaces. Without
/// commit(), destruction closes the handle and removes what begin() created.
class opening {
 public:
  /// Handles become direct afterwards here, and serve any engine. Of a path that is to stay beneath a directory each
  /// step is.
  static result<opening> begin(path_view path, native_handle beneath, access wanted, creation how,
                               std::uint32_t permissions, detail::handle_kind kind) {
    // POSIX leaves O_TRUNC without write access undefined, and Linux truncates.
    if (how == creation::truncate_existing && wanted == access::read) return error(errc::access_not_granted);
    opening self(path.c_str(), beneath, how);
    const int flags = access_flags(wanted) | (kind.writes_durably ? O_DSYNC : 0);
    if (const error failure = self.open(flags, static_cast<mode_t>(permissions)); failure.exists()) return failure;
    struct stat status;
    if (::fstat(self.handle_, &status) != 0) return last_error();
    if (S_ISDIR(status.st_mode)) return system_error(EISDIR);
    return self;
  }

  opening(opening&& other) noexcept
      : beneath_(other.beneath_),
        path_(std::move(other.path_)),
        replaced_(std::move(other.replaced_)),
        how_(other.how_),
        handle_(std::exchange(other.handle_, invalid_handle)),
        created_(std::exchange(other.created_, false)) {}
  opening& operator=(opening&&) = delete;
  ~opening() {
    if (created_) remove();
    if (handle_ != invalid_handle) ::close(handle_);
  }

  native_handle handle() const noexcept { return handle_; }

  /// The handle is the caller's then.
  result<native_handle> commit() {
    if (how_ == creation::truncate_existing)
      if (auto emptied = resize(handle_, 0); !emptied) return emptied.error();
    // rename(2) is atomic: nobody finds nothing, or half of it, at that name.
    const native_handle within = replaced_.directory;
    if (how_ == creation::always_new && ::renameat(within, path_.c_str(), within, replaced_.name.c_str()) != 0)
      return last_error();
    created_ = false;
    return std::exchange(handle_, invalid_handle);
  }

 private:
  opening(std::string path, native_handle beneath, creation how)
      : beneath_(beneath), path_(std::move(path)), how_(how) {}

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
    return create_new(flags, permissions);
  }

  error open_path(int flags, mode_t permissions) { return take(open_at(beneath_, path_.c_str(), flags, permissions)); }

  error take(const result<native_handle>& opened) {
    if (!opened) return opened.error();
    handle_ = opened.value();
    return error();
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

  // Under another name in the same directory, from where commit() moves it. What a symbolic link leads to is replaced,
  // not the link. Devices and directories are not.
  error create_new(int flags, mode_t permissions) {
    auto found = find_regular_entry(beneath_, path_);
    if (!found) return found.error();
    replaced_ = std::move(found).value();
    error failure;
    for (int attempt = 0; attempt < 100; ++attempt) {
      path_ = ".qio-" + std::to_string(::getpid()) + '-' + std::to_string(attempt);
      failure = take(create_beside(replaced_, path_, flags, permissions));
      created_ = !failure.exists();
      if (failure != std::errc::file_exists) break;
    }
    return failure;
  }

  // By its directory, since unlink(2) cannot be told to stay beneath another one. (Without memory, the file stays.)
  void remove() const noexcept {
    if (how_ == creation::always_new) {
      ::unlinkat(replaced_.directory, path_.c_str(), 0);
      return;
    }
    detail::succeeds([&] {
      if (const auto made = find_entry(beneath_, path_))
        ::unlinkat(made.value().directory, made.value().name.c_str(), 0);
    });
  }

  native_handle beneath_;
  std::string path_;          // of the open file; of creation::always_new its name beside …
  directory_entry replaced_;  // … where it is to go
  creation how_;
  native_handle handle_ = invalid_handle;
  bool created_ = false;
};

}  // namespace qio::platform
