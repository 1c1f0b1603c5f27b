// SPDX-License-Identifier: BSL-1.0
// The state that the system and its engine keep per request, and per file for all its requests.
#pragma once

#include <qio/configuration.hpp>

#include <atomic>
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
  bool aio_reads = true;          ///< Linux AIO reads a direct file without waiting, as far as is known
  bool aio_writes = false;        ///< ... and writes within it: see file_storage::writes_directly_at_once()
  bool is_open_to_others = true;  ///< see file_storage
  /// The size of a direct file when it was last asked for, in bytes. A resize on a worker may lower it.
  std::atomic<std::uint64_t> known_size = 0;
  static constexpr int each_write = 0;  ///< flags of each write, besides its own: none, for the twin

  void leave_reads_to_threads() noexcept { longest_in_ring = 0; }
  /// Where the file's data is.
  template <class Storage>
  void note_storage(const Storage& of) noexcept {
    aio_writes = of.writes_directly_at_once();
    is_open_to_others = of.is_open_to_others();
  }
  /// The file has been resized to `bytes`.
  void note_size(std::uint64_t bytes) noexcept {
    std::uint64_t known = known_size.load(std::memory_order_relaxed);
    while (known > bytes && !known_size.compare_exchange_weak(known, bytes, std::memory_order_relaxed)) {}
  }
  static void flush_each_write() noexcept {}  // matters to the twin
};

}  // namespace platform
QIO_END_NAMESPACE
