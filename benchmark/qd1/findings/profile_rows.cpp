// SPDX-License-Identifier: BSL-1.0
#include "findings/profile_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace {

std::string group_of(const work& work) {
  if (work.load.share == 1) return work.operation == operation::read ? "Read" : "Write";
  const double reads = work.operation == operation::read ? work.load.share : 1 - work.load.share;
  return fmt::format("Mix, {:.3g} % reads", reads * 100);
}

template <class Item>
Item& found_or_added(std::vector<Item>& in, const std::string& name, std::string Item::*named) {
  const auto found = std::ranges::find(in, name, named);
  if (found != in.end()) return *found;
  in.emplace_back().*named = name;
  return in.back();
}

}  // namespace

std::vector<profile_group> profile_groups(const report& run) {
  std::vector<profile_group> groups;
  for (const series& each : run.series) {
    profile_group& group = found_or_added(groups, group_of(each.work), &profile_group::title);
    found_or_added(group.rows, mark_name(each.work), &profile_group::row::name).parts.push_back(&each);
  }
  return groups;
}

}  // namespace qd1
