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

/// What takes the place of mappings that end: access to it raises SIGBUS. Needs a descriptor while it exists.
class empty_file {
 public:
  /// A sandbox may forbid memfd_create(2).
  error open() noexcept {
    const without_fork none;
    const bool is_open = opened_.take(none, ::memfd_create("qio: closed", MFD_CLOEXEC)) ||
                         opened_.take(none, open_retrying("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    return is_open ? error() : last_error();
  }

  /// Replaces the mapping, without a moment at which nothing is there: the file is no longer kept open by it.
  error replace(mapping& ended) const noexcept {
    if (is_there(ended)) return {};
    // After mlockall(2), what replaces it counts as locked, too.
    if (::munlock(ended.data(), ended.size()) == 0 && is_there(ended)) return {};
    return last_error();
  }

 private:
  // For writing, too: a store to a mapping that is only readable would raise SIGSEGV, which no copy expects.
  bool is_there(mapping& ended) const noexcept {
    constexpr int access = PROT_READ | PROT_WRITE;
    return ::mmap(ended.data(), ended.size(), access, MAP_SHARED | MAP_FIXED, opened_.value(), 0) != MAP_FAILED;
  }

  private_descriptor opened_;
};

}  // namespace platform
QIO_END_NAMESPACE
