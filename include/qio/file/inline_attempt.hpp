// SPDX-License-Identifier: BSL-1.0
// The attempt to serve a transfer at once, on the context's thread, before it goes to an engine.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/file/inline_syncs.hpp>
#include <qio/file/inline_writes.hpp>
#include <qio/loop/loop.hpp>
#include <qio/request/request.hpp>
#include <qio/system/platform.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

/// The activity of a file whose transfers may be attempted inline.
struct inline_activity : file_activity {
  inline_attempt attempt_of_reads = nullptr;
  inline_attempt attempt_of_writes = nullptr;
  const char* why_no_reads = "the file was opened without a context";
  const char* why_no_writes = "the file was opened without a context";
  const char* why_no_plain_reads = nullptr;  ///< if the file system cannot tell whether a read would wait
  bool closes_at_once = false;               ///< closing rarely waits
  bool engine_gathers = false;               ///< see the engine concept
  bool has_told_hits = false;                ///< the file system tells whether a read would wait; known from a batch
  std::uint8_t file_system = 0;              ///< number of its pause: see inline_turn
  inline_writes writes;
  inline_syncs syncs;
};

/// A transfer took long. True if it waited, for which it counts.
QIO_COLD inline bool note_wait(inline_activity& file, inline_turn& turn, clock::time_point begin,
                               clock::time_point end) noexcept {
  if (!turn.waits.has_waited(platform::switches_of_this_thread(), end - begin)) return false;
  turn.pause_of(file.file_system).begin(end, end - begin);
  ++file.statistics.blocked_submissions;
  return true;
}

/// Opening or closing has ended: the same if it took long.
inline void note_time(inline_activity& file, inline_turn& turn, clock::time_point begin) noexcept {
  const clock::time_point end = clock::now();
  turn.spend(end - begin);
  if (end - begin > inline_turn::longest_opening) note_wait(file, turn, begin, end);
}

/// Most that is read at once without knowing whether it is in the page cache.
inline constexpr std::size_t most_bytes_read_blindly = 1024 * 1024;

/// Reads by a plain system call, on files whose file system cannot tell whether it will wait. True if that completed
/// `r`. See inline_pause.
inline bool attempt_plain_read(request& r, inline_turn& turn, std::size_t) noexcept {
  auto& file = *static_cast<inline_activity*>(r.activity);
  if (r.io.total() > most_bytes_read_blindly || !turn.has_time()) return false;
  // A write in flight may hold the file's lock. Of many operations, only the first are examined.
  const auto is_read = [](const request& each) { return each.op == opcode::read; };
  if (file.in_flight != 0 && !file.held.all_of_first(32, is_read)) return false;
  const clock::time_point begin = clock::now();
  if (!turn.pause_of(file.file_system).is_over(begin)) return false;
  turn.waits.look(begin);
  // A short result may be the end of the file, which only the next call shows.
  raw_result answer;
  bool is_complete;
  do {
    answer = platform::read_some(r.handle, r.io.next(), r.flags);
    is_complete = take_answer(r, answer);
  } while (!is_complete && answer > 0);
  const clock::time_point end = clock::now();
  turn.spend(end - begin);
  if (end - begin > inline_turn::longest_copy(r.io.transferred())) note_wait(file, turn, begin, end);
  if (is_complete) ++file.statistics.served_inline;
  return is_complete;
}

/// The file system of `r`'s file cannot tell whether a read would wait.
QIO_COLD inline bool attempt_other_read(request& r, inline_turn& turn) noexcept {
  auto& file = *static_cast<inline_activity*>(r.activity);
  file.why_no_reads = file.why_no_plain_reads;
  file.attempt_of_reads = file.why_no_reads == nullptr ? &attempt_plain_read : nullptr;
  return file.attempt_of_reads != nullptr && attempt_plain_read(r, turn, 0);
}

/// Reads what is in the page cache. True if that completed `r`, without waiting and without an engine. If false, `r`
/// holds what remains to be done. Attempted only without company (requests that an engine has in flight or is about to
/// get): otherwise a ring serves more of them in one call.
inline bool attempt_read(request& r, inline_turn& turn, std::size_t company) noexcept {
  if (company != 0 || !turn.may_go_on()) return false;
  const raw_result answer = platform::read_without_waiting(r.handle, r.io.next());
  if (answer == -EOPNOTSUPP) [[unlikely]]
    return attempt_other_read(r, turn);
  // The engine will meet any error again, and report it. A zero does not mean the end of the file either: Linux 5.9 and
  // 5.10 return it in the middle of a file (preadv2(2), BUGS).
  if (answer <= 0) return false;
  turn.spend(inline_turn::time_of_copy(static_cast<std::size_t>(answer)));
  if (!take_answer(r, answer)) return false;
  ++r.activity->statistics.served_inline;
  return true;
}

/// Writes into the page cache by a plain system call, which may wait: see inline_writes. True if that completed `r`.
/// Attempted only while no engine has a request of the same file in flight, which would hold the file's lock.
inline bool attempt_write(request& r, inline_turn& turn, std::size_t) noexcept {
  auto& file = *static_cast<inline_activity*>(r.activity);
  if (file.in_flight != 0 || !turn.has_time()) return false;
  const clock::time_point begin = clock::now();
  if (!turn.pause_of(file.file_system).is_over(begin) || !file.writes.may_be_attempted(r)) return false;
  if (turn.limit.exists(begin)) return false;
  turn.waits.look(begin);
  const raw_result answer = platform::write_some(r.handle, r.io.next(), r.flags);
  const clock::time_point end = clock::now();
  turn.spend(end - begin);
  const std::size_t written = answer < 0 ? 0 : static_cast<std::size_t>(answer);
  if (file.writes.is_slow(end - begin, written) && note_wait(file, turn, begin, end)) file.writes.waited();
  if (!take_answer(r, answer)) return false;
  ++file.statistics.served_inline;
  return true;
}

/// Completes a sync with the error of an earlier one, or by a system call that has nothing to write. False if an engine
/// is to sync the file.
inline bool attempt_sync(request& r, inline_turn& turn, std::size_t) noexcept {
  auto& file = *static_cast<inline_activity*>(r.activity);
  if (file.sync_failure.exists()) {
    r.failure = file.of_sync(file.sync_failure.get());
    return true;
  }
  // A request in flight may make the sync wait, and a sync in flight may not have seen the last change.
  if (r.op != opcode::sync || file.in_flight != 0 || !file.syncs.may_be_attempted(r.handle)) return false;
  const clock::time_point begin = clock::now();
  if (!turn.has_time() || !turn.pause_of(file.file_system).is_over(begin)) return false;
  turn.waits.look(begin);
  perform(r);
  if (r.failed()) r.failure = file.of_sync(r.failure);
  const clock::time_point end = clock::now();
  turn.spend(end - begin);
  file.syncs.done(end - begin > inline_turn::longest_copy(0) && note_wait(file, turn, begin, end));
  ++file.statistics.served_inline;
  return true;
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
