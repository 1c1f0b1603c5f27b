// SPDX-License-Identifier: BSL-1.0
// Threads and signals.
#pragma once

#include <qio/configuration.hpp>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Windows sends no signals to threads, so there is nothing to block.
struct signals_blocked {
  signals_blocked() noexcept {}
};

}  // namespace qio::inline QIO_CONFIGURATION::platform
