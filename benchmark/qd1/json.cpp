// SPDX-License-Identifier: BSL-1.0
#include "json.hpp"

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

ordered_json to_json(const work& work) {
  return {{"mode", name(work.mode)},     {"operation", name(work.operation)},
          {"form", name(work.form)},     {"temperature", name(work.temperature)},
          {"advice", name(work.advice)}, {"durability", name(work.durability)},
          {"block", work.block},         {"working_set", work.working_set},
          {"rate", or_null(work.rate)},  {"poisson", work.poisson}};
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

ordered_json to_json(const service& service) {
  return {{"engine", service.engine},       {"reason", service.reason},   {"by_call", service.by_call},
          {"by_inline", service.by_inline}, {"by_ring", service.by_ring}, {"by_worker", service.by_worker}};
}

ordered_json to_json(const std::vector<slice>& slices) {
  ordered_json out = ordered_json::array();
  for (const slice& each : slices)
    out.push_back({{"start", each.start},
                   {"seconds", each.seconds},
                   {"operations", each.operations},
                   {"mean_ns", each.mean},
                   {"max_ns", each.max}});
  return out;
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
  out["seconds"] = series.seconds;
  out["iops"] = series.iops;
  out["bytes_per_second"] = series.bytes_per_second;
  out["cpu_ns"] = or_null(series.cpu_ns);
  out["batched_ns"] = or_null(series.batched_ns);
  out["slices"] = to_json(series.slices);
  return out;
}

ordered_json to_json(const settings& settings) {
  return {{"path", settings.path},       {"file_size", settings.file_size}, {"block", settings.block},
          {"samples", settings.samples}, {"seconds", settings.seconds},     {"engine", settings.engine},
          {"seed", settings.seed}};
}

ordered_json to_json(const timer_facts& clock) {
  return {{"source", clock.source},
          {"reason", clock.reason},
          {"tick_ns", clock.tick_ns},
          {"floor_ns", clock.floor_ns},
          {"deviation", clock.deviation}};
}

}  // namespace

std::string json(const report& report) {
  ordered_json own = {{"version", report.version},
                      {"started", report.started},
                      {"command_line", report.command_line},
                      {"valid", report.valid()},
                      {"complete", report.complete},
                      {"notes", report.notes},
                      {"settings", to_json(report.settings)},
                      {"clock", to_json(report.clock)},
                      {"series", ordered_json::array()}};
  for (const series& each : report.series) own["series"].push_back(to_json(each));
  return ordered_json({{"qio", own}}).dump(1) + '\n';
}

}  // namespace qd1
