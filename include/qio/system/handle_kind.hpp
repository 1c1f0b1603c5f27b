// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>

namespace qio::inline QIO_CONFIGURATION::detail {

/// The properties that a handle must have when it is opened, on systems where they cannot be set later.
struct handle_kind {
  bool direct = false;
  bool asynchronous = false;    ///< for use by an engine
  bool writes_durably = false;  ///< a write completes only when it is durable
  access_pattern pattern = access_pattern::normal;
};

/// A handle that was opened elsewhere, and its properties.
template <class Opening>
struct adopted_handle {
  Opening opening;  ///< with nothing left to do; until it is committed, the handle belongs to the caller
  access granted;
  bool writes_durably;
  bool is_direct;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
