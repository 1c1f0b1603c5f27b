// SPDX-License-Identifier: BSL-1.0
// Threads and signals.
#pragma once

#include <qio/configuration.hpp>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Windows sends no signals to threads, so there is nothing to block.
struct signals_blocked {
  signals_blocked() noexcept {}
};

}  // namespace platform
QIO_END_NAMESPACE
