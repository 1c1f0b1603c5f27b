// SPDX-License-Identifier: BSL-1.0
// The attempt to serve an operation at once, on the context's thread, before it goes to an engine: which writes
// are worth one, and how each is made.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/loop.hpp>
#include <qio/request/observer.hpp>
#include <qio/request/probes.hpp>
#include <qio/request/request.hpp>
#include <qio/system/platform.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- Which writes of a file run inline although they may wait ---

/// A write into the page cache normally copies and returns. It waits if the kernel throttles writers, if a page that is
/// written in part must be read first, if the file system commits its journal, or if another process holds the file's
/// lock. Only an attempt shows whether it waits: ext4 has no write that fails instead of waiting (RWF_NOWAIT), and on
/// XFS such a write also fails whenever the file's time changes (seastar issue 2974). So a write is attempted where it
/// rarely waits.
class inline_writes {
 public:
  bool may_be_attempted(const request& r) noexcept {
    is_guess_ = false;
    return is_short(r.io.total()) && needs_no_page_read(r);
  }

  /// The same while no write may wait: whether `flags` can ask the file system not to.
  bool may_be_tried(const request& r) noexcept { return !refuses_nowait_ && is_short(r.io.total()); }
  void refuse_nowait() noexcept { refuses_nowait_ = true; }

  /// Whether an attempt may wait, apart from pauses: not in a file that others may open, after one has waited. They
  /// could make it wait again and again, for as long as they like.
  bool may_wait() const noexcept { return !has_waited_ || !is_open_to_others; }
  bool is_open_to_others = false;

  /// An attempt of `bytes` bytes took `took`. True if it took so long that it may have waited: see thread_waits.
  bool is_slow(clock::duration took, std::size_t bytes) noexcept {
    QIO_CHECK(took >= duration::zero(), "bug in qio: an inline write ended before it began");
    if (bytes > always_short) learn(took / pages_of(bytes));
    return took > (is_guess_ ? inline_turn::longest_copy(bytes) : slow);
  }

  /// It did wait.
  void waited() noexcept {
    successes_ = 0;
    has_waited_ = true;
  }

 private:
  using duration = clock::duration;

  // A kernel worker costs a short write several times as much as the copy takes.
  static constexpr std::size_t always_short = 128 * 1024;
  static constexpr std::size_t never_short = 1024 * 1024;
  static constexpr duration slow = std::chrono::microseconds(200);
  static constexpr duration longest_copy = std::chrono::microseconds(320);  // a third of a turn
  static constexpr unsigned enough_successes = 16;

  // A single value counts little, however large it is: the thread may have been preempted.
  void learn(duration per_page) noexcept {
    const duration most = time_per_page_ / 4;
    time_per_page_ += greater_of(-most, lesser_of(most, (per_page - time_per_page_) / 4));
    QIO_CHECK(time_per_page_ >= duration::zero(), "bug in qio: a page was learned to take a negative time");
  }

  static duration::rep pages_of(std::size_t bytes) noexcept { return static_cast<duration::rep>(bytes / 4096); }

  // Whether copying `bytes` bytes takes no longer than 320 us, by what longer writes to this file took so far. The
  // estimate shrinks with each write that is not attempted, so that one is attempted again some dozen writes later.
  bool is_short(std::size_t bytes) noexcept {
    if (bytes <= always_short) return true;
    if (bytes > never_short) return false;
    if (time_per_page_ * pages_of(bytes) <= longest_copy) return true;
    time_per_page_ -= time_per_page_ / 256 + duration(1);
    return false;
  }

  bool needs_no_page_read(const request& r) noexcept {
    const std::uint64_t page = platform::page_size();
    const std::uint64_t begin = r.io.offset(), end = begin + r.io.total();
    if (r.flags != 0) return begin % page == 0 && end % page == 0;  // uncached: the rest of a page is elsewhere
    if (begin % page != 0 && !is_at_hand(r.handle, begin / page)) return false;
    const bool has_other_edge = end % page != 0 && (end / page != begin / page || begin % page == 0);
    if (has_other_edge && !is_at_hand(r.handle, end / page)) return false;
    last_page_ = (end - 1) / page;
    return true;
  }

