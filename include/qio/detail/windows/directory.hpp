// SPDX-License-Identifier: BSL-1.0
// Opening by a path that must not lead out of a directory: Win32 has no call that sees to it.
#pragma once

#include <qio/detail/windows/handle.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>

namespace qio::platform {

/// A directory for others to stay beneath.
inline result<native_handle> open_directory(path_view) noexcept { return error(errc::beneath_not_supported); }

}  // namespace qio::platform
