// SPDX-License-Identifier: BSL-1.0
// A handle that the program has opened itself, and gives to a file: not supported here.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/handle_kind.hpp>
#include <qio/system/windows/open.hpp>

namespace qio::inline QIO_CONFIGURATION::platform {

/// CreateIoCompletionPort binds a handle to one port, until it is closed.
inline constexpr bool binds_handles = true;

/// Win32 reports neither a handle's access nor its flags.
inline result<detail::adopted_handle<opening>> adopt(native_handle, detail::handle_kind) noexcept {
  return error(errc::adopt_not_supported);
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
