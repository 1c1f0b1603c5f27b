// SPDX-License-Identifier: BSL-1.0
#include "measure/repeat.hpp"

#include "measure/interruption.hpp"
#include "measure/offsets.hpp"
#include "measure/progress.hpp"
#include "ranks/ranks.hpp"

#include <utility>

namespace qd1 {

std::uint64_t run_seed(std::uint64_t seed, std::uint64_t run) {
  return run == 0 ? seed : splitmix64(splitmix64(seed)() + run)();
}

std::vector<report> repeat_runs(std::uint64_t count, std::uint64_t seed,
                                const std::function<report(std::uint64_t seed)>& measure) {
  std::vector<report> runs;
  std::uint64_t run = 0;
  for (; run < count && (run == 0 || !interrupted()); ++run) {
    progress::begin_run(run, count);
    report found = measure(run_seed(seed, run));
    found.settings.repeat = count;
    if (found.complete || runs.empty()) runs.push_back(std::move(found));
  }
  for (; run < count; ++run) ranks::wait_for_all();  // the other ranks may not have been interrupted
  return runs;
}

}  // namespace qd1
