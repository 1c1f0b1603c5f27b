// SPDX-License-Identifier: BSL-1.0
// The properties of a simulated disk, and how often it fails.
#pragma once

#include <qio/configuration.hpp>

#include <chrono>
#include <cstdint>

QIO_BEGIN_NAMESPACE

/// Options of a simulated_disk. Probabilities range from 0 (never) to 1 (always). Switching a fault off leaves the rest
/// of a seed's history as it is.
struct simulation_options {
  std::uint64_t seed = 1;  ///< decides everything that happens; the same seed repeats it

  std::uint32_t sector = 512;  ///< bytes, a power of two: written whole or not at all; the alignment of direct files
  std::uint64_t capacity = std::uint64_t(1) << 40;  ///< bytes of all files, in pages of 4096; then ENOSPC

  std::uint32_t largest_untorn = 0;  ///< bytes of the largest untorn write (write_options::untorn); 0: there are none

  /// How long the system call of an open, a transfer or a sync takes: chosen uniformly between `shortest` and
  /// `longest`, so operations overtake each other. If `longest` is less than `shortest`, every call takes `shortest`.
  std::chrono::nanoseconds shortest = std::chrono::microseconds(10);
  std::chrono::nanoseconds longest = std::chrono::microseconds(200);  ///< see `shortest`

  // Programs should not notice these, because the library continues by itself.
  double short_transfers = 0;  ///< a system call moves part of the bytes
  double interruptions = 0;    ///< a system call is interrupted (EINTR) and moves nothing

  // These are reported to the program.
  double refusals = 0;     ///< a system call of a transfer fails with EAGAIN; the program may retry the rest
  double read_errors = 0;  ///< a sector goes bad when it is read: EIO until it is written
  /// A write fails with EIO; part of it may have been written. So does a change of the space of a file; part of what
  /// discard() or zero() has to do may be done.
  double write_errors = 0;
  /// A sync fails with EIO. As on Linux, its data then no longer counts as unwritten: part of it never reaches the
  /// disk, even if later syncs succeed.
  double sync_errors = 0;

  // These are not reported.
  double misdirected_writes = 0;  ///< a write goes to another place in the same file
};

QIO_END_NAMESPACE
