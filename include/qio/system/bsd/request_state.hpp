// SPDX-License-Identifier: BSL-1.0
// The state that the system and its engine keep per request, and per file for all its requests.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/bsd/transfer.hpp>

#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

struct request_state {};
struct activity_state {
  bool may_have_slot = true;         // for the twin
  bool waits_in_submission = false;  // the same
  transfer_flags each_write = 0;     ///< flags of each write, besides its own

  static void leave_reads_to_threads() noexcept {}  // matters to the twin
  template <class Storage>
  static void note_storage(const Storage&) noexcept {}  // the same
  static void note_size(std::uint64_t) noexcept {}      // the same
  /// For a handle that does not make its writes durable by itself.
  void flush_each_write() noexcept { each_write = durable; }
};

}  // namespace platform
QIO_END_NAMESPACE
