// SPDX-License-Identifier: BSL-1.0
// Errors of POSIX calls.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>

#include <cerrno>
#include <system_error>

namespace qio::inline QIO_CONFIGURATION::platform {

/// The category of the system's error codes.
inline const std::error_category& system_category() noexcept { return std::system_category(); }

/// The error of a transfer that the file was not opened for.
inline constexpr std::errc not_opened_for = std::errc::bad_file_descriptor;

/// The system's code for a condition.
inline int system_code(std::errc condition) noexcept { return static_cast<int>(condition); }

inline error system_error(int code) noexcept { return error(std::error_code(code, system_category())); }
inline error last_error() noexcept { return system_error(errno); }

}  // namespace qio::inline QIO_CONFIGURATION::platform
