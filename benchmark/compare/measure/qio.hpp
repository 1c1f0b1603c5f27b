// SPDX-License-Identifier: BSL-1.0
// What a program does that uses qio: coroutines that read or write one block after the other, and an operation whose
// callback starts the next one.
#pragma once

#include "measure/competitor.hpp"
#include <qio/qio.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace compare {

/// Ends the program where `answer` is that there is no direct I/O here.
template <class File>
File direct_or_none(qio::result<File> answer) {
  if (!answer) cannot_be_had("direct I/O", answer.error().message().c_str());
  return std::move(answer).value();
}

/// A context over this engine. Ends the program where there is none.
inline qio::context context_over(qio::engine_kind engine) {
  auto made = qio::context::create({.engine = engine});
  if (!made) cannot_be_had("the engine", made.error().message().c_str());
  return std::move(made).value();
}

/// `Buffer`: qio::aligned_buffer, or a span of bytes.
template <class File, class Buffer>
qio::task<> read_in_turn(File& file, Buffer& buffer, round& round) {
  while (round.has_next()) {
    const std::uint64_t offset = round.next_read();
    const auto bytes = co_await file.async_read_at(offset, buffer);
    round.finished_read(offset, static_cast<std::int64_t>(bytes.value()), buffer.data());
  }
}

template <class File>
qio::task<> write_in_turn(File& file, qio::aligned_buffer& buffer, round& round) {
  while (round.has_next()) {
    const std::uint64_t offset = round.next_write(buffer.data());
    const auto bytes = co_await file.async_write_at(offset, buffer);
    round.finished_write(offset, static_cast<std::int64_t>(bytes.value()), buffer.data());
  }
}

/// A read whose callback starts the next one.
template <class File>
class reader {
 public:
  reader(File& file, qio::aligned_buffer& buffer) : file_(file), buffer_(buffer) {}

  void read_next(round& round) {
    if (!round.has_next()) return;
    const std::uint64_t offset = round.next_read();
    operation_.emplace([&] { return file_.async_read_at(offset, buffer_); });
    operation_->start([this, &round, offset](qio::result<std::size_t> bytes) {
      round.finished_read(offset, static_cast<std::int64_t>(bytes.value()), buffer_.data());
      read_next(round);
    });
  }

 private:
  File& file_;
  qio::aligned_buffer& buffer_;
  qio::operation_slot<qio::operation<typename File::engine_type, std::size_t>> operation_;
};

/// A block of memory for each of the operations in flight.
inline std::vector<qio::aligned_buffer> buffers_for(std::size_t count) {
  std::vector<qio::aligned_buffer> buffers;
  for (std::size_t index = 0; index < count; ++index) buffers.push_back(qio::aligned_buffer::allocate(block).value());
  return buffers;
}

/// The same of the context's registered memory.
inline std::vector<std::span<std::byte>> registered_buffers(qio::context& context) {
  const std::span<std::byte> memory = context.registered_memory();
  const qio::explanation facts = context.explain();
  if (const qio::fact& told = *facts.find("registered memory"); told.value == "off")
    cannot_be_had("registered memory", told.reason.c_str());
  std::vector<std::span<std::byte>> buffers;
  for (std::size_t offset = 0; offset < memory.size(); offset += block)
    buffers.push_back(memory.subspan(offset, block));
  return buffers;
}

/// A request for each buffer.
template <class Buffer>
std::vector<qio::read_request> requests_for(std::vector<Buffer>& buffers) {
  std::vector<qio::read_request> batch;
  for (Buffer& buffer : buffers) batch.push_back({.buffer = buffer});
  return batch;
}

/// The requests of the next batch, and where they read.
inline std::span<qio::read_request> next_requests(std::span<qio::read_request> batch, round& round) {
  std::size_t count = 0;
  for (; count < batch.size() && round.has_next(); ++count) batch[count].offset = round.next_read();
  return batch.first(count);
}
inline void finished_requests(std::span<qio::read_request> batch, round& round) {
  for (const qio::read_request& each : batch)
    round.finished_read(each.offset, static_cast<std::int64_t>(each.answer.value()), each.buffer.data());
}

/// One batch after the other.
template <class File>
qio::task<> read_in_batches(File& file, std::span<qio::read_request> batch, round& round) {
  while (round.has_next()) {
    const auto some = next_requests(batch, round);
    const auto failures = co_await file.async_read_many(some);
    if (failures.value() != 0) fail("batch", "a read has failed");
    finished_requests(some, round);
  }
}

/// One coroutine for each buffer, until the round ends.
template <class File, class Buffer>
void read_in_parallel(qio::context& context, File& file, std::vector<Buffer>& buffers, round& round) {
  std::vector<qio::task<>> readers;
  for (Buffer& buffer : buffers) readers.push_back(read_in_turn(file, buffer, round));
  context.run(qio::when_all(std::move(readers)));
}

}  // namespace compare
