// SPDX-License-Identifier: BSL-1.0
// What file.statistics() and context.waits() answer.
#pragma once

#include <cstdint>

namespace qio {

/// How many operations of a file were served by which path.
struct file_statistics {
  std::uint64_t served_inline = 0;     ///< at once, on the context's thread
  std::uint64_t served_by_ring = 0;    ///< by io_uring, through a completion port, or simulated
  std::uint64_t polled = 0;            ///< of those by io_uring: waited for by asking the device
  std::uint64_t served_by_worker = 0;  ///< by a blocking call on a worker thread
  /// Writes on the context's thread for which it had to wait, each more than 200 µs: see open_options::inline_writes.
  std::uint64_t blocked_submissions = 0;
};

/// How a context has waited for its operations, in numbers of waits.
struct wait_statistics {
  std::uint64_t asleep = 0;         ///< in the kernel, from the beginning
  std::uint64_t awake = 0;          ///< watching the ring, until something came
  std::uint64_t awake_in_vain = 0;  ///< watching until the bound (0.2 ms) or the next deadline, and then asleep
  std::uint64_t naps = 0;           ///< of those awake: the ones that began by sleeping for a part of what was expected
};

}  // namespace qio
