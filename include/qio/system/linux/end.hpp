// SPDX-License-Identifier: BSL-1.0
// Closing a file for all threads that use its handle or its mappings, which must not find another file there.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/mapping.hpp>
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
/// later ones fail (EBADF), because the number refers to a directory that nobody can use (O_PATH). It remains taken
/// until it is closed.
inline closed_handle close_and_keep_number(native_handle handle) noexcept {
  // A child process that is forked meanwhile must not keep the file open by them.
  private_descriptor nothing, file, last;
  {
    const without_fork none;
    if (!nothing.take(none, open_retrying("/", O_PATH | O_CLOEXEC, 0))) return {false, last_error()};
    // dup3() reports no errors of closing the file. If there is no descriptor left for that, they are lost.
    file.take(none, ::fcntl(handle, F_DUPFD_CLOEXEC, 0));
    // What closes the file last may wait until its space is free: not file.close(), for which fork(2) waits.
    last.take(none, ::fcntl(handle, F_DUPFD_CLOEXEC, 0));
  }
  int replaced;
  do replaced = ::dup3(nothing.value(), handle, O_CLOEXEC);
  while (replaced < 0 && errno == EINTR);
  closed_handle answer{replaced >= 0, replaced >= 0 ? error() : last_error()};
  if (const error closing = file.close(); answer.has_ended && closing.exists()) answer.failure = closing;
  if (last.value() >= 0) static_cast<void>(::dup3(nothing.value(), last.value(), O_CLOEXEC));
  return answer;
}

/// Replaces the mapping, without a moment at which nothing is there, by one of an empty file: access raises SIGBUS, and
/// the file is no longer kept open. If the system has no descriptor left, by memory that nobody may access (SIGSEGV).
inline void end(mapping& ended) noexcept {
  const int empty = ::memfd_create("qio: closed", MFD_CLOEXEC);
  if (empty < 0) {
    static_cast<void>(
        ::mmap(ended.data(), ended.size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
    return;
  }
  // For writing, too: a store to a mapping that is only readable would raise SIGSEGV, which no copy expects.
  static_cast<void>(::mmap(ended.data(), ended.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, empty, 0));
  ::close(empty);
}

}  // namespace platform
QIO_END_NAMESPACE
