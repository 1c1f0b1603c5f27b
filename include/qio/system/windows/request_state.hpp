// SPDX-License-Identifier: BSL-1.0
// The state that the system and its engine keep per request, and per file for all its requests.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/calls.hpp>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION {
struct request;
}

namespace qio::inline QIO_CONFIGURATION::platform {

/// The system uses the OVERLAPPED from the start of a transfer to its completion, which returns it.
struct request_state : OVERLAPPED {
  request* owner = nullptr;
  bool by_worker = false;
};

struct activity_state {
  std::uint64_t known_end = 0;  ///< size of the file when last checked, in bytes; it is rarely shorter now
  // For the twin:
  bool may_have_slot = true;
  bool waits_in_submission = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::platform
