// SPDX-License-Identifier: BSL-1.0
#include "findings/ladders.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace qd1 {
namespace {

work without_step(work from) {
  from.load.workers = 1;
  from.load.depth = 1;
  return from;
}

}  // namespace

std::string target_name(const report& run, std::uint64_t number) {
  const std::vector<std::string>& names = run.settings.targets;
  if (number >= names.size()) return "target " + std::to_string(number + 1);
  const std::string& given = names[static_cast<std::size_t>(number)];
  return std::ranges::count(names, given) == 1 ? given : given + " (" + std::to_string(number + 1) + ")";
}

std::vector<ladder> ladders_of(const report& run) {
  std::vector<ladder> all;
  for (const series& each : run.series) {
    const auto same = [&](const ladder& other) { return without_step(each.work) == without_step(other.front()->work); };
    const auto found = std::ranges::find_if(all, same);
    if (found == all.end())
      all.push_back({&each});
    else
      found->push_back(&each);
  }
  for (ladder& each : all)
    std::ranges::stable_sort(
        each, {}, [](const series* one) { return std::tuple(one->work.load.workers, one->work.load.depth); });
  return all;
}

std::vector<knee> knees_of(const ladder& from) {
  std::vector<knee> found;
  for (auto first = from.begin(); first != from.end();) {
    const auto workers = (*first)->work.load.workers;
    const auto last = std::find_if(first, from.end(), [&](auto* each) { return each->work.load.workers != workers; });
    const series* const best = *std::max_element(first, last, [](auto* a, auto* b) { return a->iops < b->iops; });
    const auto enough = [&](const series* each) { return each->iops >= nearly_all * best->iops; };
    if (best->measured() && last - first > 1) found.push_back({*std::find_if(first, last, enough), best});
    first = last;
  }
  return found;
}

std::optional<double> scaling_efficiency(const report& run, const series& together) {
  const load& all = together.work.load;
  if (all.targets < 2 || !together.measured()) return std::nullopt;
  double sum = 0;
  for (std::uint64_t each = 0; each < all.targets; ++each) {
    work alone = together.work;
    alone.load.targets = 1;
    alone.load.only = each;
    const auto found = std::ranges::find(run.series, alone, &series::work);
    if (found == run.series.end() || !found->measured()) return std::nullopt;
    sum += found->iops;
  }
  return together.iops / sum;
}

}  // namespace qd1
