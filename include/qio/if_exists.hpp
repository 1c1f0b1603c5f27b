// SPDX-License-Identifier: BSL-1.0
// What becomes of a file whose name another one gets.
#pragma once

#include <qio/configuration.hpp>

#include <cstdint>

QIO_BEGIN_NAMESPACE

/// What rename() and give_name() do if something has the new name already.
enum class if_exists : std::uint8_t {
  fail,     ///< nothing is changed: std::errc::file_exists
  replace,  ///< a file is replaced atomically; the new name always exists. On Linux, also an empty directory by another
  exchange,  ///< the two swap their names, atomically; both must exist
};

QIO_END_NAMESPACE
