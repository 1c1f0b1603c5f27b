// SPDX-License-Identifier: BSL-1.0
// A handle that the program has opened itself, and gives to a file.
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/handle_kind.hpp>
#include <qio/system/linux/open.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace qio::inline QIO_CONFIGURATION::platform {

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

}  // namespace qio::inline QIO_CONFIGURATION::platform
