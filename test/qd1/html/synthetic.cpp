// SPDX-License-Identifier: BSL-1.0
#include "synthetic.hpp"

#include "../normal_source.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace qd1_test {
namespace {

std::vector<double> draw(const shape& of, std::uint64_t samples, std::uint32_t seed) {
  normal_source from(seed);
  std::vector<double> found(samples);
  for (double& each : found) {
    const bool in_tail = from.uniform() * 1000 < of.tail_per_mille;
    const double deviation = from.normal();
    each = in_tail ? of.tail * std::exp(0.6 * deviation)
                   : of.median * std::exp(of.spread * std::max(deviation, deviation / 3));
    // As a clock ticks.
    each = std::max(std::round(each), 1.0);
  }
  return found;
}

std::vector<qd1::bin> bins_of(const std::vector<double>& sorted) {
  std::map<long, std::uint64_t> counts;  // by 0.1 %
  for (const double ns : sorted) ++counts[std::lround(std::log(ns) * 1000)];
  std::vector<qd1::bin> found;
  for (const auto& [exponent, count] : counts) {
    const double ns = std::exp(static_cast<double>(exponent) / 1000);
    found.push_back({std::clamp(ns, sorted.front(), sorted.back()), count});
  }
  return found;
}

qd1::percentile percentile_of(const std::vector<double>& sorted, double fraction) {
  const auto count = static_cast<double>(sorted.size());
  qd1::percentile found{
      fraction,
      static_cast<std::uint64_t>(std::ceil(std::log(0.025) / std::log(std::max(fraction, 1 - fraction)))),
      {}};
  if (sorted.size() < found.samples_needed) return found;
  const double half = 1.96 * std::sqrt(count * fraction * (1 - fraction));
  const auto at = [&](double rank) { return sorted[static_cast<std::size_t>(std::clamp(rank, 0.0, count - 1))]; };
  found.value = {at(count * fraction), qd1::interval{at(count * fraction - half), at(count * fraction + half)}};
  return found;
}

std::vector<qd1::slice> slices_of(const std::vector<double>& in_order, double seconds) {
  constexpr std::size_t count = 60;
  std::vector<qd1::slice> found;
  for (std::size_t each = 0; each < count; ++each) {
    qd1::slice next{seconds * static_cast<double>(each) / count, seconds / count, 0, 0, 0};
    for (std::size_t of = in_order.size() * each / count; of < in_order.size() * (each + 1) / count; ++of) {
      ++next.operations;
      next.mean += in_order[of];
      next.max = std::max(next.max, in_order[of]);
    }
    if (next.operations != 0) next.mean /= static_cast<double>(next.operations);
    found.push_back(next);
  }
  return found;
}

double mean_of(const std::vector<double>& samples) {
  double sum = 0;
  for (const double each : samples) sum += each;
  return sum / static_cast<double>(samples.size());
}

qd1::latency summary(const std::vector<double>& in_order) {
  std::vector<double> sorted = in_order;
  std::ranges::sort(sorted);
  const double mean = mean_of(sorted);
  qd1::latency found;
  found.samples = sorted.size();
  found.min = sorted.front();
  found.max = sorted.back();
  found.mean = {mean, qd1::interval{mean * 0.99, mean * 1.01}};
  for (const double fraction : {0.5, 0.95, 0.99, 0.999, 0.99999})
    found.percentiles.push_back(percentile_of(sorted, fraction));
  found.bins = bins_of(sorted);
  return found;
}

std::vector<qd1::round> rounds_of(const std::vector<double>& in_order, double seconds) {
  constexpr std::size_t count = 20;
  std::vector<qd1::round> found;
  for (std::size_t each = 0; each < count; ++each) {
    const auto at = [&](std::size_t round) {
      return in_order.begin() + static_cast<std::ptrdiff_t>(in_order.size() * round / count);
    };
    std::vector<double> sorted(at(each), at(each + 1));
    if (sorted.empty()) continue;
    std::ranges::sort(sorted);
    qd1::round next{static_cast<double>(each), {}, seconds / count, sorted.size(), mean_of(sorted), {}, {}};
    for (const qd1::percentile& known : summary(sorted).percentiles)
      if (known.value) next.quantiles.push_back({known.fraction, known.value->value});
    found.push_back(next);
  }
  return found;
}

qd1::service service_of(const qd1::work& what, std::uint64_t samples) {
  if (what.form == qd1::form::blocking)
    return {what.mode == qd1::mode::mapped ? "memory copies" : "system calls", "", samples, 0, 0, 0};
  if (what.mode == qd1::mode::direct) return {"io_uring", "", 0, 0, samples, 0};
  return {"io_uring", "", 0, samples - samples / 1000, samples / 1000, 0};
}

qd1::verification verification_of(const qd1::work& what, std::uint64_t samples) {
  if (what.mode != qd1::mode::direct) return {};
  qd1::verification found;
  found.result = qd1::verification::verdict::verified;
  found.text = "VERIFIED direct: device ops 200,012 / app 200,000; pages cached 0 -> 0";
  found.device_operations = samples + 12;
  found.application_operations = samples;
  found.cached_pages_before = found.cached_pages_after = 0;
  return found;
}

}  // namespace

