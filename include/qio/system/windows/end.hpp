// SPDX-License-Identifier: BSL-1.0
// Closing a file for all threads that use its handle or its mappings: impossible here.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/mapping.hpp>

QIO_BEGIN_NAMESPACE
namespace platform {

/// The result of close_and_keep_number().
struct closed_handle {
  bool has_ended = false;  ///< whether the handle refers to nothing now
  error failure;           ///< if it has ended, that of closing the file
};

/// A handle of Windows cannot be exchanged while threads use it.
inline closed_handle close_and_keep_number(native_handle) noexcept { return {false, error(errc::cannot_be_shared)}; }

/// Files with mappings are not shared here: see close_and_keep_number().
class empty_file {
 public:
  static error open() noexcept { return {}; }
  static error replace(mapping&) noexcept { return {}; }
};

}  // namespace platform
QIO_END_NAMESPACE
