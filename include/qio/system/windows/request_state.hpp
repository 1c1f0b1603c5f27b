// SPDX-License-Identifier: BSL-1.0
// The state that the system and its engine keep per request, and per file for all its requests.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/transfer.hpp>

#include <atomic>
#include <cstdint>

QIO_BEGIN_NAMESPACE
struct request;
QIO_END_NAMESPACE

QIO_BEGIN_NAMESPACE
namespace platform {

/// The system uses the OVERLAPPED from the start of a transfer to its completion, which returns it.
struct request_state : OVERLAPPED {
  request* owner = nullptr;
  bool by_worker = false;
  bool is_repeated = false;  ///< a read, because the file may have grown: see failed_read()
};

struct activity_state {
  /// Writes that end here or before are carried out asynchronously: the valid data reached this far when it was last
  /// known, in bytes. 0 if that is unknown. Workers raise it.
  std::atomic<std::uint64_t> valid_end = 0;
  std::atomic<bool> was_asked = false;              ///< the file system was asked how far the valid data reaches
  static void leave_reads_to_threads() noexcept {}  // matters to the twin
  template <class Storage>
  static void note_storage(const Storage&) noexcept {}  // the same
  bool waits_in_submission = false;  ///< transfers are synchronous, whatever the handle: see file_storage
  bool may_have_slot = true;         // for the twin
  transfer_flags each_write = 0;     ///< flags of each write, besides its own

  /// For a handle that does not make its writes durable by itself.
  void flush_each_write() noexcept { each_write = durable; }

  /// The valid data reaches `end`, at least.
  void raise(std::uint64_t end) noexcept {
    std::uint64_t known = valid_end.load(std::memory_order_relaxed);
    while (known < end && !valid_end.compare_exchange_weak(known, end, std::memory_order_relaxed)) {}
  }
  /// The file has been resized to `bytes`.
  void note_size(std::uint64_t bytes) noexcept {
    std::uint64_t known = valid_end.load(std::memory_order_relaxed);
    while (known > bytes && !valid_end.compare_exchange_weak(known, bytes, std::memory_order_relaxed)) {}
  }
};

}  // namespace platform
QIO_END_NAMESPACE
