// SPDX-License-Identifier: BSL-1.0
// The state that the system and its engine keep per request, and per file for all its requests.
#pragma once

#include <qio/configuration.hpp>

#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

struct request_state {};
struct activity_state {
  static constexpr int no_slot = -64;

  /// Index into the ring's table of registered files. If negative, the file is not registered, and -slot is the number
  /// of operations until it counts as busy.
  int slot = no_slot;
  bool may_have_slot = true;
  bool waits_in_submission = false;  ///< see file_storage
  /// Longer reads through the page cache go to a thread of the kernel: see cached_reads in engine/linux.hpp.
  std::uint32_t longest_in_ring = 128 * 1024 - 1;
  static constexpr int each_write = 0;  ///< flags of each write, besides its own: none, for the twin

  void leave_reads_to_threads() noexcept { longest_in_ring = 0; }
  static void note_size(std::uint64_t) noexcept {}  // matters to the twin
  static void flush_each_write() noexcept {}        // the same
};

}  // namespace platform
QIO_END_NAMESPACE
