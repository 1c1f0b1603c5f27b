// SPDX-License-Identifier: BSL-1.0
#include "compare/in_turn.hpp"

#include <algorithm>
#include <utility>

namespace qd1 {
namespace {

// Seconds since 1970.
double begin_of(const series& from, std::size_t round) { return *from.began + from.rounds[round].start; }
double end_of(const series& from, std::size_t round) { return begin_of(from, round) + from.rounds[round].seconds; }

// Each round of `first` with the one of `second` that lies between it and the next.
std::vector<round_pair> pairs_of(const series& first, const series& second) {
  std::vector<round_pair> found;
  std::size_t next = 0;
  for (std::size_t each = 0; each < first.rounds.size(); ++each) {
    while (next < second.rounds.size() && begin_of(second, next) < end_of(first, each)) ++next;
    if (next == second.rounds.size()) break;
    if (each + 1 == first.rounds.size() || end_of(second, next) <= begin_of(first, each + 1))
      found.push_back({each, next});
  }
  return found;
}

}  // namespace

std::vector<round_pair> pairs_in_turn(const series& base, const series& now) {
  if (base.turns.empty() || base.turns != now.turns || !base.began || !now.began || base.rounds.empty() ||
      now.rounds.empty())
    return {};
  const bool base_is_first = begin_of(base, 0) <= begin_of(now, 0);
  std::vector<round_pair> found = base_is_first ? pairs_of(base, now) : pairs_of(now, base);
  constexpr double nearly_all = 0.8;  // one run may have begun a little earlier
  const std::size_t fewer = std::min(base.rounds.size(), now.rounds.size());
  if (static_cast<double>(found.size()) < nearly_all * static_cast<double>(fewer)) return {};
  if (!base_is_first)
    for (round_pair& each : found) std::swap(each.base, each.now);
  return found;
}

}  // namespace qd1
