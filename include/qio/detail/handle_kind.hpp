// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace qio::detail {

/// What a handle has to be from the moment it is opened, on systems where it cannot be made so later (Windows).
struct handle_kind {
  bool direct = false;
  bool asynchronous = false;  ///< for an engine
};

}  // namespace qio::detail
