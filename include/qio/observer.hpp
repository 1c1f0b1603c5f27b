// SPDX-License-Identifier: BSL-1.0
// What a context tells about the operations that have ended: for who derives from operation_observer. An opt-in header.
#pragma once

#include <qio/configuration.hpp>
#include <qio/request/observer.hpp>
#include <qio/request/request.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

QIO_BEGIN_NAMESPACE

/// What an operation was.
enum class operation_kind : std::uint8_t {
  read,
  write,
  durable_write,  ///< by its options, or those of the file
  sync,
  writeback,  ///< start_writeback()
  call,       ///< a call on a worker thread: to open, close or resize a file, to change names, or of async_call()
};
inline constexpr std::size_t operation_kinds = 6;  ///< how many there are
inline constexpr std::size_t operation_paths = 3;  ///< how many values operation_path has

/// "read", "durable_write" ...
constexpr std::string_view name_of(operation_kind kind) noexcept {
  constexpr std::string_view names[operation_kinds] = {"read", "write", "durable_write", "sync", "writeback", "call"};
  return names[static_cast<std::size_t>(kind)];
}
/// "inline", "ring" or "worker".
constexpr std::string_view name_of(operation_path path) noexcept {
  constexpr std::string_view names[operation_paths] = {"inline", "ring", "worker"};
  return names[static_cast<std::size_t>(path)];
}

inline operation_kind ended_operation::kind() const noexcept {
  if (request_.op == opcode::read) return operation_kind::read;
  if (request_.op == opcode::write)
    return request_.is_durable_write() ? operation_kind::durable_write : operation_kind::write;
  return request_.op == opcode::sync        ? operation_kind::sync
         : request_.op == opcode::writeback ? operation_kind::writeback
                                            : operation_kind::call;
}

inline bool ended_operation::moves() const noexcept {
  return request_.op != opcode::sync && request_.op != opcode::call;
}
inline std::uint64_t ended_operation::offset() const noexcept { return moves() ? request_.io.offset() : 0; }
inline std::size_t ended_operation::bytes() const noexcept { return moves() ? request_.io.total() : 0; }
inline std::size_t ended_operation::transferred() const noexcept { return moves() ? request_.io.transferred() : 0; }
inline bool ended_operation::is_of(const io_class& asked) const noexcept {
  const std::uint8_t own = request_.class_number;
  return asked.number() == (own != io_class::none ? own : request_.activity->class_number);
}
inline std::string_view ended_operation::file() const noexcept { return request_.activity->path; }

QIO_END_NAMESPACE
