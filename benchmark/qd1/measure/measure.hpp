// SPDX-License-Identifier: BSL-1.0
// The loops that are timed: one transfer after the other, at queue depth 1.
#pragma once

#include "measure/offsets.hpp"
#include "measure/recorder.hpp"
#include "measure/stamps.hpp"
#include "platform/file.hpp"
#include "report.hpp"
#include <qio/qio.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace qd1 {

/// What the transfers of one series have in common.
struct transfer_loop {
  const qd1::work& work;
  const qd1::clock& clock;
  const offset_source& next_offset;
  std::span<std::byte> buffer;
  qd1::stamps& stamps;

  /// Called before each transfer, outside of the time that is taken.
  void prepare() const noexcept {
    if (work.operation == operation::write) stamps.put_on(buffer);
  }
};

/// `transfer(offset)` again and again, until the recorder has enough.
template <class Transfer>
void repeat(const transfer_loop& loop, recorder& recorder, Transfer&& transfer) {
  while (recorder.wants_more()) {
    const std::uint64_t offset = loop.next_offset();
    loop.prepare();
    const auto begin = recorder.begin();
    if (!begin) break;
    const qio::result<std::size_t> answer = transfer(offset);
    const std::uint64_t end = loop.clock.after();
    recorder.record(offset, *begin, end, answer);
  }
}

template <class File>
qio::result<std::size_t> write_and_flush(File& file, std::uint64_t offset, std::span<const std::byte> buffer) {
  const qio::result<std::size_t> written = file.write_at(offset, buffer);
  if (!written) return written;
  if (const auto synced = file.sync(qio::sync_kind::data); !synced) return synced.error();
  return written;
}

template <class File>
void transfer_blocking(File& file, const transfer_loop& loop, recorder& recorder) {
  const auto buffer = loop.buffer;
  if (loop.work.operation == operation::read)
    return repeat(loop, recorder, [&](std::uint64_t offset) { return file.read_at(offset, buffer); });
  if (loop.work.durability == durability::flushed)
    return repeat(loop, recorder, [&](std::uint64_t offset) { return write_and_flush(file, offset, buffer); });
  repeat(loop, recorder, [&](std::uint64_t offset) { return file.write_at(offset, buffer); });
}

template <class File>
qio::task<qio::result<std::size_t>> write_and_flush_asynchronously(File& file, std::uint64_t offset,
                                                                   std::span<const std::byte> buffer) {
  const qio::result<std::size_t> written = co_await file.async_write_at(offset, buffer);
  if (!written) co_return written;
  const qio::result<void> synced = co_await file.async_sync(qio::sync_kind::data);
  if (!synced) co_return synced.error();
  co_return written;
}

/// The same as repeat(), for awaited results of `start(offset)`.
template <class Start>
qio::task<void> repeat_asynchronously(const transfer_loop& loop, recorder& recorder, Start start) {
  while (recorder.wants_more()) {
    const std::uint64_t offset = loop.next_offset();
    loop.prepare();
    const auto begin = recorder.begin();
    if (!begin) break;
    const qio::result<std::size_t> answer = co_await start(offset);
    const std::uint64_t end = loop.clock.after();
    recorder.record(offset, *begin, end, answer);
  }
}

template <class Context, class File>
void transfer_asynchronously(Context& context, File& file, const transfer_loop& loop, recorder& recorder) {
  const auto buffer = loop.buffer;
  const auto run = [&](auto start) { context.run(repeat_asynchronously(loop, recorder, start)); };
  if (loop.work.operation == operation::read)
    return run([&](std::uint64_t offset) { return file.async_read_at(offset, buffer); });
  if (loop.work.durability == durability::flushed)
    return run([&](std::uint64_t offset) { return write_and_flush_asynchronously(file, offset, buffer); });
  run([&](std::uint64_t offset) { return file.async_write_at(offset, buffer); });
}

/// Mean time of a read, in nanoseconds, of batches that are timed as one: for what takes not much longer than reading
/// the clock. Stops at the first read that fails, with no answer.
template <class File>
std::optional<double> read_in_batches(const File& file, const transfer_loop& loop, double seconds) {
  constexpr std::size_t batch = 64;
  std::array<std::uint64_t, batch> offsets;
  std::uint64_t ticks = 0;
  std::uint64_t reads = 0;
  while (loop.clock.seconds(ticks) < seconds && !interrupted()) {
    for (std::uint64_t& offset : offsets) offset = loop.next_offset();
    bool all_read = true;
    const std::uint64_t begin = loop.clock.before();
    for (const std::uint64_t offset : offsets) {
      const qio::result<std::size_t> answer = file.read_at(offset, loop.buffer);
      all_read = all_read && answer && answer.value() == loop.buffer.size();
    }
    ticks += loop.clock.after() - begin;
    reads += batch;
    if (!all_read) return std::nullopt;
  }
  if (reads == 0) return std::nullopt;
  return loop.clock.seconds(ticks) * 1e9 / static_cast<double>(reads);
}

}  // namespace qd1
