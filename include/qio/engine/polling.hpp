// SPDX-License-Identifier: BSL-1.0
// Which transfers of a file can be polled: see qio::polling.
#pragma once

#include <qio/configuration.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace qio::inline QIO_CONFIGURATION {

/// The largest polled transfer in bytes; it must have one buffer. Linux 6.1 restarts a polled transfer from its
/// beginning if it needs more of the device's requests than are free (large reads never ended there). A transfer of
/// this size needs one.
inline constexpr std::size_t most_polled_bytes = 64 * 1024;

/// Which transfers of a file can be polled.
struct polling_support {
  bool reads = false;
  bool writes = false;
  std::string reason;  ///< why not all of them
};

}  // namespace qio::inline QIO_CONFIGURATION
