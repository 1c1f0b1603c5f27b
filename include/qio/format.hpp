// SPDX-License-Identifier: BSL-1.0
// Formatters for fmt. A separate header, so that only programs that use fmt need fmt.
#pragma once

#include <qio/explanation.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>

#include <fmt/format.h>

#include <string>
#include <type_traits>

/// The message of an error, with its category and code.
template <>
struct fmt::formatter<qio::error> : fmt::formatter<std::string> {
  /// For fmt.
  template <class Context>
  auto format(const qio::error& one, Context& ctx) const {
    const std::error_code code = one.code();
    return fmt::formatter<std::string>::format(
        fmt::format("{} [{} {}]", one.message(), code.category().name(), code.value()), ctx);
  }
};

/// One line per fact.
template <>
struct fmt::formatter<qio::explanation> : fmt::formatter<std::string> {
  /// For fmt.
  template <class Context>
  auto format(const qio::explanation& facts, Context& ctx) const {
    return fmt::formatter<std::string>::format(facts.text(), ctx);
  }
};

/// "memory 512, read 512, write 4096": bytes.
template <>
struct fmt::formatter<qio::alignment> : fmt::formatter<std::string> {
  /// For fmt.
  template <class Context>
  auto format(const qio::alignment& needed, Context& ctx) const {
    return fmt::formatter<std::string>::format(
        fmt::format("memory {}, read {}, write {}", needed.memory, needed.read, needed.write), ctx);
  }
};

/// The value of a result, or "error: " and the error.
template <class T>
  requires(!std::is_void_v<T>)
struct fmt::formatter<qio::result<T>> : fmt::formatter<std::string> {
  /// For fmt.
  template <class Context>
  auto format(const qio::result<T>& answer, Context& ctx) const {
    const std::string text =
        answer ? fmt::format("{}", answer.assume_value()) : fmt::format("error: {}", answer.assume_error());
    return fmt::formatter<std::string>::format(text, ctx);
  }
};
