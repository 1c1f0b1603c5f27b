// SPDX-License-Identifier: BSL-1.0
// The system's errors.
#pragma once

#include <qio/result.hpp>

#include <cerrno>
#include <system_error>

namespace qio::platform {

/// Of the codes that the system answers with.
inline const std::error_category& system_category() noexcept { return std::system_category(); }

/// What a transfer meets that the file was not opened for.
inline constexpr std::errc not_opened_for = std::errc::bad_file_descriptor;

/// What the system calls a condition.
inline int system_code(std::errc condition) noexcept { return static_cast<int>(condition); }

inline error system_error(int code) noexcept { return error(std::error_code(code, system_category())); }
inline error last_error() noexcept { return system_error(errno); }

}  // namespace qio::platform
