// SPDX-License-Identifier: BSL-1.0
// What the system and its engine keep in a request, and in what the requests of a file have in common.
#pragma once

namespace qio::platform {

struct request_state {};
struct activity_state {
  static constexpr int no_slot = -64;

  /// In the ring's own table of files. Negative: none, and how many operations are left until the file has shown to be
  /// busy.
  int slot = no_slot;
};

}  // namespace qio::platform
