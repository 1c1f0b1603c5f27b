// SPDX-License-Identifier: BSL-1.0
#include "depth/profiles.hpp"

#include <algorithm>
#include <array>

namespace qd1 {
namespace {

// The defaults of CrystalDiskMark 8 and KDiskMark 3.
constexpr std::array default_rows = {profile_row{order::sequential, 1 << 20, 8, 1},
                                     profile_row{order::sequential, 1 << 20, 1, 1},
                                     profile_row{order::random, 4096, 32, 1}, profile_row{order::random, 4096, 1, 1}};

// A profile is one entry here.
constexpr std::array all_profiles = {profile{"default", default_rows}, profile{"mix", default_rows, true}};

planned_load load_of(const profile_row& row, double reads) {
  work made;
  made.mode = mode::direct;
  made.operation = reads > 0 ? operation::read : operation::write;
  made.form = form::asynchronous;
  made.block = row.block;
  made.load.workers = row.workers;
  made.load.depth = row.depth;
  made.load.order = row.order;
  if (reads > 0) made.load.share = reads;  // so that a mix has other offsets than reads alone
  return {made, reads};
}

}  // namespace

std::span<const profile> profiles() { return all_profiles; }

const profile* profile_named(std::string_view name) {
  const auto* const found = std::ranges::find(all_profiles, name, &profile::name);
  return found == all_profiles.end() ? nullptr : found;
}

std::vector<planned_load> loads_of(const profile& profile) {
  std::vector<planned_load> all;
  for (const double reads : {1., 0., reads_of_a_mix}) {
    if (reads == reads_of_a_mix && !profile.mixes) continue;
    for (const profile_row& each : profile.rows) all.push_back(load_of(each, reads));
  }
  return all;
}

std::uint64_t largest_block(const profile& profile) {
  return std::ranges::max_element(profile.rows, {}, &profile_row::block)->block;
}

}  // namespace qd1
