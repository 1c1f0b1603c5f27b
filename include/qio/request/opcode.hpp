// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION {

enum class opcode : std::uint8_t {
  read,
  write,
  sync,
  writeback,  ///< the system begins to write back a range: request::io is the range, and moves nothing
  call,       ///< request::call, on a worker thread: for operations without an asynchronous form (opening, resizing,
              ///< closing)
};

}  // namespace qio::inline QIO_CONFIGURATION
