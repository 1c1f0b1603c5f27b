// SPDX-License-Identifier: BSL-1.0
// The part of an operation that an engine works on.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/request/file_activity.hpp>
#include <qio/request/opcode.hpp>
#include <qio/request/sync_epochs.hpp>
#include <qio/request/transfer.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION {
namespace detail {

/// What carries out a request that the engine over io_uring holds, if its ring supports the operation.
enum class uring_place : std::uint8_t { ring, polled_ring, workers };

}  // namespace detail

/// One operation as an engine sees it. It is a base of the operation object in the caller's frame, so the engine
/// neither allocates nor frees it. It must not move from submit() until it is in the list of completed requests.
/// Members without an initial value are set before they are read.
struct request : detail::list_hook {
  request() noexcept = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  ~request() { QIO_CHECK(!is_held(), "an operation was destroyed while the system used its memory"); }

  // The work to do. Set before submit().
  opcode op = opcode::read;
  sync_kind sync = sync_kind::everything;
  platform::native_handle handle = platform::invalid_handle;
  platform::transfer_flags flags = 0;       ///< of a read or a write
  std::uint32_t block = 1;                  ///< what the offset of a direct read is a multiple of; 1 if not direct
  detail::transfer io;                      ///< of a read, a write or a writeback: where, and how much of it is done
  result<void> (*call)(request&) noexcept;  ///< of opcode::call only
  void* argument;                           ///< of opcode::call only, for that function
  file_activity* activity = nullptr;
  bool needs_no_engine =
      false;  ///< complete without an engine: empty, refused with the reason in `failure`, or served inline

  // The result. For a read or a write, io.transferred() is part of it.
  error failure;  ///< does not exist() if it succeeded

  // For the engine, from submit() to completion.
  request* next;
  request* previous;
  bool queued = false;  ///< in a queue of the engine
  detail::uring_place place = detail::uring_place::ring;
  struct {
    std::uint32_t end_of_all;  ///< when it is no longer held back
    detail::sync_epochs::epoch epoch;
    bool is_held_back;
    bool has_overlapped_failure;
  } sync_state;  ///< if overlaps_syncs()
  QIO_NO_UNIQUE_ADDRESS platform::request_state system;
  QIO_NO_UNIQUE_ADDRESS detail::checked_flag submitted;
  std::atomic<bool> cancel_requested = false;  ///< atomic: workers read it between two pieces

  /// The context calls it on its thread when the request is complete.
  void (*completed)(request&) noexcept;

  /// Between submit() and the list of completed requests.
  bool is_held() const noexcept { return is_linked(); }
  bool failed() const noexcept { return failure.exists(); }
  /// Whether it is a write that is complete when it is durable.
  bool is_durable_write() const noexcept {
    return op == opcode::write && ((flags & platform::durable) != 0 || activity->writes_durably);
  }

  /// Whether the error of another sync of the file may be its own, or the other way around: see sync_failure.
  bool overlaps_syncs() const noexcept {
    return op == opcode::sync || (is_durable_write() && activity->writes_to_cache);
  }
  /// Whether the system has completed it, but it waits for others.
  bool is_held_back() const noexcept { return overlaps_syncs() && is_held() && sync_state.is_held_back; }

  void fail_as_canceled() noexcept {
    failure = error::of_transfer(std::make_error_code(std::errc::operation_canceled), io.transferred());
  }
};

/// Completed requests, in the order in which the engine found them.
using completed_requests = detail::queue<request>;

}  // namespace qio::inline QIO_CONFIGURATION
