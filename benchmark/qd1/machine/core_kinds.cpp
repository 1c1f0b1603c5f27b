// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <qd1/machine/core_kinds.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>

namespace qd1 {

std::string cpu_list(std::span<const std::uint64_t> threads) {
  std::string text;
  for (std::size_t from = 0, to = 0; from < threads.size(); from = to) {
    to = from + 1;
    while (to < threads.size() && threads[to] == threads[to - 1] + 1) ++to;
    if (from != 0) text += ',';
    text += to - from == 1 ? fmt::format("{}", threads[from]) : fmt::format("{}-{}", threads[from], threads[to - 1]);
  }
  return text;
}

void set_core_kinds(std::vector<ranked_thread> threads, cpu_facts& facts) {
  std::ranges::sort(threads, {}, &ranked_thread::number);
  std::map<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> kinds;
  std::set<std::uint64_t> allowed;
  for (const ranked_thread& each : threads) {
    kinds[each.rank].push_back(each.number);
    if (each.allowed) allowed.insert(each.rank);
  }
  if (kinds.size() < 2) return;
  for (const auto& [rank, numbers] : kinds) facts.core_kinds.push_back(cpu_list(numbers));
  facts.core_kinds_allowed = allowed.size();
}

}  // namespace qd1