qd1::latency synthetic_latency(const shape& of, std::uint64_t samples, std::uint32_t seed) {
  return summary(draw(of, samples, seed));
}

qd1::series synthetic_series(const qd1::work& what, const shape& of, std::uint64_t samples, std::uint32_t seed) {
  const std::vector<double> drawn = draw(of, samples, seed);
  qd1::series found;
  found.work = what;
  found.latency = summary(drawn);
  found.seconds = mean_of(drawn) * static_cast<double>(samples) * 1e-9;
  found.iops = static_cast<double>(samples) / found.seconds;
  found.bytes_per_second = found.iops * static_cast<double>(what.block);
  found.cpu_ns = std::min(of.median, 2'400.0);
  if (of.median < 1000) found.batched_ns = of.median - 18;
  found.slices = slices_of(drawn, found.seconds);
  found.rounds = rounds_of(drawn, found.seconds);
  found.service = service_of(what, samples);
  found.verification = verification_of(what, samples);
  return found;
}

qd1::report synthetic_report(std::uint64_t samples, double slower, std::uint32_t seed) {
  using enum qd1::mode;
  using enum qd1::operation;
  using enum qd1::form;
  struct entry {
    qd1::mode mode;
    qd1::operation operation;
    qd1::form form;
    shape of;
  };
  const entry entries[] = {
      {direct, read, blocking, {57'000, 0.12, 240'000, 4}},  {direct, read, asynchronous, {49'000, 0.13, 260'000, 4}},
      {cached, read, blocking, {900, 0.05, 9'000, 0.6}},     {cached, read, asynchronous, {980, 0.05, 9'500, 0.6}},
      {mapped, read, blocking, {380, 0.07, 8'000, 0.5}},     {mapped, read, asynchronous, {410, 0.07, 8'000, 0.5}},
      {direct, write, blocking, {71'000, 0.15, 900'000, 6}}, {direct, write, asynchronous, {69'000, 0.15, 900'000, 6}},
      {cached, write, blocking, {1'200, 0.08, 40'000, 3}},   {cached, write, asynchronous, {5'400, 0.2, 60'000, 5}},
      {mapped, write, blocking, {430, 0.09, 110'000, 2}},    {mapped, write, asynchronous, {460, 0.09, 110'000, 2}},
  };
  qd1::report found;
  found.version = "0.1.0";
  found.started = "2026-01-02T03:04:05Z";
  found.command_line = "qd1 run --html report.html";
  found.settings = {"", 1u << 30, 4096, samples, 5, 20, "auto", 7};
  found.clock.source = "TSC (invariant)";
  found.clock.tick_ns = 0.4;
  found.clock.floor_ns = 24;
  found.clock.deviation = 2e-6;
  found.noise_before = qd1::noise{1, 42'000, {{2'000, 700}, {42'000, 3}}};
  found.noise_after = qd1::noise{1, 61'000, {{2'000, 800}, {61'000, 2}}};
  found.trusted_fraction = 0.9995;
  for (const entry& each : entries) {
    qd1::work what;
    what.mode = each.mode;
    what.operation = each.operation;
    what.form = each.form;
    what.working_set = 1u << 30;
    shape of = each.of;
    of.median *= slower;
    found.series.push_back(synthetic_series(what, of, samples, seed++));
  }
  return found;
}

}  // namespace qd1_test
