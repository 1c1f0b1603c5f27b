// SPDX-License-Identifier: BSL-1.0
// Conversions between result<T> and std::expected<T, error>. This header is empty where the standard library has no
// std::expected (`__cpp_lib_expected`, C++23).
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>

#if defined(__cpp_lib_expected)
#include <expected>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

/// The value or the error of a result, moved out of it if it is an rvalue. The error keeps its numbers and its message.
///
///     const auto bytes = qio::to_expected(file.read_at(0, block)).or_else(try_again);
template <class T>
std::expected<T, error> to_expected(result<T>&& from) {
  if (!from) return std::unexpected(from.assume_error());
  if constexpr (std::is_void_v<T>)
    return {};
  else
    return std::move(from).assume_value();
}
/// A copy of the value or of the error of a result.
template <class T>
std::expected<T, error> to_expected(const result<T>& from) {
  return to_expected(result<T>(from));
}

/// The opposite: for a function that returns a result<T>, and has a std::expected.
template <class T>
result<T> to_result(std::expected<T, error> from) {
  if (!from) return std::move(from).error();
  if constexpr (std::is_void_v<T>)
    return success();
  else
    return success(*std::move(from));
}

QIO_END_NAMESPACE
#endif
