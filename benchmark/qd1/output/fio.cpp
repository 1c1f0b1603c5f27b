// SPDX-License-Identifier: BSL-1.0
#include "output/fio.hpp"

#include "failure.hpp"
#include "output/text_file.hpp"
#include "platform/file.hpp"
#include "units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace qd1 {
namespace {

using nlohmann::ordered_json;

double deviation(const latency& latency) {
  double squares = 0;
  for (const bin& each : latency.bins)
    squares += static_cast<double>(each.count) * (each.ns - latency.mean.value) * (each.ns - latency.mean.value);
  return latency.samples == 0 ? 0 : std::sqrt(squares / static_cast<double>(latency.samples));
}

ordered_json summary_of_nothing() { return {{"min", 0}, {"max", 0}, {"mean", 0.}, {"stddev", 0.}, {"N", 0}}; }

// fio's bins are whole nanoseconds: ours that fall together are one.
ordered_json bins(const latency& latency) {
  std::map<std::uint64_t, std::uint64_t> whole;
  for (const bin& each : latency.bins) whole[static_cast<std::uint64_t>(std::lround(each.ns))] += each.count;
  ordered_json out = ordered_json::object();
  for (const auto& [ns, count] : whole) out[std::to_string(ns)] = count;
  return out;
}

ordered_json summary(const latency& latency) {
  ordered_json percentiles = ordered_json::object();
  for (const percentile& each : latency.percentiles)
    if (each.value) percentiles[fmt::format("{:.6f}", each.fraction * 100)] = std::llround(each.value->value);
  return {{"min", std::llround(latency.min)},
          {"max", std::llround(latency.max)},
          {"mean", latency.mean.value},
          {"stddev", deviation(latency)},
          {"N", latency.samples},
          {"percentile", percentiles},
          {"bins", bins(latency)}};
}

// Mean and deviation of what the slices did a second.
ordered_json over_time(const series& series, double unit, const std::string& name, const std::string& deviation_name) {
  double sum = 0;
  double squares = 0;
  double least = series.iops;
  double most = series.iops;
  for (const slice& each : series.slices) {
    const double rate = each.seconds > 0 ? static_cast<double>(each.operations) / each.seconds : 0;
    sum += rate;
    squares += rate * rate;
    least = std::min(least, rate);
    most = std::max(most, rate);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(series.slices.size(), 1));
  const double mean = series.slices.empty() ? series.iops : sum / count;
  const double variance = std::max(0., squares / count - mean * mean);
  return {{name + "_min", std::llround(least * unit)},
          {name + "_max", std::llround(most * unit)},
          {name + "_mean", mean * unit},
          {name + deviation_name, series.slices.empty() ? 0 : std::sqrt(variance) * unit},
          {name + "_samples", series.slices.size()}};
}

ordered_json idle_direction() {
  return {{"io_bytes", 0},
          {"io_kbytes", 0},
          {"bw_bytes", 0},
          {"bw", 0},
          {"iops", 0.},
          {"runtime", 0},
          {"total_ios", 0},
          {"short_ios", 0},
          {"drop_ios", 0},
          {"slat_ns", summary_of_nothing()},
          {"clat_ns", summary_of_nothing()},
          {"lat_ns", summary_of_nothing()},
          {"bw_min", 0},
          {"bw_max", 0},
          {"bw_agg", 0.},
          {"bw_mean", 0.},
          {"bw_dev", 0.},
          {"bw_samples", 0},
          {"iops_min", 0},
          {"iops_max", 0},
          {"iops_mean", 0.},
          {"iops_stddev", 0.},
          {"iops_samples", 0}};
}

ordered_json direction(const series& series) {
  ordered_json out = idle_direction();
  const double bytes = static_cast<double>(series.latency.samples * series.work.block);
  out["io_bytes"] = series.latency.samples * series.work.block;
  out["io_kbytes"] = std::llround(bytes / 1024);
  out["bw_bytes"] = std::llround(series.bytes_per_second);
  out["bw"] = std::llround(series.bytes_per_second / 1024);
  out["iops"] = series.iops;
  out["runtime"] = std::llround(series.seconds * 1000);
  out["total_ios"] = series.latency.samples;
  out["clat_ns"] = summary(series.latency);
  out["lat_ns"] = out["clat_ns"];
  out["bw_agg"] = 100.;
  out.update(over_time(series, static_cast<double>(series.work.block) / 1024, "bw", "_dev"));
  out.update(over_time(series, 1, "iops", "_stddev"));
  return out;
}

// Per cent of the samples in each of fio's classes, of which each is named by its upper end.
ordered_json classes(const latency& latency, double unit, double from, const std::vector<int>& ends, bool open) {
  ordered_json out = ordered_json::object();
  const auto part = [&](double low, double high) {
    std::uint64_t count = 0;
    for (const bin& each : latency.bins)
      if (each.ns >= low && each.ns < high) count += each.count;
    return 100 * static_cast<double>(count) / static_cast<double>(latency.samples);
  };
  for (const int end : ends) {
    out[std::to_string(end)] = part(from, end * unit);
    from = end * unit;
  }
  if (open) out[fmt::format(">={}", ends.back())] = part(from, HUGE_VAL);
  return out;
}

ordered_json options(const series& series) {
  const load& load = series.work.load;
  const std::string_view order = load.order == order::sequential ? "" : "rand";
  const std::string distribution = load.theta ? fmt::format("zipf:{:g}", *load.theta) : "random";
  return {{"name", file_title(series.work)},
          {"rw", fmt::format("{}{}", order, name(series.work.operation))},
          {"random_distribution", distribution},
          {"bs", std::to_string(series.work.block)},
          {"size", std::to_string(series.work.working_set)},
          {"direct", traits(series.work.mode).is_direct ? "1" : "0"},
          {"ioengine", series.service.engine},
          {"iodepth", std::to_string(load.depth)},
          {"numjobs", std::to_string(load.workers * load.targets)}};
}

// All of the time at one of fio's levels, of which each goes up to the next.
ordered_json depths(std::uint64_t depth) {
  ordered_json out = ordered_json::object();
  for (std::uint64_t level = 1; level <= 32; level *= 2)
    out[std::to_string(level)] = depth >= level && depth < 2 * level ? 100. : 0.;
  out[">=64"] = depth >= 64 ? 100. : 0.;
  return out;
}

ordered_json job_of(const series& series) {
  const bool reads = series.work.operation == operation::read;
  const double busy = series.cpu_ns.value_or(0) * series.iops * 1e-9 * 100;
  const latency& latency = series.latency;
  return {{"jobname", file_title(series.work)},
          {"groupid", 0},
          {"error", 0},
          {"eta", 0},
          {"elapsed", std::llround(std::ceil(series.seconds))},
          {"job options", options(series)},
          {"read", reads ? direction(series) : idle_direction()},
          {"write", reads ? idle_direction() : direction(series)},
          {"trim", idle_direction()},
          {"sync", {{"total_ios", 0}, {"lat_ns", summary_of_nothing()}}},
          {"job_runtime", std::llround(series.seconds * 1000)},
          {"usr_cpu", 0.},
          {"sys_cpu", busy},
          {"ctx", 0},
          {"majf", 0},
          {"minf", 0},
          {"iodepth_level", depths(series.work.load.depth)},
          {"latency_ns", classes(latency, 1, 0, {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000}, false)},
          {"latency_us", classes(latency, 1e3, 1e3, {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000}, false)},
          {"latency_ms", classes(latency, 1e6, 1e6, {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000}, true)},
          {"latency_depth", series.work.load.depth},
          {"latency_target", 0},
          {"latency_percentile", 100.},
          {"latency_window", 0}};
}

ordered_json with_jobs(const report& report, ordered_json jobs) {
  return {{"fio version", "qd1-" + report.version},
          {"timestamp", report.started_seconds},
          {"timestamp_ms", report.started_seconds * 1000},
          {"time", report.started},
          {"global options", ordered_json::object()},
          {"jobs", std::move(jobs)},
          {"disk_util", ordered_json::array()}};
}

}  // namespace

