// SPDX-License-Identifier: BSL-1.0
#include "merge/of_ranks.hpp"

#include "merge/merge.hpp"
#include "output/json.hpp"
#include "ranks/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace qd1 {
namespace {

// A rank that was interrupted has fewer runs. Those of which all ranks have a report count.
std::vector<report> of_all_ranks(const std::vector<report>& own) {
  std::vector<report> all;
  const std::uint64_t count = own.front().settings.repeat;
  for (std::size_t run = 0; run < count; ++run) {
    const std::vector<std::string> texts = ranks::gathered(run < own.size() ? json(own[run]) : "");
    const bool has_gap = std::ranges::any_of(texts, [](const std::string& each) { return each.empty(); });
    if (texts.empty() || has_gap) continue;
    std::vector<named_run> runs;
    for (const std::string& each : texts) {
      const std::string name = fmt::format("rank {}", runs.size());
      runs.push_back({name, read_json(each, name)});
    }
    all.push_back(merged_side_by_side(runs));
    all.back().command_line = own.front().command_line;
  }
  return all;
}

}  // namespace

report in_one(std::vector<report> runs) {
  const std::uint64_t requested = runs.front().settings.repeat;
  const std::size_t made = runs.size();
  std::vector<named_run> named;
  for (report& each : runs) named.push_back({fmt::format("run {}", named.size() + 1), std::move(each)});
  report all = made == 1 ? std::move(named.front().run) : repeated(std::move(named));
  if (made == requested) return all;
  all.notes.push_back(
      all.complete ? fmt::format("interrupted: {} of {} runs are complete; the others are left out", made, requested)
                   : fmt::format("interrupted in the first of {} runs", requested));
  all.complete = false;
  return all;
}

std::optional<report> in_one_of_all_ranks(std::vector<report> own) {
  if (!ranks::are_several()) return in_one(std::move(own));
  std::vector<report> all = of_all_ranks(own);
  if (all.empty()) return std::nullopt;
  return in_one(std::move(all));
}

}  // namespace qd1
