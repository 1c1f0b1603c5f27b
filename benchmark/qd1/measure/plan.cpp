// SPDX-License-Identifier: BSL-1.0
#include "measure/plan.hpp"

#include "failure.hpp"
#include "measure/offset_order.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace {

void require_fitting(std::uint64_t working_set, std::uint64_t block, std::uint64_t bytes) {
  if (working_set % block != 0)
    throw usage_error(fmt::format("--working-set: {} is not a multiple of the block, {}", working_set, block));
  if (working_set > bytes)
    throw usage_error(fmt::format("--working-set: {} is more than the file has, {}; choose a larger --file-size",
                                  working_set, bytes));
}

// Adds reads for each temperature and each advice. Direct ones know neither.
void add_reads(const run_request& request, work each, std::vector<work>& to) {
  for (const temperature temperature : request.reads) {
    if (!traits(each.mode).keeps_pages && temperature != request.reads.front()) continue;  // knows neither
    each.temperature = traits(each.mode).keeps_pages ? temperature : temperature::warm;
    for (const advice advice : request.advice) {
      if (traits(each.mode).is_direct && advice != request.advice.front()) continue;
      each.advice = traits(each.mode).is_direct ? advice::normal : advice;
      to.push_back(each);
    }
  }
}

void add_writes(const run_request& request, work each, std::vector<work>& to) {
  for (const durability durability : request.writes) {
    each.durability = durability;
    to.push_back(each);
  }
}

// As of --working-set 1M,1M: a report has one series of a work.
std::vector<work> without_repeats(const std::vector<work>& all) {
  std::vector<work> found;
  for (const work& each : all)
    if (std::ranges::find(found, each) == found.end()) found.push_back(each);
  return found;
}

}  // namespace

std::vector<work> plan(const run_request& request, const std::vector<operation>& operations, std::uint64_t bytes) {
  const auto working_sets = request.working_sets.empty() ? std::vector{bytes} : request.working_sets;
  for (const std::uint64_t each : working_sets) require_fitting(each, request.block, bytes);
  for (const temperature each : request.reads) require_cold_once(request.order, each);
  std::vector<work> all;
  for (const mode mode : request.modes)
    for (const std::uint64_t working_set : working_sets)
      for (const operation operation : operations)
        for (const form form : request.forms) {
          work each;
          each.mode = mode;
          each.operation = operation;
          each.form = form;
          each.block = request.block;
          each.working_set = working_set;
          each.rate = request.rate;
          each.poisson = request.poisson;
          each.load.order = request.order;
          each.load.theta = request.zipf_theta;
          operation == operation::read ? add_reads(request, each, all) : add_writes(request, each, all);
        }
  return without_repeats(all);
}

}  // namespace qd1