ordered_json fio_output(const report& report) {
  ordered_json jobs = ordered_json::array();
  for (const series& each : report.series)
    if (each.measured()) jobs.push_back(job_of(each));
  return with_jobs(report, std::move(jobs));
}

ordered_json fio_output(const report& report, const series& only) {
  return with_jobs(report, ordered_json::array({job_of(only)}));
}

namespace {

void make_directory(const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) throw usage_error(fmt::format("{}: {}", directory, failed.message()));
}

}  // namespace

void require_fio_directory(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::path nearest = fs::absolute(directory, failed).lexically_normal();
  while (!failed && !fs::exists(nearest, failed) && nearest.has_relative_path()) nearest = nearest.parent_path();
  if (!failed && !fs::is_directory(nearest)) failed = std::make_error_code(std::errc::not_a_directory);
  if (failed) throw usage_error(fmt::format("{}: {}", directory, failed.message()));
  platform::require_writable((nearest / ".qd1-probe").string());
}

void write_fio_files(const report& report, const std::string& directory) {
  for (const series& each : report.series) {
    if (!each.measured()) continue;
    const std::string own = (std::filesystem::path(directory) / file_title(each.work)).string();
    make_directory(own);
    write_file(own + "/fio.json", fio_output(report, each).dump(1) + '\n');
  }
}

}  // namespace qd1
