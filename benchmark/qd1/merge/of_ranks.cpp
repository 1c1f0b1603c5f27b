// SPDX-License-Identifier: BSL-1.0
#include "merge/of_ranks.hpp"

#include "merge/merge.hpp"
#include "output/json.hpp"
#include "ranks/ranks.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace qd1 {

std::optional<report> of_all_ranks(report own) {
  if (!ranks::are_several()) return own;
  std::vector<named_run> runs;
  for (const std::string& each : ranks::gathered(json(own))) {
    const std::string name = fmt::format("rank {}", runs.size());
    runs.push_back({name, read_json(each, name)});
  }
  if (runs.empty()) return std::nullopt;
  report all = merged(runs);
  all.command_line = std::move(own.command_line);
  return all;
}

}  // namespace qd1
