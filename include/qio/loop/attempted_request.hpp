// SPDX-License-Identifier: BSL-1.0
// A request that the loop may complete at once, before it asks an engine.
#pragma once

#include <qio/configuration.hpp>
#include <qio/loop/inline_turn.hpp>
#include <qio/request/request.hpp>

#include <cstddef>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Tries to carry out a request on the loop's thread. True if it is complete. `company` is not 0 if the engine has
/// other requests, or is about to get some.
using inline_attempt = bool (*)(request&, inline_turn& turn, std::size_t company) noexcept;

/// The base of every operation.
struct attempted_request : request {
  inline_attempt attempt = nullptr;  ///< null if it cannot be attempted

  /// The attempt of `r`, which belongs to an operation.
  static auto& of(request& r) noexcept { return static_cast<attempted_request&>(r).attempt; }
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
