// SPDX-License-Identifier: BSL-1.0
#include "measure/conditions.hpp"

#include "figures.hpp"
#include "machine/medium.hpp"
#include "platform/names.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

namespace qd1 {
namespace {

// Notes the limit of the control group, which includes the page cache.
void notice_memory_limit(report& run) {
  const auto limit = run.machine.host.limits.memory_bytes;
  for (series& each : run.series)
    if (limit && traits(each.work.mode).keeps_pages && each.measured() &&
        each.work.working_set * each.work.load.targets > *limit)
      each.notes.push_back(fmt::format(
          "memory is limited to {} bytes by a control group, less than the {} of the working set: pages may "
          "have been evicted and written back meanwhile, and this may have waited for it",
          grouped(*limit), grouped(each.work.working_set * each.work.load.targets)));
}

// The same work within more.
bool is_wider(const work& one, work other) {
  if (other.working_set <= one.working_set) return false;
  other.working_set = one.working_set;
  return one == other;
}

// "cold" is of the page cache. What else keeps the data in memory is named, and reads that needed no device.
void notice_warm_reads(report& run) {
  const storage_bottom bottom = bottom_of(run.machine);
  const device_facts* const loop = caching_loop(run.machine);
  constexpr double nearly = 0.97;  // one page in a hundred may stay, and half of them be counted late
  for (series& each : run.series) {
    if (each.work.temperature != temperature::cold || !each.measured()) continue;
    const auto asked = static_cast<double>(each.verification.application_operations * each.work.block);
    if (bottom.medium != medium::device)
      each.notes.push_back("cold for the page cache of this file only: " + bottom.why);
    else if (loop != nullptr)
      each.notes.push_back(fmt::format(
          "cold for the page cache of this file only: {} keeps its own file in the page cache, too", loop->name));
    else if (const auto& fetched = each.verification.fetched_bytes;
             fetched && each.work.form == form::blocking && static_cast<double>(*fetched) < nearly * asked)
      each.notes.push_back(fmt::format(
          "not everything was cold: {} bytes were read from devices, of {} requested: the rest was in memory, or "
          "compressed",
          grouped(*fetched), grouped(static_cast<std::uint64_t>(asked))));
  }
}

// Reads of pages that were thrown out meanwhile wait for the device. Where memory was made short, that is the subject.
void notice_cold_reads(report& run) {
  constexpr double few = 0.01;
  constexpr double read_ahead_of_others = 256 * 1024;
  for (series& each : run.series) {
    const work& of = each.work;
    const auto& fetched = each.verification.fetched_bytes;
    if (of.operation != operation::read || of.temperature != temperature::warm || !traits(of.mode).keeps_pages ||
        of.memory || !each.measured() || !fetched)
      continue;
    const auto asked = static_cast<double>(each.verification.application_operations * of.block);
    if (static_cast<double>(*fetched) <= few * asked + read_ahead_of_others) continue;
    each.notes.push_back(fmt::format(
        "NOT WARM: {} bytes were read from devices, {:.0f} % of what was requested: pages had been evicted, as happens "
        "if a file is larger than memory, and reads of them waited for the device; choose a smaller --working-set",
        grouped(*fetched), static_cast<double>(*fetched) / asked * 100));
  }
}

void notice_small_working_sets(report& run) {
  const std::uint64_t page = qio::platform::page_size();
  for (series& each : run.series)
    if (each.measured() && each.work.working_set < page)
      each.notes.push_back(fmt::format(
          "a working set of {} bytes is less than a page: every transfer uses the same page, which any cache holds",
          each.work.working_set));
}

// What a device (or the machine below this one) has in a memory of its own it need not look for.
void notice_caches_below(report& run) {
  constexpr double much = 1.5;
  const auto median = [](const series& from) { return median_of(from); };
  for (series& each : run.series)
    for (const series& wider : run.series) {
      if (!traits(each.work.mode).is_direct || !each.measured() || !wider.measured() ||
          !is_wider(each.work, wider.work))
        continue;
      const auto less = median(each);
      const auto more = median(wider);
      if (!less || !more || more->value < much * less->value) continue;
      each.notes.push_back(fmt::format(
          "{:.1f} times as fast as within {}: a working set of {} fits into a cache below, which these figures measure",
          more->value / less->value, size_text(wider.work.working_set), size_text(each.work.working_set)));
      break;
    }
}

void notice_stolen_time(report& run) {
  const auto stolen = run.counters.processors ? run.counters.processors->steal_percent() : std::nullopt;
  if (stolen.value_or(0) >= 1)
    run.notes.push_back(
        fmt::format("{:.1f} % of processor time went to other guests of this host during the run: the "
                    "tail is partly theirs",
                    *stolen));
}

// Calls `look` for what disturbed each round.
void for_each_disturbance(const report& run, const std::function<void(const disturbance&)>& look) {
  for (const series& each : run.series)
    for (const round& round : each.rounds) look(round.disturbance);
}

void notice_frequencies(report& run) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  for_each_disturbance(run, [&](const disturbance& each) {
    least = std::min(least, each.frequency_mhz.value_or(least));
    most = std::max(most, each.frequency_mhz.value_or(most));
  });
  if (most > least + least / 10)
    run.notes.push_back(
        fmt::format("the processor ran at {} MHz in some rounds, and at {} MHz in others: latencies of the same work "
                    "differ within the run",
                    least, most));
}

void notice_heat(report& run) {
  std::uint64_t throttled = 0;
  for_each_disturbance(run, [&](const disturbance& each) { throttled += each.throttled.value_or(0); });
  if (throttled != 0)
    run.notes.push_back(
        fmt::format("the processor was throttled for heat {} times during the run: let it cool down, and "
                    "check its cooling",
                    throttled));
}

// Few transfers that took most of the time are the mean of all, and appear in no percentile.
void notice_stalls(report& run) {
  constexpr double least_ns = 1e7;
  constexpr double times_median = 100;
  constexpr double part_of_time = 0.01;
  for (series& each : run.series) {
    const auto median = each.measured() && each.work.load.is_single() ? median_of(each) : std::nullopt;
    if (!median) continue;
    const double least = std::max(least_ns, times_median * median->value);
    std::uint64_t stalls = 0;
    double seconds = 0;
    for (const bin& of : each.latency.bins) {
      if (of.ns < least) continue;
      stalls += of.count;
      seconds += of.ns * 1e-9 * static_cast<double>(of.count);
    }
    if (seconds >= part_of_time * each.seconds && seconds > 0)
      each.notes.push_back(fmt::format(
          "{} {} of {:.3g} s in {:.3g} s, the longest {:.3g} s: transfers that took over {:.3g} ms, which is {:.0f} % "
          "of the time",
          stalls, stalls == 1 ? "stall" : "stalls", seconds, each.seconds, each.latency.max * 1e-9, least * 1e-6,
          seconds / each.seconds * 100));
  }
}

// Where one transfer follows the other, the latencies add up to the time. What they do not include is not measured.
// Workers (loads, profiles, short memory) may have one in flight when a round begins or ends.
void judge_time_between(report& run) {
  if (run.kind != report_kind::run || !run.settings.profile.empty()) return;
  constexpr double least_within = 0.8;
  constexpr double most_within = 1.02;
  constexpr double own_ns = 1'000;  // the loop itself: offsets, stamps, the clock
  for (series& each : run.series) {
    if (!each.measured() || !each.work.load.is_single() || each.work.rate || each.latency.max <= 0 || each.iops <= 0)
      continue;
    const double mean = mean_of_all(each);
    const double within = mean * 1e-9 * each.iops;
    const double between = 1e9 / each.iops - mean;
    if (within > most_within)
      each.invalid.push_back(fmt::format(
          "mean × IOPS is {:.2f}: one after the other, the transfers took longer than the time that passed", within));
    else if (within < least_within && between > own_ns)
      each.notes.push_back(
          fmt::format("mean × IOPS is {:.2f}: {:.0f} % of the time passed between transfers, {:.1f} µs each, which no "
                      "latency includes",
                      within, (1 - within) * 100, between / 1000));
  }
}

// A latency is known to within a step of the clock. The mean is, too, of steps that transfers do not wait for.
void judge_clock_steps(report& run) {
  const double step = run.clock.step_ns;
  for (series& each : run.series) {
    const auto median = each.measured() && each.latency.max > 0 ? median_of(each) : std::nullopt;
    if (!median) continue;
    const std::string moves = fmt::format("the clock moves in steps of {:.4g} µs", step / 1000);
    if (2 * step > median->value) {
      each.invalid.push_back(fmt::format("{}, and the median is {:.3g} µs: it cannot measure such latencies", moves,
                                         median->value / 1000));
      continue;
    }
    if (10 * step > median->value)
      each.notes.push_back(fmt::format("{}, {:.0f} % of the median: percentiles are known to within a step", moves,
                                       step / median->value * 100));
    for (percentile& of : each.latency.percentiles)
      if (of.value && of.value->interval)
        of.value->interval = interval{std::max(0., of.value->interval->low - step), of.value->interval->high + step};
  }
}

// The figures of another engine than the one requested would mislead.
void refuse_other_engines(report& run) {
  const platform::engine* const wanted = platform::engine_named(run.settings.engine);
  if (wanted == nullptr) return;
  for (series& each : run.series) {
    const service& by = each.service;
    const bool is_other = !by.reason.empty() || (!by.engine.empty() && by.engine != wanted->name);
    if (each.work.form == form::asynchronous && is_other)
      each.invalid.push_back(
          fmt::format("--engine {} was requested, but is unavailable: {}", wanted->option, by.reason));
  }
}

}  // namespace

void judge_conditions(report& run) {
  notice_stolen_time(run);
  notice_stalls(run);
  judge_time_between(run);
  judge_clock_steps(run);
  refuse_other_engines(run);
  notice_memory_limit(run);
  notice_warm_reads(run);
  notice_cold_reads(run);
  notice_small_working_sets(run);
  notice_caches_below(run);
  notice_frequencies(run);
  notice_heat(run);
}

}  // namespace qd1
