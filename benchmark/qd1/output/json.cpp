// SPDX-License-Identifier: BSL-1.0
#include "output/json.hpp"

#include "machine/json.hpp"
#include "output/fio.hpp"

#include <nlohmann/json.hpp>

namespace qd1 {
namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json to_json(const estimate& value) {
  ordered_json out = {{"value", value.value}, {"interval", nullptr}};
  if (value.interval) out["interval"] = {value.interval->low, value.interval->high};
  return out;
}

ordered_json to_json(const load& load) {
  return {{"workers", load.workers},    {"depth", load.depth},       {"targets", load.targets},
          {"only", or_null(load.only)}, {"order", name(load.order)}, {"share", load.share}};
}

ordered_json to_json(const work& work) {
  return {{"mode", name(work.mode)},
          {"operation", name(work.operation)},
          {"form", name(work.form)},
          {"temperature", name(work.temperature)},
          {"advice", name(work.advice)},
          {"durability", name(work.durability)},
          {"block", work.block},
          {"working_set", work.working_set},
          {"rate", or_null(work.rate)},
          {"poisson", work.poisson},
          {"memory", or_null(work.memory)},
          {"load", to_json(work.load)}};
}

ordered_json to_json(const latency& latency) {
  ordered_json percentiles = ordered_json::array();
  for (const percentile& each : latency.percentiles)
    percentiles.push_back({{"fraction", each.fraction},
                           {"samples_needed", each.samples_needed},
                           {"ns", each.value ? to_json(*each.value) : ordered_json(nullptr)}});
  ordered_json bins = ordered_json::array();
  for (const bin& each : latency.bins) bins.push_back({each.ns, each.count});
  return {{"samples", latency.samples},       {"min_ns", latency.min},      {"max_ns", latency.max},
          {"mean_ns", to_json(latency.mean)}, {"percentiles", percentiles}, {"bins_ns", bins}};
}

ordered_json to_json(const disturbance& disturbance) {
  return {{"waited", or_null(disturbance.waited)},
          {"others", or_null(disturbance.others)},
          {"stolen", or_null(disturbance.stolen)},
          {"throttled", or_null(disturbance.throttled)},
          {"frequency_mhz", or_null(disturbance.frequency_mhz)}};
}

ordered_json to_json(const std::vector<round>& rounds) {
  ordered_json out = ordered_json::array();
  for (const round& each : rounds) {
    ordered_json quantiles = ordered_json::array();
    for (const round_percentile& quantile : each.quantiles)
      quantiles.push_back({{"fraction", quantile.fraction}, {"ns", quantile.ns}});
    out.push_back({{"start", each.start},
                   {"processor", or_null(each.processor)},
                   {"seconds", each.seconds},
                   {"samples", each.samples},
                   {"mean_ns", each.mean},
                   {"quantiles", quantiles},
                   {"disturbance", to_json(each.disturbance)}});
  }
  return out;
}

ordered_json to_json(const service& service) {
  return {{"engine", service.engine},       {"reason", service.reason},   {"by_call", service.by_call},
          {"by_inline", service.by_inline}, {"by_ring", service.by_ring}, {"by_worker", service.by_worker},
          {"features", service.features},   {"lacking", service.lacking}};
}

ordered_json to_json(const verification& verification) {
  constexpr std::string_view verdicts[] = {"not applicable", "verified", "refuted", "unknown"};
  return {{"verdict", verdicts[static_cast<int>(verification.result)]},
          {"text", verification.text},
          {"device_operations", or_null(verification.device_operations)},
          {"merged_operations", verification.merged_operations},
          {"fetched_bytes", or_null(verification.fetched_bytes)},
          {"application_operations", verification.application_operations},
          {"cached_pages_before", or_null(verification.cached_pages_before)},
          {"cached_pages_after", or_null(verification.cached_pages_after)}};
}

ordered_json to_json(const std::vector<slice>& slices) {
  ordered_json out = ordered_json::array();
  for (const slice& each : slices)
    out.push_back({{"start", each.start},
                   {"seconds", each.seconds},
                   {"operations", each.operations},
                   {"mean_ns", each.mean},
                   {"max_ns", each.max},
                   {"p50_ns", or_null(each.p50)},
                   {"p99_ns", or_null(each.p99)},
                   {"cached_pages", or_null(each.cached_pages)},
                   {"dirty_bytes", or_null(each.dirty_bytes)},
                   {"device_in_flight", or_null(each.device_in_flight)}});
  return out;
}

ordered_json to_json(const std::vector<contribution>& contributions) {
  ordered_json out = ordered_json::array();
  for (const contribution& each : contributions)
    out.push_back({{"name", each.name},
                   {"samples", each.samples},
                   {"iops", each.iops},
                   {"p50_ns", or_null(each.p50)},
                   {"p99_ns", or_null(each.p99)},
                   {"max_ns", each.max},
                   {"straggles", each.straggles}});
  return out;
}

ordered_json to_json(const std::optional<shortage>& shortage) {
  if (!shortage) return nullptr;
  return {{"how", shortage->how},
          {"dirty_most", or_null(shortage->dirty_most)},
          {"dirty_limit", or_null(shortage->dirty_limit)},
          {"dirty_background_limit", or_null(shortage->dirty_background_limit)},
          {"dirty_limit_source", shortage->dirty_limit_source},
          {"limit_hits", or_null(shortage->limit_hits)},
          {"bound", name(shortage->bound)}};
}

ordered_json to_json(const series& series) {
  ordered_json out = {{"work", to_json(series.work)},
                      {"not_available", series.not_available},
                      {"invalid", series.invalid},
                      {"notes", series.notes},
                      {"complete", series.complete}};
  if (!series.measured()) return out;
  out["service"] = to_json(series.service);
  out["latency"] = to_json(series.latency);
  out["rounds"] = to_json(series.rounds);
  out["turns"] = series.turns;
  out["seconds"] = series.seconds;
  out["iops"] = series.iops;
  out["bytes_per_second"] = series.bytes_per_second;
  out["cpu_ns"] = or_null(series.cpu_ns);
  out["cycles_per_operation"] = or_null(series.cycles);
  out["batched_ns"] = or_null(series.batched_ns);
  out["trusted_fraction"] = or_null(series.trusted_fraction);
  out["steady"] = or_null(series.steady);
  out["verification"] = to_json(series.verification);
  out["slices"] = to_json(series.slices);
  out["shortage"] = to_json(series.shortage);
  out["contributions"] = to_json(series.contributions);
  return out;
}

ordered_json to_json(const settings& settings) {
  return {{"path", settings.path},       {"file_size", settings.file_size}, {"block", settings.block},
          {"samples", settings.samples}, {"seconds", settings.seconds},     {"rounds", settings.rounds},
          {"engine", settings.engine},   {"seed", settings.seed},           {"targets", settings.targets}};
}

ordered_json to_json(const timer_facts& clock) {
  return {{"source", clock.source},
          {"reason", clock.reason},
          {"tick_ns", clock.tick_ns},
          {"floor_ns", clock.floor_ns},
          {"deviation", clock.deviation}};
}

ordered_json to_json(const std::optional<noise>& noise) {
  if (!noise) return nullptr;
  ordered_json gaps = ordered_json::array();
  for (const bin& each : noise->gaps) gaps.push_back({each.ns, each.count});
  return {{"seconds", noise->seconds}, {"max_ns", noise->max_ns}, {"gaps_ns", gaps}};
}

// The machine's part is written by itself, in the order of its keys.
template <class Facts>
ordered_json machine_json(const Facts& facts) {
  return nlohmann::json(facts);
}

}  // namespace

std::string fio_json(const report& report, const series& only) { return fio_output(report, only).dump(1) + '\n'; }

std::string json(const report& report) {
  ordered_json own = {{"version", report.version},
                      {"started", report.started},
                      {"started_seconds", report.started_seconds},
                      {"command_line", report.command_line},
                      {"valid", report.valid()},
                      {"complete", report.complete},
                      {"notes", report.notes},
                      {"settings", to_json(report.settings)},
                      {"clock", to_json(report.clock)},
                      {"noise_before", to_json(report.noise_before)},
                      {"noise_after", to_json(report.noise_after)},
                      {"trusted_fraction", or_null(report.trusted_fraction)},
                      {"machine", machine_json(report.machine)},
                      {"advice", machine_json(report.advice)},
                      {"counters", machine_json(report.counters)},
                      {"series", ordered_json::array()}};
  for (const series& each : report.series) own["series"].push_back(to_json(each));
  ordered_json out = fio_output(report);
  out["qio"] = std::move(own);
  // A path may be no UTF-8.
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace qd1
