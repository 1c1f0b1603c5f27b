// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

namespace qio::inline QIO_CONFIGURATION::detail {

/// The properties that a handle must have when it is opened, on systems where they cannot be set later.
struct handle_kind {
  bool direct = false;
  bool asynchronous = false;    ///< for use by an engine
  bool writes_durably = false;  ///< a write completes only when it is durable
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
