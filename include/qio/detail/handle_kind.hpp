// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace qio::detail {

/// What a handle has to be from the moment it is opened, where it cannot be made so later.
struct handle_kind {
  bool direct = false;
  bool asynchronous = false;    ///< for an engine
  bool writes_durably = false;  ///< a write is over when it is durable
};

}  // namespace qio::detail
