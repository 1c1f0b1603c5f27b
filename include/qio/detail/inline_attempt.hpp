// SPDX-License-Identifier: BSL-1.0
// The attempt to carry out a transfer here and now, before an engine is asked.
#pragma once

#include <qio/detail/inline_turn.hpp>
#include <qio/detail/inline_writes.hpp>
#include <qio/detail/platform.hpp>
#include <qio/engine/request.hpp>

#include <cstddef>
#include <cstdint>

namespace qio::detail {

/// The activity of a file whose transfers may be attempted inline.
struct inline_activity : file_activity {
  bool reads = false;  ///< cleared when the file system cannot tell whether a read would wait (EOPNOTSUPP)
  inline_writes writes;
};

/// Reads what is in the page cache. True if that was all: then `r` is over, with no wait and no engine. False leaves in
/// `r` what remains to be done. Attempted only without company (what an engine has in flight, or is about to get): with
/// that a ring serves more, in one call.
inline bool attempt_read(request& r, inline_turn& turn, std::size_t company) noexcept {
  if (company != 0 || !turn.may_go_on()) return false;
  const raw_result answer = platform::read_without_waiting(r.handle, r.io.next());
  if (answer == -EOPNOTSUPP) static_cast<inline_activity*>(r.activity)->reads = false;
  // Whatever went wrong, the engine will meet it, and report it. Nor is a zero taken for the end of the file: Linux 5.9
  // and 5.10 answer so in the middle of one (preadv2(2), BUGS).
  if (answer <= 0) return false;
  turn.spend(inline_turn::time_of_copy(static_cast<std::size_t>(answer)));
  if (!take_answer(r, answer)) return false;
  ++r.activity->statistics.served_inline;
  return true;
}

/// Writes into the page cache by a plain system call, which may wait: see inline_writes for what is done about that.
/// True if `r` is over. Attempted only while no engine has anything of the same file in flight, behind which it would
/// wait for the file's lock.
inline bool attempt_write(request& r, inline_turn& turn, std::size_t) noexcept {
  auto& file = *static_cast<inline_activity*>(r.activity);
  if (file.in_flight != 0 || r.io.total() > inline_writes::most_bytes || !turn.has_time()) return false;
  const clock::time_point begin = clock::now();
  if (!file.writes.may_be_attempted(r, begin)) return false;
  turn.waits.look(begin);
  const raw_result answer = platform::write_some(r.handle, r.io.next(), r.flags);
  const clock::time_point end = clock::now();
  turn.spend(end - begin);
  if (end - begin > inline_writes::longest && turn.waits.has_waited(platform::switches_of_this_thread())) {
    file.writes.waited(end, end - begin);
    ++file.statistics.blocked_submissions;
  }
  if (!take_answer(r, answer)) return false;
  ++file.statistics.served_inline;
  return true;
}

/// Answers a sync as an earlier one has failed. True if one has.
inline bool attempt_sync(request& r, inline_turn&, std::size_t) noexcept {
  const sync_failure& earlier = r.activity->sync_failure;
  if (!earlier.exists()) return false;
  r.failure = earlier.get();
  return true;
}

}  // namespace qio::detail
