// SPDX-License-Identifier: BSL-1.0
// What a simulated disk is like, and how often it fails.
#pragma once

#include <chrono>
#include <cstdint>

namespace qio {

/// Of one simulated_disk. Probabilities are from 0, never, to 1, always; a fault that is switched off leaves what else
/// happens from a seed as it is.
struct simulation_options {
  std::uint64_t seed = 1;

  std::uint32_t sector =
      512;  ///< bytes, a power of two: what is written whole or not at all, and what a direct file is aligned to
  std::uint64_t capacity = std::uint64_t(1) << 40;  ///< bytes of all files, in pages of 4096; beyond: ENOSPC

  /// What one system call of a transfer takes, chosen evenly; so operations overtake each other. A `longest` that is
  /// less than `shortest` is taken for that.
  std::chrono::nanoseconds shortest = std::chrono::microseconds(10);
  std::chrono::nanoseconds longest = std::chrono::microseconds(200);

  // What no program should notice, since the library goes on by itself.
  double short_transfers = 0;  ///< a system call moves a part of what it was asked to
  double interruptions = 0;    ///< a system call is interrupted (EINTR) and moves nothing

  // What a program is told of.
  double refusals = 0;      ///< a system call of a transfer is refused for now (EAGAIN); the rest may be tried again
  double read_errors = 0;   ///< a sector that is read goes bad: EIO from then on, until it is written
  double write_errors = 0;  ///< a write answers EIO; a part of it may have been written
  /// A sync answers EIO. As on Linux, what it should have written is then no longer taken for unwritten: a part of it
  /// never reaches the disk, whatever later syncs answer.
  double sync_errors = 0;

  // What a program is not told of.
  double misdirected_writes = 0;  ///< a write goes to another place of the same file
};

}  // namespace qio
