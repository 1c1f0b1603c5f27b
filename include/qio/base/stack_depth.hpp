// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

#include <cstdint>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace qio::inline QIO_CONFIGURATION::detail {

/// An address within the stack frame of the calling function. Not that of a local variable, which the address sanitizer
/// may keep elsewhere.
#if defined(_MSC_VER) && !defined(__clang__)
#define QIO_STACK_POSITION() reinterpret_cast<std::uintptr_t>(_AddressOfReturnAddress())
#else
#define QIO_STACK_POSITION() reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))
#endif

/// How many bytes of stack lie between an outer function and one that it calls, given their positions. Negative if the
/// second runs on another stack, at a higher address; all supported systems grow the stack downward.
inline std::intptr_t stack_between(std::uintptr_t outer, std::uintptr_t inner) noexcept {
  return static_cast<std::intptr_t>(outer - inner);
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
