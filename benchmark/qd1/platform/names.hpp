// SPDX-License-Identifier: BSL-1.0
// What things are called on this system.
#pragma once

#include <qio/options.hpp>

#include <span>
#include <string_view>

namespace qd1::platform {

/// What may carry out asynchronous operations.
struct engine {
  std::string_view option;  ///< as --engine takes it
  std::string_view name;    ///< as explain() of a context names it
  /// For context_options. The engine that a context prefers has `any`, so that explain() reports why another one
  /// serves.
  qio::engine_kind kind;
};

/// Those of this system, in the order in which a context prefers them.
extern const std::span<const engine> engines;

/// The one that --engine names; null if that is "auto", or an engine of another system.
inline const engine* engine_named(std::string_view option) {
  for (const engine& each : engines)
    if (each.option == option) return &each;
  return nullptr;
}

/// The system's clock.
extern const char* const system_clock;

/// The system's name for writing through, and those of its calls that take advice on the order of reads.
extern const char* const write_through;
extern const char* const advice_calls;

}  // namespace qd1::platform
