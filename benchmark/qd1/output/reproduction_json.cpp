// SPDX-License-Identifier: BSL-1.0
#include "output/json.hpp"
#include "output/reproduction.hpp"

#include <nlohmann/json.hpp>

namespace qd1 {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const figures& table) {
  ordered_json rows = ordered_json::array();
  for (const figures_row& each : table.rows)
    rows.push_back({{"subject", each.subject}, {"origin", name(each.origin)}, {"cells", each.cells}});
  return {{"title", table.title}, {"columns", table.columns}, {"rows", rows}};
}

ordered_json to_json(const unchecked_calls& calls) {
  return {
      {"calls", calls.calls}, {"failed", calls.failed}, {"error", calls.error}, {"mean_ns", calls.latency.mean.value}};
}

ordered_json to_json(const experiment_part& part) {
  ordered_json out = {{"name", part.name}, {"purpose", part.purpose}, {"not_measured", part.not_measured}};
  out["unchecked"] = part.unchecked ? to_json(*part.unchecked) : ordered_json(nullptr);
  out["report"] = part.not_measured.empty() ? ordered_json::parse(json(part.found)) : ordered_json(nullptr);
  return out;
}

}  // namespace

std::string json(const reproduction& of) {
  ordered_json own = {{"name", of.about.name},           {"title", of.about.title},
                      {"author", of.about.author},       {"machine", of.about.machine},
                      {"warning", of.about.warning},     {"version", of.version},
                      {"started", of.started},           {"command_line", of.command_line},
                      {"complete", of.complete},         {"plan", of.plan},
                      {"incomparable", of.incomparable}, {"tables", ordered_json::array()},
                      {"shapes", ordered_json::array()}, {"parts", ordered_json::array()}};
  for (const figures& each : of.tables) own["tables"].push_back(to_json(each));
  for (const shape& each : of.shapes)
    own["shapes"].push_back({{"claim", each.claim}, {"verdict", name(each.result)}, {"evidence", each.evidence}});
  for (const experiment_part& each : of.parts) own["parts"].push_back(to_json(each));
  ordered_json out;
  out["qio_experiment"] = std::move(own);
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace qd1
