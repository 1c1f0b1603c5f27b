// SPDX-License-Identifier: BSL-1.0
// The loops that are timed: one transfer after the other, at queue depth 1.
#pragma once

#include "offsets.hpp"
#include "recorder.hpp"
#include "report.hpp"
#include <qio/qio.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace qd1 {

/// Makes what is written different each time, as it matters to devices that store equal blocks once.
inline void stamp(std::span<std::byte> block, std::uint64_t number) noexcept {
  std::memcpy(block.data(), &number, std::min(sizeof number, block.size()));
}

template <class Transfer>
void repeat(recorder& recorder, const clock& clock, const offset_source& next_offset, Transfer&& transfer) {
  while (recorder.wants_more()) {
    const std::uint64_t offset = next_offset();
    const std::uint64_t begin = clock.before();
    const qio::result<std::size_t> answer = transfer(offset);
    const std::uint64_t end = clock.after();
    recorder.record(offset, begin, end, answer);
  }
}

/// Blocking reads or writes of `buffer`, until the recorder has enough.
template <class File>
void transfer_blocking(File& file, operation what, const clock& clock, const offset_source& next_offset,
                       std::span<std::byte> buffer, recorder& recorder) {
  if (what == operation::read)
    return repeat(recorder, clock, next_offset, [&](std::uint64_t offset) { return file.read_at(offset, buffer); });
  std::uint64_t number = 0;
  const offset_source stamped = [&] {
    stamp(buffer, ++number);
    return next_offset();
  };
  repeat(recorder, clock, stamped, [&](std::uint64_t offset) { return file.write_at(offset, buffer); });
}

template <class File>
qio::task<void> read_asynchronously(File& file, const clock& clock, const offset_source& next_offset,
                                    std::span<std::byte> buffer, recorder& recorder) {
  while (recorder.wants_more()) {
    const std::uint64_t offset = next_offset();
    const std::uint64_t begin = clock.before();
    const qio::result<std::size_t> answer = co_await file.async_read_at(offset, buffer);
    const std::uint64_t end = clock.after();
    recorder.record(offset, begin, end, answer);
  }
}

template <class File>
qio::task<void> write_asynchronously(File& file, const clock& clock, const offset_source& next_offset,
                                     std::span<std::byte> buffer, recorder& recorder) {
  for (std::uint64_t number = 1; recorder.wants_more(); ++number) {
    stamp(buffer, number);
    const std::uint64_t offset = next_offset();
    const std::uint64_t begin = clock.before();
    const qio::result<std::size_t> answer = co_await file.async_write_at(offset, buffer);
    const std::uint64_t end = clock.after();
    recorder.record(offset, begin, end, answer);
  }
}

/// The same, awaited in a coroutine on the file's context.
template <class Context, class File>
void transfer_asynchronously(Context& context, File& file, operation what, const clock& clock,
                             const offset_source& next_offset, std::span<std::byte> buffer, recorder& recorder) {
  if (what == operation::read)
    context.run(read_asynchronously(file, clock, next_offset, buffer, recorder));
  else
    context.run(write_asynchronously(file, clock, next_offset, buffer, recorder));
}

}  // namespace qd1