  // Whether a page can be written in part without being read first. The page written last is assumed to be cached,
  // which makes appending small records cheap. Asking costs as much as the write itself. So if the last sixteen pages
  // were cached, only every sixteenth is asked for until one is not, or until a write waits. Where the file system
  // cannot tell, none is.
  bool is_at_hand(platform::native_handle handle, std::uint64_t page) noexcept {
    if (page == last_page_) return true;
    if (cannot_tell_ || (successes_ >= enough_successes && ++guesses_ % 16 != 0)) return is_guess_ = true;
    const platform::page_state found = platform::state_of_page(handle, page * platform::page_size());
    if (found == platform::page_state::unknown) return cannot_tell_ = is_guess_ = true;
    successes_ = found == platform::page_state::at_hand ? successes_ + 1 : 0;
    return found == platform::page_state::at_hand;
  }

  duration time_per_page_ = std::chrono::nanoseconds(128);  // of writes that are not always short; a low guess
  std::uint64_t last_page_ = ~std::uint64_t(0);
  unsigned successes_ = 0;  // pages in a row that were cached
  unsigned guesses_ = 0;
  bool cannot_tell_ = false;
  bool has_waited_ = false;
  bool refuses_nowait_ = false;  // the file system
  bool is_guess_ = false;        // the current attempt writes a part of a page that is only assumed to be cached
};

// --- The attempt to serve a transfer at once, on the context's thread, before it goes to an engine ---

/// The activity of a file whose transfers may be attempted inline.
struct inline_activity : file_activity {
  inline_attempt attempt_of_reads = nullptr;
  inline_attempt attempt_of_writes = nullptr;
  inline_attempt observed_reads = nullptr;   ///< if the loop is observed: what attempt_of_reads calls ...
  inline_attempt observed_writes = nullptr;  ///< ... and attempt_of_writes
  const char* why_no_reads = "the file was opened without a context";
  const char* why_no_writes = "the file was opened without a context";
  const char* why_no_plain_reads = nullptr;  ///< if the file system cannot tell whether a read would wait
  bool closes_at_once = false;               ///< closing rarely waits
  bool engine_gathers = false;               ///< see the engine concept
  std::uint8_t most_in_flight = 32;          ///< that do not keep a read from being attempted
  bool has_told_hits = false;                ///< the file system tells whether a read would wait; known from a batch
  std::uint8_t file_system = 0;              ///< number of its pause: see inline_turn
  bool syncs_at_once = false;                ///< a sync has nothing to do: the file is in memory (tmpfs)
  inline_writes writes;
};

/// A call for a file took long. True if it waited, for which it counts.
QIO_COLD inline bool note_wait(inline_activity& file, inline_turn& turn, stall_cause cause, clock::time_point begin,
                               clock::time_point end) noexcept {
  QIO_CHECK(end >= begin, "bug in qio: a call ended before it began");
  turn.watch.note_slow(cause, file.path, end - begin);
  if (!turn.waits.has_waited(platform::switches_of_this_thread(), end - begin)) return false;
  turn.pause_of(file.file_system).begin(end, end - begin);
  ++file.statistics.blocked_submissions;
  return true;
}

/// Opening or closing has ended: the same if it took long.
inline void note_time(inline_activity& file, inline_turn& turn, stall_cause cause, clock::time_point begin) noexcept {
  const clock::time_point end = clock::now();
  turn.spend(end - begin);
  if (end - begin > inline_turn::longest_opening) note_wait(file, turn, cause, begin, end);
}

/// Most that one inline read copies: a turn may take as long.
inline constexpr std::size_t most_bytes_read_at_once = 1024 * 1024;

