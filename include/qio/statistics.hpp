// SPDX-License-Identifier: BSL-1.0
// The results of file.statistics(), context.waits() and bounce_pool::statistics().
#pragma once

#include <qio/configuration.hpp>

#include <cstdint>

QIO_BEGIN_NAMESPACE

/// How many operations of a file were served on each path.
struct file_statistics {
  std::uint64_t served_inline = 0;     ///< immediately, on the context's thread
  std::uint64_t served_by_ring = 0;    ///< by io_uring, through a completion port, or simulated
  std::uint64_t polled = 0;            ///< of those by io_uring: completed by polling the device
  std::uint64_t served_by_worker = 0;  ///< by a blocking call on a worker thread
  std::uint64_t bounced = 0;           ///< reads and writes that went through a bounce_pool: see bounced()
  /// Inline operations that made the context's thread wait: see open_options::inline_reads. Opens, closes, and writes
  /// known to need no page read count from 200 us on, others from 20 us plus twice the time of the copy on.
  std::uint64_t blocked_submissions = 0;
};

/// What went through a bounce_pool so far. See bounce_pool::statistics().
struct bounce_statistics {
  std::uint64_t requests = 0;     ///< reads and writes that went through the pool, each counted once
  std::uint64_t transfers = 0;    ///< transfers made for them: fewer than requests where reads were merged
  std::uint64_t transferred = 0;  ///< bytes that these transfers moved between the file and the pool
  std::uint64_t copied = 0;       ///< bytes that were copied between the pool and the callers' buffers
  std::uint64_t waits = 0;        ///< how often an operation had to wait for a slot
};

/// How a context waited for its operations. Each member is a number of waits.
struct wait_statistics {
  std::uint64_t asleep = 0;         ///< in the kernel, from the start
  std::uint64_t awake = 0;          ///< watching the ring, until something completed
  std::uint64_t awake_in_vain = 0;  ///< watching the ring until the limit (0.2 ms) or the next deadline, then asleep
};

QIO_END_NAMESPACE
