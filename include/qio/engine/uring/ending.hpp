// SPDX-License-Identifier: BSL-1.0
// Closes rings that can no longer be entered, and waits until the kernel is done with their requests.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/system/linux/ring.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Registers `descriptor` with `holder`, which keeps it open for as long as the ring exists: in place of a registered
/// file, or as the first one. False on failure.
inline bool keep_open(ring& holder, int descriptor) noexcept {
  io_uring_files_update change{};
  change.fds = reinterpret_cast<std::uintptr_t>(&descriptor);
  return holder.configure(IORING_REGISTER_FILES_UPDATE, &change, 1) == 1 ||
         holder.configure(IORING_REGISTER_FILES, &descriptor, 1) == 0;
}

/// Closes `rings`, and returns when the kernel is done with everything that was in flight in them, and no longer reads
/// or writes its memory. (The kernel cancels what it can, and waits for the rest.) Returns false, and closes nothing,
/// if there is no way to find that out.
///
/// To find out, it reads from a pipe whose only write end the rings hold. The kernel releases a ring's files after the
/// last request of that ring (io_ring_ctx_free() in io_uring/io_uring.c), and the reader then sees the end of the pipe.
/// A child process that has a ring's descriptor (after vfork or clone) keeps the ring, so this waits for that child,
/// too.
inline bool close_and_wait(std::initializer_list<ring*> rings) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  bool held = true;
  for (ring* const each : rings)
    if (each->is_open()) held = held && each->unregister_descriptor() && keep_open(*each, ends[1]);
  ::close(ends[1]);
  if (held) {
    for (ring* const each : rings) each->close();
    char nothing;
    while (::read(ends[0], &nothing, 1) < 0 && errno == EINTR) {}
  }
  ::close(ends[0]);
  return held;
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
