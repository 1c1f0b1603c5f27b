// SPDX-License-Identifier: BSL-1.0
// Opening a file by a path that must not lead out of a directory: Win32 has no call that enforces this.
#pragma once

#include <qio/configuration.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/handle.hpp>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Opens a directory for paths to stay beneath. Always fails.
inline result<native_handle> open_directory(path_view) noexcept { return error(errc::beneath_not_supported); }

}  // namespace platform
QIO_END_NAMESPACE
