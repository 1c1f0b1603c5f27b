// SPDX-License-Identifier: BSL-1.0
// What a program asks of the page cache. Windows has none of it for handles: see windows/views.hpp for mapped files.
#pragma once

#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/handle.hpp>

QIO_BEGIN_NAMESPACE
namespace platform {

/// The flags for that are given when a file is opened.
inline result<void> advise(native_handle, access_pattern) noexcept { return error(errc::advice_not_supported); }
inline result<void> prefetch(native_handle, const extent&) noexcept { return error(errc::prefetch_not_supported); }
inline result<void> forget(native_handle, const extent&) noexcept { return error(errc::forget_not_supported); }
inline result<residency> resident(native_handle, const extent&) noexcept {
  return error(errc::residency_not_supported);
}

}  // namespace platform
QIO_END_NAMESPACE
