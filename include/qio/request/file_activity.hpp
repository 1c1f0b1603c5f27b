// SPDX-License-Identifier: BSL-1.0
// The state that the operations of one file share.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/request/opcode.hpp>
#include <qio/request/sync_epochs.hpp>
#include <qio/request/sync_failure.hpp>
#include <qio/statistics.hpp>
#include <qio/system/platform.hpp>

#include <cstdint>
#include <string>

namespace qio::inline QIO_CONFIGURATION {

struct request;

/// The state that the operations of one file share. It belongs to the file. Only its context's thread touches it,
/// except for the failure of a sync. From the first operation on it is in a list of the loop.
struct file_activity : detail::list_hook {
  file_activity() noexcept = default;
  ~file_activity() {
    QIO_CHECK(in_flight == 0, "a file was destroyed while its requests were in flight");
    forget();
  }

  /// Leaves the loop's list.
  void forget() noexcept {
    if (is_linked()) unlink();
  }

  detail::list<request> held;   ///< requests that an engine holds, or is about to get
  std::uint32_t in_flight = 0;  ///< requests that an engine holds
  std::uint8_t polled = 0;      ///< a bit for each opcode to be polled; cleared by the engine if the device refuses
  bool writes_durably = false;  ///< every write is complete when it is durable
  bool is_direct = false;       ///< transfers go to the device
  bool writes_to_cache = true;  ///< so that a durable write may get, and take away, the error of another write
  access granted = access::read_write;  ///< what the file was opened for
  file_statistics statistics;
  detail::sync_failure sync_failure;
  detail::sync_epochs epochs;        ///< that an engine holds
  detail::queue<request> held_back;  ///< of these, those that have succeeded, but may overlap one that fails
  QIO_NO_UNIQUE_ADDRESS platform::activity_state system;
  QIO_NO_UNIQUE_ADDRESS detail::checked_count bounced_users;  ///< operations of bounced(), which refer to the file

  std::string path;  ///< that it was opened by, for messages; empty if the handle was adopted

  /// The error of an operation that the file was not opened for: it needs `wanted`, access::read or access::write.
  QIO_COLD error not_granted(access wanted) const noexcept {
    return error(errc::access_not_granted, static_cast<std::uint64_t>(granted), static_cast<std::uint64_t>(wanted))
        .naming(wanted == access::read ? "read" : "write", path.c_str());
  }
  /// The error of a sync, or of a durable write, after which data may be lost.
  QIO_COLD error of_sync(const error& failure, opcode op = opcode::sync) const noexcept {
    return failure.naming(op == opcode::write ? "write" : "sync", path.c_str());
  }

  bool may_read() const noexcept { return granted != access::write; }
  bool may_write() const noexcept { return granted != access::read; }

  bool is_polled(opcode op) const noexcept { return ((polled >> static_cast<unsigned>(op)) & 1) != 0; }
  void poll(opcode op) noexcept { polled |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(op)); }
};

}  // namespace qio::inline QIO_CONFIGURATION
