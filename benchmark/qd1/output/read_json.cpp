// SPDX-License-Identifier: BSL-1.0
#include "failure.hpp"
#include "machine/json.hpp"
#include "output/json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>

namespace qd1 {
namespace {

using nlohmann::json;

// A number that is not negative and has no fraction; what has would not fit.
std::uint64_t count(const json& from) { return from.get_ref<const json::number_unsigned_t&>(); }

template <class T>
std::optional<T> optional(const json& from) {
  if (from.is_null()) return std::nullopt;
  if constexpr (std::is_same_v<T, std::uint64_t>)
    return count(from);
  else
    return from.get<T>();
}

template <class Value>
Value named(const json& from, std::initializer_list<Value> all) {
  const auto wanted = from.get<std::string>();
  for (const Value each : all)
    if (name(each) == wanted) return each;
  throw usage_error(fmt::format("'{}' is not known", wanted));
}

interval ascending(std::string_view what, const json& low, const json& high) {
  const interval found{low, high};
  if (found.low > found.high)
    throw usage_error(fmt::format("{}: from {} to {} is upside down", what, found.low, found.high));
  return found;
}

estimate read_estimate(const json& from) {
  estimate found{from.at("value"), std::nullopt};
  if (const json& ends = from.at("interval"); !ends.is_null())
    found.interval = ascending("interval", ends.at(0), ends.at(1));
  return found;
}

std::uint64_t at_least_one(const json& from, const char* what) {
  const std::uint64_t found = count(from.at(what));
  if (found == 0) throw usage_error(fmt::format("{}: 0; needed is 1 at least", what));
  return found;
}

load read_load(const json& from) {
  load found;
  found.workers = at_least_one(from, "workers");
  found.depth = at_least_one(from, "depth");
  found.targets = at_least_one(from, "targets");
  found.only = optional<std::uint64_t>(from.at("only"));
  found.order = named(from.at("order"), {order::random, order::sequential});
  found.share = from.at("share");
  if (!(found.share > 0 && found.share <= 1))
    throw usage_error(fmt::format("share: {}; needed is a part of the whole, more than 0 and at most 1", found.share));
  return found;
}

work read_work(const json& from) {
  work found;
  found.mode = named(from.at("mode"), {mode::direct, mode::cached, mode::mapped});
  found.operation = named(from.at("operation"), {operation::read, operation::write});
  found.form = named(from.at("form"), {form::blocking, form::asynchronous});
  found.temperature = named(from.at("temperature"), {temperature::warm, temperature::cold});
  found.advice = named(from.at("advice"), {advice::normal, advice::random});
  found.durability =
      named(from.at("durability"), {durability::accepted, durability::written_through, durability::flushed});
  found.block = count(from.at("block"));
  found.working_set = count(from.at("working_set"));
  found.rate = optional<double>(from.at("rate"));
  found.poisson = from.at("poisson");
  found.memory = optional<std::uint64_t>(from.value("memory", json()));
  if (from.contains("load")) found.load = read_load(from.at("load"));
  return found;
}

slice read_slice(const json& from) {
  slice found{from.at("start"), from.at("seconds"), count(from.at("operations")), from.at("mean_ns"),
              from.at("max_ns")};
  found.p50 = optional<double>(from.value("p50_ns", json()));
  found.p99 = optional<double>(from.value("p99_ns", json()));
  found.cached_pages = optional<std::uint64_t>(from.value("cached_pages", json()));
  found.dirty_bytes = optional<std::uint64_t>(from.value("dirty_bytes", json()));
  found.device_in_flight = optional<std::uint64_t>(from.value("device_in_flight", json()));
  return found;
}

latency read_latency(const json& from) {
  const auto [least, most] = ascending("min_ns and max_ns", from.at("min_ns"), from.at("max_ns"));
  latency found{count(from.at("samples")), least, most, read_estimate(from.at("mean_ns")), {}, {}};
  for (const json& each : from.at("percentiles")) {
    percentile percentile{each.at("fraction"), count(each.at("samples_needed")), std::nullopt};
    if (!each.at("ns").is_null()) percentile.value = read_estimate(each.at("ns"));
    found.percentiles.push_back(percentile);
  }
  for (const json& each : from.at("bins_ns")) found.bins.push_back({each.at(0), count(each.at(1))});
  return found;
}

disturbance read_disturbance(const json& from) {
  return {optional<double>(from.at("waited")), optional<double>(from.at("others")), optional<double>(from.at("stolen")),
          optional<std::uint64_t>(from.at("throttled")), optional<std::uint64_t>(from.at("frequency_mhz"))};
}

round read_round(const json& from) {
  round found{from.at("start"),
              optional<std::uint64_t>(from.value("processor", json())),
              from.at("seconds"),
              count(from.at("samples")),
              from.at("mean_ns"),
              {},
              {}};
  for (const json& each : from.at("quantiles")) found.quantiles.push_back({each.at("fraction"), each.at("ns")});
  found.disturbance = read_disturbance(from.at("disturbance"));
  return found;
}

service read_service(const json& from) {
  return {from.at("engine"),
          from.at("reason"),
          count(from.at("by_call")),
          count(from.at("by_inline")),
          count(from.at("by_ring")),
          count(from.at("by_worker")),
          from.value("features", std::vector<std::string>()),
          from.value("lacking", std::vector<std::string>())};
}

verification read_verification(const json& from) {
  using verdict = verification::verdict;
  verification found;
  const auto said = from.at("verdict").get<std::string>();
  found.result = said == "verified"         ? verdict::verified
                 : said == "refuted"        ? verdict::refuted
                 : said == "not applicable" ? verdict::not_applicable
                                            : verdict::unknown;
  found.text = from.at("text");
  found.device_operations = optional<std::uint64_t>(from.at("device_operations"));
  if (from.contains("fetched_bytes")) found.fetched_bytes = optional<std::uint64_t>(from.at("fetched_bytes"));
  if (from.contains("merged_operations")) found.merged_operations = count(from.at("merged_operations"));
  found.application_operations = count(from.at("application_operations"));
  found.cached_pages_before = optional<std::uint64_t>(from.at("cached_pages_before"));
  found.cached_pages_after = optional<std::uint64_t>(from.at("cached_pages_after"));
  return found;
}

contribution read_contribution(const json& from) {
  contribution found;
  found.name = from.at("name");
  found.samples = count(from.at("samples"));
  found.iops = from.at("iops");
  found.p50 = optional<double>(from.at("p50_ns"));
  found.p99 = optional<double>(from.at("p99_ns"));
  found.max = from.at("max_ns");
  found.straggles = from.at("straggles");
  return found;
}

shortage read_shortage(const json& from) {
  shortage found;
  found.how = from.at("how");
  found.dirty_most = optional<std::uint64_t>(from.at("dirty_most"));
  found.dirty_limit = optional<std::uint64_t>(from.at("dirty_limit"));
  found.dirty_background_limit = optional<std::uint64_t>(from.at("dirty_background_limit"));
  found.dirty_limit_source = from.at("dirty_limit_source");
  found.limit_hits = optional<std::uint64_t>(from.at("limit_hits"));
  found.bound = named(from.at("bound"),
                      {bound::unknown, bound::by_nothing, bound::by_latency, bound::by_dirty_limit, bound::by_reclaim});
  return found;
}

void read_measured(const json& from, series& to) {
  to.service = read_service(from.at("service"));
  to.latency = read_latency(from.at("latency"));
  for (const json& each : from.at("rounds")) to.rounds.push_back(read_round(each));
  to.turns = from.value("turns", "");
  to.seconds = from.at("seconds");
  to.iops = from.at("iops");
  to.bytes_per_second = from.at("bytes_per_second");
  to.cpu_ns = optional<double>(from.at("cpu_ns"));
  to.cycles = optional<double>(from.value("cycles_per_operation", json()));
  to.batched_ns = optional<double>(from.at("batched_ns"));
  to.trusted_fraction = optional<double>(from.at("trusted_fraction"));
  to.steady = optional<bool>(from.at("steady"));
  to.verification = read_verification(from.at("verification"));
  if (const json shortage = from.value("shortage", json()); !shortage.is_null()) to.shortage = read_shortage(shortage);
  for (const json& each : from.value("contributions", json::array()))
    to.contributions.push_back(read_contribution(each));
  for (const json& each : from.at("slices")) to.slices.push_back(read_slice(each));
}

series read_series(const json& from) {
  series found;
  found.work = read_work(from.at("work"));
  found.not_available = from.at("not_available");
  found.invalid = from.at("invalid").get<std::vector<std::string>>();
  found.notes = from.at("notes").get<std::vector<std::string>>();
  found.complete = from.at("complete");
  if (from.contains("latency")) read_measured(from, found);
  return found;
}

settings read_settings(const json& from) {
  return {from.at("path"),           count(from.at("file_size")), count(from.at("block")),
          count(from.at("samples")), from.at("seconds"),          count(from.at("rounds")),
          from.at("engine"),         count(from.at("seed")),      from.value("targets", std::vector<std::string>())};
}

std::optional<noise> read_noise(const json& from) {
  if (from.is_null()) return std::nullopt;
  noise found{from.at("seconds"), from.at("max_ns"), {}};
  for (const json& each : from.at("gaps_ns")) found.gaps.push_back({each.at(0), count(each.at(1))});
  return found;
}

report read_report(const json& from) {
  report found;
  found.version = from.at("version");
  found.started = from.at("started");
  found.started_seconds = static_cast<std::int64_t>(count(from.at("started_seconds")));
  found.command_line = from.at("command_line");
  found.complete = from.at("complete");
  found.notes = from.at("notes").get<std::vector<std::string>>();
  found.settings = read_settings(from.at("settings"));
  const json& clock = from.at("clock");
  found.clock = {clock.at("source"), clock.at("reason"), clock.at("tick_ns"), clock.at("floor_ns"),
                 clock.at("deviation")};
  found.noise_before = read_noise(from.at("noise_before"));
  found.noise_after = read_noise(from.at("noise_after"));
  found.trusted_fraction = optional<double>(from.at("trusted_fraction"));
  from.at("machine").get_to(found.machine);
  from.at("counters").get_to(found.counters);
  found.advice = advise(found.machine);
  for (const json& each : from.at("series")) found.series.push_back(read_series(each));
  return found;
}

}  // namespace

report read_json(const std::string& text, const std::string& source) {
  try {
    return read_report(json::parse(text).at("qio"));
  } catch (const json::exception& failure) {
    throw usage_error(fmt::format("{}: not a report of qd1: {}", source, failure.what()));
  } catch (const usage_error& failure) {
    throw usage_error(fmt::format("{}: not a report of this qd1: {}", source, failure.what()));
  }
}

}  // namespace qd1
