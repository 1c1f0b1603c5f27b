// SPDX-License-Identifier: BSL-1.0
// What the system and its engine keep in a request, and in what the requests of a file have in common.
#pragma once

#include <qio/detail/windows/calls.hpp>

#include <cstdint>

namespace qio {
struct request;
}

namespace qio::platform {

/// The system keeps the OVERLAPPED from the start of a transfer to its completion, which gives it back.
struct request_state : OVERLAPPED {
  request* owner = nullptr;
  bool by_worker = false;
};

struct activity_state {
  std::uint64_t known_end = 0;  ///< of the file: it was so long, and is hardly shorter
};

}  // namespace qio::platform
