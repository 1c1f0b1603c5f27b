// SPDX-License-Identifier: BSL-1.0
// Batches: many reads, or many writes, of one file as one operation.
#pragma once

#include <qio/configuration.hpp>
#include <qio/loop/batch.hpp>
#include <qio/operation.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

QIO_BEGIN_NAMESPACE

namespace detail {

inline error not_answered() noexcept { return std::make_error_code(std::errc::operation_in_progress); }

}  // namespace detail

/// One read of a batch: see basic_file::read_many() and async_read_many(). The caller owns it and the memory that
/// `buffer` refers to. It contains the memory that the library needs for the transfer, so a batch allocates nothing.
///
///     std::vector<qio::read_request> batch;
///     for (Block& block : wanted) batch.push_back({.offset = block.offset, .buffer = block.bytes});
///     const auto failures = co_await file.async_read_many(batch);
struct read_request {
  std::uint64_t offset = 0;         ///< the byte of the file where the read begins
  std::span<std::byte> buffer = {}; /**< what it fills */
  /// What read_at() would return, stored when the batch ends: the number of bytes, fewer than buffer.size() only at the
  /// end of the file, or an error. Until the first batch ends, std::errc::operation_in_progress.
  result<std::size_t> answer = detail::not_answered();
  detail::batch_place place = {};  ///< for the library
};

/// One write of a batch: see basic_file::write_many() and async_write_many().
struct write_request {
  std::uint64_t offset = 0;               ///< the byte of the file where the write begins
  std::span<const std::byte> buffer = {}; /**< what it writes */
  /// What write_at() would return, stored when the batch ends: buffer.size(), or an error.
  result<std::size_t> answer = detail::not_answered();
  detail::batch_place place = {};  ///< for the library
};

/// The operation that async_read_many() and async_write_many() return, without a deadline or a stop token.
template <class Engine>
using batch_operation = operation<Engine, std::size_t, detail::no_control, detail::batch>;

QIO_END_NAMESPACE
