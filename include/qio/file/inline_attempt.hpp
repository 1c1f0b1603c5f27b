// SPDX-License-Identifier: BSL-1.0
// The attempt to serve a transfer at once, on the context's thread, before it goes to an engine.
#pragma once

#include <qio/configuration.hpp>
#include <qio/file/inline_writes.hpp>
#include <qio/loop/inline_turn.hpp>
#include <qio/request/perform.hpp>
#include <qio/request/request.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

/// The activity of a file whose transfers may be attempted inline.
struct inline_activity : file_activity {
  bool reads = false;  ///< cleared when the file system cannot tell whether a read would wait (EOPNOTSUPP)
  inline_writes writes;
};

/// Reads what is in the page cache. True if that completed `r`, without waiting and without an engine. If false, `r`
/// holds what remains to be done. Attempted only without company (requests that an engine has in flight or is about to
/// get): otherwise a ring serves more of them in one call.
inline bool attempt_read(request& r, inline_turn& turn, std::size_t company) noexcept {
  if (company != 0 || !turn.may_go_on()) return false;
  const raw_result answer = platform::read_without_waiting(r.handle, r.io.next());
  if (answer == -EOPNOTSUPP) static_cast<inline_activity*>(r.activity)->reads = false;
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
  if (file.in_flight != 0 || r.io.total() > inline_writes::most_bytes || !turn.has_time()) return false;
  const clock::time_point begin = clock::now();
  if (!file.writes.may_be_attempted(r, begin)) return false;
  if (turn.limit.exists(begin)) return false;
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

/// Completes a sync with the error of an earlier one. True if an earlier one failed.
inline bool attempt_sync(request& r, inline_turn&, std::size_t) noexcept {
  const sync_failure& earlier = r.activity->sync_failure;
  if (!earlier.exists()) return false;
  r.failure = earlier.get();
  return true;
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
