// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace qio::platform {

/// Windows sends no signals to threads: there is nothing to block.
struct signals_blocked {
  signals_blocked() noexcept {}
};

}  // namespace qio::platform
