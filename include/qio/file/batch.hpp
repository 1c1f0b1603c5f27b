// SPDX-License-Identifier: BSL-1.0
// How the transfers of a batch are carried out: inline, by the engine together, or by blocking calls.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/batch.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/file/inline_attempt.hpp>
#include <qio/file/state.hpp>
#include <qio/loop/batch.hpp>
#include <qio/loop/loop.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <type_traits>

QIO_BEGIN_NAMESPACE
namespace detail {

/// From this many reads on, a ring serves pages that are in the page cache with less effort than one system call for
/// each of them: docs/batches.md has the figures.
inline constexpr std::size_t most_reads_one_by_one = 3;

/// Reads what is in the page cache, as attempt_read(), unless an engine that hands many reads over in one system call
/// does so faster. True if that completed the batch.
inline bool attempt_reads(request& r, inline_turn& turn, std::size_t in_flight) noexcept {
  auto& all = static_cast<batch&>(r);
  auto& file = *static_cast<inline_activity*>(r.activity);
  const bool is_for_ring = file.engine_gathers && (in_flight != 0 || all.unfinished() > most_reads_one_by_one);
  // A ring hands each read of a file system that does not tell hits to a worker. Which kind it is, the first one shows.
  if (file.attempt_of_reads == nullptr || (is_for_ring && file.has_told_hits)) return false;
  inline_turn::long_share share(turn);
  // Each read that is not at hand has been started, and fills the device's queue as one in flight does.
  std::size_t started = file.engine_gathers ? 0 : in_flight;
  all.for_each_unfinished([&](batch_part& part) {
    if (file.attempt_of_reads == nullptr || !share.begin_next()) return;
    if (is_for_ring && file.has_told_hits) return;
    if (file.attempt_of_reads(part, turn, started))
      all.finished(part);
    else if (!file.engine_gathers)
      ++started;
    file.has_told_hits = file.attempt_of_reads == &attempt_read || file.observed_reads == &attempt_read;
  });
  return all.unfinished() == 0;
}

/// Writes into the page cache, as attempt_write(). True if that completed the batch.
inline bool attempt_writes(request& r, inline_turn& turn, std::size_t) noexcept {
  auto& all = static_cast<batch&>(r);
  all.for_each_unfinished([&](batch_part& part) {
    if (part.attempt != nullptr && part.attempt(part, turn, 0)) all.finished(part);
  });
  return all.unfinished() == 0;
}

/// The error of two writes that overlap, with their places in the span; none if no two do. `all` has their parts.
inline error overlap_of(const file_activity& file, batch& all, std::span<write_request> requests) noexcept {
  const batch::two_parts found = all.find_overlap();
  if (found.first == nullptr) [[likely]]
    return {};
  std::uint64_t places[2] = {};
  for (std::size_t index = 0; index < requests.size(); ++index) {
    if (&requests[index].answer == found.first->answer) places[0] = index;
    if (&requests[index].answer == found.second->answer) places[1] = index;
  }
  const error overlap(errc::overlapping_writes, lesser_of(places[0], places[1]), greater_of(places[0], places[1]));
  return file.of_transfer(overlap, opcode::write);
}
inline error overlap_of(const file_activity& file, std::span<write_request> requests) noexcept {
  batch parts;
  parts.take(requests, [](batch_part& part, const write_request& each) {
    part.io = transfer(each.offset, mutable_buffer(nullptr, each.buffer.size()));
  });
  return overlap_of(file, parts, requests);
}

/// Refuses a batch as a whole: all answers are the same error, and so is the result.
template <class Request>
QIO_COLD error refuse_each(std::span<Request> requests, const error& why) noexcept {
  for (Request& each : requests) each.answer = why;
  return why;
}

template <class Request>
std::size_t count_failures(std::span<Request> requests) noexcept {
  std::size_t failures = 0;
  for (const Request& each : requests) failures += each.answer.has_value() ? 0u : 1u;
  return failures;
}

// --- blocking ---

/// Reads `each` if it is in the page cache. If not, the kernel has asked the device for it, and its answer is
/// resource_unavailable_try_again. Returns the system's result.
template <class Mode, class System>
raw_result read_if_cached(const file_state<Mode, System>& state, read_request& each) noexcept {
  const mutable_buffer buffer(each.buffer);
  transfer io(each.offset, buffer);
  each.answer = error(std::make_error_code(std::errc::resource_unavailable_try_again));
  if (!state.fits(io, buffer, 1)) return 0;
  const raw_result answer = platform::read_without_waiting(state.file.handle, io.next());
  if (io.is_finished_by(answer)) each.answer = io.total();
  return answer;
}

inline bool is_left(const read_request& each) noexcept {
  return each.answer.has_error() && each.answer.error() == std::errc::resource_unavailable_try_again;
}

/// Looks for the first read in the page cache. If it is not there, neither are others, probably: looks for all up to
/// `most`, by which the device is asked for them at the same time. Returns how many it has looked for; 0 if the file
/// system does not support that.
template <class Mode, class System>
std::size_t look_ahead(const file_state<Mode, System>& state, std::span<read_request> requests) noexcept {
  constexpr std::size_t most = 64;
  if (read_if_cached(state, requests[0]) == -EOPNOTSUPP) return 0;
  if (!is_left(requests[0])) return 1;
  const std::size_t count = lesser_of(most, requests.size());
  for (read_request& each : requests.subspan(1, count - 1)) read_if_cached(state, each);
  return count;
}

/// Carries out the reads in order, by the system calls of read_at(). Those of a cached file look ahead while there are
/// misses. After a hit they look again at the next read, after the next hit at the second, then at the fourth, up to
/// the sixteenth: a look costs more than a read, and hits and misses come in any order.
template <class Mode, class System>
result<std::size_t> read_each(const file_state<Mode, System>& state, std::span<read_request> requests) {
  constexpr std::size_t longest_step = 16;
  const auto read = [&](read_request& each) { each.answer = state.read(each.offset, mutable_buffer(each.buffer)); };
  bool looks = System::has_page_cache && std::is_same_v<Mode, cached>;
  for (std::size_t index = 0, step = 1; index < requests.size();) {
    std::size_t looked_for = 0, end = requests.size();
    if constexpr (System::has_page_cache && std::is_same_v<Mode, cached>)
      if (looks) looks = (looked_for = look_ahead(state, requests.subspan(index))) != 0;
    if (looked_for != 0) {
      const bool is_miss = is_left(requests[index]);
      end = lesser_of(end, index + (is_miss ? looked_for : step));
      step = is_miss ? 1 : lesser_of(2 * step, longest_step);
    }
    for (read_request& each : requests.subspan(index, looked_for))
      if (is_left(each)) read(each);
    for (index += looked_for; index < end; ++index) read(requests[index]);
  }
  return count_failures(requests);
}

/// The same of writes, unless two of them overlap.
template <class Mode, class System>
result<std::size_t> write_each(file_state<Mode, System>& state, std::span<write_request> requests,
                               platform::transfer_flags more) {
  if (const error overlap = overlap_of(state.file.activity, requests); overlap.exists())
    return refuse_each(requests, overlap);
  for (write_request& each : requests) {
    const const_buffer buffer(each.buffer);
    each.answer = state.write_with(each.offset, mutable_buffer(const_cast<void*>(buffer.data), buffer.size), more);
  }
  return count_failures(requests);
}

}  // namespace detail
QIO_END_NAMESPACE
