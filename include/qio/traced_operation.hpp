// SPDX-License-Identifier: BSL-1.0
// An operation in a recorded history. Included by qio/trace_recorder.hpp and qio/recorded_order.hpp.
#pragma once

#include <qio/configuration.hpp>
#include <qio/observer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

QIO_BEGIN_NAMESPACE

/// An operation in a trace: see ended_operation for what the members mean.
struct traced_operation {
  operation_kind kind{};                            ///< what it was
  operation_path path{};                            ///< what served it
  std::string file;                                 ///< its path
  std::uint64_t offset = 0;                         ///< of a transfer
  std::size_t bytes = 0;                            ///< that it was to move
  std::size_t transferred = 0;                      ///< that it has moved
  std::chrono::steady_clock::time_point started{};  ///< when
  std::chrono::nanoseconds took{};                  ///< from start to end
  std::chrono::nanoseconds queued{};                ///< of that, in qio's own queues
  std::error_code failure;                          ///< none if it succeeded
};

QIO_END_NAMESPACE
