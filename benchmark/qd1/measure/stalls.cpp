// SPDX-License-Identifier: BSL-1.0
#include "measure/stalls.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace qd1 {
namespace {

double nanoseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()); }

}  // namespace

loop_stall stall_between(const qio::stall_statistics& before, const qio::stall_statistics& after) {
  constexpr std::chrono::milliseconds late(1);
  loop_stall found;
  found.late_turns = after.longer_than(late) - before.longer_than(late);
  if (after.longest > before.longest) {
    found.longest = nanoseconds(after.longest);
    found.cause = value_named<stall_cause>(name_of(after.cause)).value_or(stall_cause::unknown);
    return found;
  }
  for (std::size_t each = after.late.size(); each-- > 0;) {
    if (after.late[each] == before.late[each]) continue;
    const std::chrono::nanoseconds end = std::chrono::microseconds(std::int64_t(2) << each);
    found.longest = nanoseconds(std::min(end, after.longest));
    found.cause = stall_cause::unknown;
    break;
  }
  return found;
}

}  // namespace qd1
