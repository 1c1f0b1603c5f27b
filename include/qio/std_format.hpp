// SPDX-License-Identifier: BSL-1.0
// Formatters for std::format, the same as those for fmt in qio/format.hpp. This header is empty where the standard
// library has no std::format (`__cpp_lib_format`).
#pragma once

#include <qio/configuration.hpp>
#include <qio/explanation.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>

#if defined(__cpp_lib_format)
#include <format>
#include <string>
#include <system_error>
#include <type_traits>

/// The message of an error, with its category and code.
template <>
struct std::formatter<qio::error> : std::formatter<std::string> {
  /// For std::format.
  template <class Context>
  auto format(const qio::error& one, Context& ctx) const {
    const std::error_code code = one.code();
    return std::formatter<std::string>::format(
        std::format("{} [{} {}]", one.message(), code.category().name(), code.value()), ctx);
  }
};

/// One line per fact.
template <>
struct std::formatter<qio::explanation> : std::formatter<std::string> {
  /// For std::format.
  template <class Context>
  auto format(const qio::explanation& facts, Context& ctx) const {
    return std::formatter<std::string>::format(facts.text(), ctx);
  }
};

/// "memory 512, read 512, write 4096": bytes.
template <>
struct std::formatter<qio::alignment> : std::formatter<std::string> {
  /// For std::format.
  template <class Context>
  auto format(const qio::alignment& needed, Context& ctx) const {
    return std::formatter<std::string>::format(
        std::format("memory {}, read {}, write {}", needed.memory, needed.read, needed.write), ctx);
  }
};

/// The value of a result, or "error: " and the error.
template <class T>
  requires(!std::is_void_v<T>)
struct std::formatter<qio::result<T>> : std::formatter<std::string> {
  /// For std::format.
  template <class Context>
  auto format(const qio::result<T>& answer, Context& ctx) const {
    const std::string text =
        answer ? std::format("{}", answer.assume_value()) : std::format("error: {}", answer.assume_error());
    return std::formatter<std::string>::format(text, ctx);
  }
};
#endif
