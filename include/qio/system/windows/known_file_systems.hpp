// SPDX-License-Identifier: BSL-1.0
// File systems that a context has opened files on: on Windows none is remembered, because no open or close is attempted
// inline.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/page_cache.hpp>

namespace qio::inline QIO_CONFIGURATION::platform {

class known_file_systems {
 public:
  static void remember(const file_storage&) noexcept {}
  static const file_storage* find(const file_place&) noexcept { return nullptr; }
};

}  // namespace qio::inline QIO_CONFIGURATION::platform