/// Reads by a plain system call, on files whose file system cannot tell whether it will wait. True if that completed
/// `r`. See inline_pause.
inline bool attempt_plain_read(request& r, inline_turn& turn, std::size_t) noexcept {
  QIO_CHECK(r.op == opcode::read && !r.is_held(), "bug in qio: a read was attempted that an engine holds, or no read");
  auto& file = *static_cast<inline_activity*>(r.activity);
  if (r.io.total() > most_bytes_read_at_once || !turn.has_time()) return false;
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
  if (end - begin > inline_turn::longest_copy(r.io.transferred()))
    note_wait(file, turn, stall_cause::reading, begin, end);
  if (is_complete) {
    ++file.statistics.served_inline;
    QIO_PROBE_COMPLETE(r, 0);
  }
  return is_complete;
}

/// The file system of `r`'s file cannot tell whether a read would wait.
QIO_COLD inline bool attempt_other_read(request& r, inline_turn& turn) noexcept {
  auto& file = *static_cast<inline_activity*>(r.activity);
  file.why_no_reads = file.why_no_plain_reads;
  inline_attempt& attempt = file.observed_reads != nullptr ? file.observed_reads : file.attempt_of_reads;
  attempt = &attempt_plain_read;
  if (file.why_no_reads != nullptr) attempt = file.attempt_of_reads = nullptr;
  return attempt != nullptr && attempt_plain_read(r, turn, 0);
}

/// Reads what is in the page cache. True if that completed `r`, without waiting and without an engine. If false, `r`
/// holds what remains to be done. Not attempted if `in_flight`, the requests that an engine has or is about to get,
/// shows that a ring serves more of them in one call, or that they may fill a device's queue, for which the attempt
/// would wait.
inline bool attempt_read(request& r, inline_turn& turn, std::size_t in_flight) noexcept {
  QIO_CHECK(r.op == opcode::read && !r.is_held(), "bug in qio: a read was attempted that an engine holds, or no read");
  const std::size_t most = static_cast<inline_activity*>(r.activity)->most_in_flight;
  if (in_flight > most || !turn.may_go_on() || r.io.total() > most_bytes_read_at_once) return false;
  const raw_result answer = platform::read_without_waiting(r.handle, r.io.next());
  if (answer == -EOPNOTSUPP) [[unlikely]]
    return attempt_other_read(r, turn);
  // The engine will meet any error again, and report it. A zero does not mean the end of the file either: Linux 5.9 and
  // 5.10 return it in the middle of a file (preadv2(2), BUGS).
  if (answer <= 0) return false;
  turn.spend_copy(static_cast<std::size_t>(answer));
  if (!r.io.is_finished_by(answer) && !take_answer(r, answer)) return false;
  ++r.activity->statistics.served_inline;
  QIO_PROBE_COMPLETE(r, 0);
  return true;
}

/// Writes into the page cache, if the file system can do that without waiting: btrfs and XFS can, ext4 cannot, and XFS
/// refuses when the file's time changes. True if that completed `r`.
QIO_COLD inline bool attempt_write_without_waiting(request& r, inline_turn& turn, clock::time_point begin) noexcept {
  auto& file = *static_cast<inline_activity*>(r.activity);
  if (!file.writes.may_be_tried(r) || turn.limit.exists(begin)) return false;
  const raw_result answer = platform::write_without_waiting(r.handle, r.io.next(), r.flags);
  turn.spend(clock::now() - begin);
  if (answer == -EOPNOTSUPP) file.writes.refuse_nowait();
  if (answer <= 0 || !take_answer(r, answer)) return false;
  ++file.statistics.served_inline;
  QIO_PROBE_COMPLETE(r, 0);
  return true;
}

