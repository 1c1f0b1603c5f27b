// SPDX-License-Identifier: BSL-1.0
// Closing a file for all threads that use its handle or its mappings, which must not find another file there.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/directory.hpp>
#include <qio/system/bsd/mapping.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/process.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

QIO_BEGIN_NAMESPACE
namespace platform {

/// The result of close_and_keep_number().
struct closed_handle {
  bool has_ended = false;  ///< whether the handle refers to nothing now
  error failure;           ///< if it has ended, that of closing the file
};

/// Closes the file for every thread that uses `handle`. Calls that the system is carrying out finish with the file;
/// later ones fail (EBADF), because the number refers to a directory that is open for searching only. It remains taken
/// until it is closed.
inline closed_handle close_and_keep_number(native_handle handle) noexcept {
  // A child process that is forked meanwhile must not keep the file open by them.
  private_descriptor nothing, file;
  {
    const without_fork none;
    if (!nothing.take(none, open_retrying("/", search_only, 0))) return {false, last_error()};
    // dup2() reports no errors of closing the file. If there is no descriptor left for that, they are lost.
    file.take(none, ::fcntl(handle, F_DUPFD_CLOEXEC, 0));
  }
  int replaced;
  do replaced = ::dup2(nothing.value(), handle);
  while (replaced < 0 && errno == EINTR);
  closed_handle answer{replaced >= 0, replaced >= 0 ? error() : last_error()};
  // dup2() clears the flag. A program that another thread starts in between inherits a directory that it cannot read.
  if (answer.has_ended) ::fcntl(handle, F_SETFD, FD_CLOEXEC);
  if (const error closing = file.close(); answer.has_ended && closing.exists()) answer.failure = closing;
  return answer;
}

/// What takes the place of mappings that end: memory that nobody may access. Access raises SIGBUS (macOS) or SIGSEGV.
class empty_file {
 public:
  static error open() noexcept { return {}; }

  /// Replaces the mapping, without a moment at which nothing is there: the file is no longer kept open by it.
  static error replace(mapping& ended) noexcept {
    constexpr int anonymous = MAP_PRIVATE | MAP_ANON | MAP_FIXED;
    return ::mmap(ended.data(), ended.size(), PROT_NONE, anonymous, -1, 0) == MAP_FAILED ? last_error() : error();
  }
};

}  // namespace platform
QIO_END_NAMESPACE
