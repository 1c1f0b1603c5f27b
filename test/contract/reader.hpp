// Reads that keep their results.
#pragma once

#include "world.hpp"

namespace contract {

/// A read with a callback.
template <class World>
class reader {
 public:
  using file = typename World::file;
  using operation = decltype(std::declval<file&>().async_read_at(0, std::declval<std::span<std::byte>>()));

  explicit reader(std::size_t bytes) : buffer(bytes) {}

  void start(file& from, std::uint64_t at) {
    offset = at;
    calls = 0;
    read.emplace([&] { return from.async_read_at(at, buffer.all()); }).start([this](qio::result<std::size_t> given) {
      ++calls;
      answer = given;
    });
  }

  /// Called back once, with all bytes.
  bool is_right() {
    return calls == 1 && answer && answer.value() == buffer.all().size() && holds_pattern(buffer.all(), offset);
  }

  /// Called back once, with the real result: all bytes, or an early end and the bytes transferred by then.
  bool is_real() {
    if (calls == 1 && answer) return is_right();
    if (calls != 1 || (answer.error() != std::errc::operation_canceled && answer.error() != std::errc::timed_out))
      return false;
    return holds_pattern(buffer.part(0, answer.error().transferred()), offset);
  }

  memory buffer;
  std::uint64_t offset = 0;
  int calls = 0;
  qio::result<std::size_t> answer = std::size_t(0);
  qio::operation_slot<operation> read;
};

/// The same with a deadline or a stop token.
template <class World>
class controlled_reader {
 public:
  using file = typename World::file;
  using operation = decltype(std::declval<file&>().async_read_at(0, std::declval<std::span<std::byte>>(),
                                                                 std::declval<const qio::operation_options&>()));

  explicit controlled_reader(std::size_t bytes) : buffer(bytes) {}

  void start(file& from, std::uint64_t at, const qio::operation_options& options) {
    offset = at;
    calls = 0;
    read.emplace([&] { return from.async_read_at(at, buffer.all(), options); })
        .start([this](qio::result<std::size_t> given) {
          ++calls;
          answer = given;
        });
  }

  bool is_right() {
    return calls == 1 && answer && answer.value() == buffer.all().size() && holds_pattern(buffer.all(), offset);
  }
  bool is_ended_by(std::errc why) {
    return calls == 1 && !answer && answer.error() == why && answer.error().code().category() != qio::qio_category() &&
           holds_pattern(buffer.part(0, answer.error().transferred()), offset);
  }

  memory buffer;
  std::uint64_t offset = 0;
  int calls = 0;
  qio::result<std::size_t> answer = std::size_t(0);
  qio::operation_slot<operation> read;
};

}  // namespace contract