/// Writes into the page cache by a plain system call, which may wait: see inline_writes. True if that completed `r`.
/// Attempted only while no engine has a request of the same file in flight, which would hold the file's lock.
inline bool attempt_write(request& r, inline_turn& turn, std::size_t) noexcept {
  QIO_CHECK(r.op == opcode::write && !r.is_held(),
            "bug in qio: a write was attempted that an engine holds, or no write");
  QIO_CHECK(!r.is_durable_write(), "bug in qio: a durable write was attempted on the context's thread");
  auto& file = *static_cast<inline_activity*>(r.activity);
  if (file.in_flight != 0 || !turn.has_time()) return false;
  const clock::time_point begin = clock::now();
  if (!file.writes.may_wait() || !turn.pause_of(file.file_system).is_over(begin))
    return attempt_write_without_waiting(r, turn, begin);
  if (!file.writes.may_be_attempted(r) || turn.limit.exists(begin)) return false;
  turn.waits.look(begin);
  const raw_result answer = platform::write_some(r.handle, r.io.next(), r.flags);
  const clock::time_point end = clock::now();
  turn.spend(end - begin);
  const std::size_t written = answer < 0 ? 0 : static_cast<std::size_t>(answer);
  if (file.writes.is_slow(end - begin, written) && note_wait(file, turn, stall_cause::writing, begin, end))
    file.writes.waited();
  if (!take_answer(r, answer)) return false;
  ++file.statistics.served_inline;
  QIO_PROBE_COMPLETE(r, 0);
  return true;
}

/// Tells the observer of the loop, if there is one, that an attempt has completed `r`, which began at `begin`.
inline void tell_inline(request& r, inline_turn& turn, clock::time_point begin) noexcept {
  if (turn.observer == nullptr) return;
  r.started_at = begin.time_since_epoch().count();
  r.queued_for = 0;
  turn.observer->ended({r, operation_path::inlined, clock::now()});
}

/// The attempts of a file whose loop is observed.
QIO_NOINLINE inline bool attempt_observed(request& r, inline_turn& turn, std::size_t in_flight) noexcept {
  const auto& file = *static_cast<inline_activity*>(r.activity);
  const inline_attempt attempt = r.op == opcode::read ? file.observed_reads : file.observed_writes;
  const clock::time_point begin = clock::now();
  // None if an earlier one has shown, since this operation was made, that the file system supports none.
  if (attempt == nullptr || !attempt(r, turn, in_flight)) return false;
  tell_inline(r, turn, begin);
  return true;
}

/// Every attempt of `file` goes through attempt_observed() from now on.
inline void observe_attempts(inline_activity& file) noexcept {
  for (auto [attempt, observed] : {std::pair{&file.attempt_of_reads, &file.observed_reads},
                                   std::pair{&file.attempt_of_writes, &file.observed_writes}})
    if (*attempt != nullptr) *observed = std::exchange(*attempt, &attempt_observed);
}

/// Completes a sync with the error of an earlier one, or by a system call where that has nothing to do. False if an
/// engine is to sync the file.
inline bool attempt_sync(request& r, inline_turn& turn, std::size_t) noexcept {
  QIO_CHECK(!r.is_held(), "bug in qio: a sync was attempted that an engine holds");
  auto& file = *static_cast<inline_activity*>(r.activity);
  const bool is_known = file.sync_failure.exists();
  if (!is_known && (!file.syncs_at_once || r.op != opcode::sync || !turn.has_time())) return false;
  const clock::time_point begin = turn.observer == nullptr ? clock::time_point() : clock::now();
  if (is_known) {
    r.failure = file.of_sync(file.sync_failure.get());
  } else {
    perform(r);
    if (r.failed()) r.failure = file.of_sync(r.failure);
    turn.spend_copy(0);
    ++file.statistics.served_inline;
  }
  QIO_PROBE_COMPLETE(r, 0);
  tell_inline(r, turn, begin);
  return true;
}

}  // namespace detail
QIO_END_NAMESPACE
