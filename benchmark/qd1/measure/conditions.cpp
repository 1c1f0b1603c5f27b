// SPDX-License-Identifier: BSL-1.0
#include "measure/conditions.hpp"

#include "figures.hpp"
#include "measure/offsets.hpp"
#include "platform/file.hpp"
#include "platform/names.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace qd1 {
namespace {

void refuse_reads_without_data(const data_file& file, report& run) {
  const auto missing = platform::bytes_without_data(file.path(), file.bytes());
  if (missing.value_or(0) == 0) return;
  for (series& each : run.series)
    if (each.work.operation == operation::read && each.not_available.empty())
      each.invalid.push_back(
          fmt::format("{} of {} bytes are holes or were never written: they are read without the device",
                      grouped(*missing), grouped(file.bytes())));
}

void notice_compressible_data(const data_file& file, report& run) {
  constexpr std::size_t sample_bytes = 4096;
  constexpr int samples = 64;
  constexpr double incompressible = 7.5;  // random data have 7.95 in so small a sample
  const auto opened = qio::cached_file::open(file.path());
  if (!opened || file.bytes() < sample_bytes) return;
  auto next_offset = random_offsets(run.settings.seed, file.bytes(), sample_bytes);
  std::vector<std::byte> sample(sample_bytes);
  int compressible = 0;
  for (int each = 0; each < samples; ++each) {
    const auto read = opened.value().read_at(next_offset(), sample);
    if (read && entropy(sample) < incompressible) ++compressible;
  }
  if (compressible != 0)
    run.notes.push_back(
        fmt::format("{} of {} sampled blocks of the file compress: devices and file systems that compress "
                    "or deduplicate serve those faster than real data",
                    compressible, samples));
  const std::string compression = run.machine.filesystem.compression.value_or("none");
  if (compressible != 0 && compression != "none")
    run.notes.push_back(
        fmt::format("this file system compresses ({}): fewer bytes than were asked for were moved, and "
                    "the figures are not those of the device",
                    compression));
}

// Notes the limit of the control group, which includes the page cache.
void notice_memory_limit(report& run) {
  const auto limit = run.machine.host.limits.memory_bytes;
  for (series& each : run.series)
    if (limit && traits(each.work.mode).keeps_pages && each.measured() &&
        each.work.working_set * each.work.load.targets > *limit)
      each.notes.push_back(
          fmt::format("memory is limited to {} bytes by a control group, less than the {} that are worked on: pages "
                      "may have been thrown out and written back meanwhile, and this may have waited for it",
                      grouped(*limit), grouped(each.work.working_set * each.work.load.targets)));
}

// The same work within more.
bool is_wider(const work& one, work other) {
  if (other.working_set <= one.working_set) return false;
  other.working_set = one.working_set;
  return one == other;
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
          "{:.1f} times as fast as within {}: a working set of {} fits a cache below, whose figures these are",
          more->value / less->value, size_text(wider.work.working_set), size_text(each.work.working_set)));
      break;
    }
}

void notice_stolen_time(report& run) {
  const auto stolen = run.counters.processors ? run.counters.processors->steal_percent() : std::nullopt;
  if (stolen.value_or(0) >= 1)
    run.notes.push_back(
        fmt::format("{:.1f} % of processor time went to other guests of this host during the run: the "
                    "tail is theirs, too",
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
        fmt::format("the processor ran at {} MHz in some rounds, and at {} MHz in others: latencies of the same thing "
                    "differ within the run",
                    least, most));
}

void notice_heat(report& run) {
  std::uint64_t throttled = 0;
  for_each_disturbance(run, [&](const disturbance& each) { throttled += each.throttled.value_or(0); });
  if (throttled != 0)
    run.notes.push_back(
        fmt::format("the processor was slowed for heat {} times during the run: let it cool down, and "
                    "see to its cooling",
                    throttled));
}

// Who asks for an engine, and reads the figures of what else there was, is misled.
void refuse_other_engines(report& run) {
  if (run.settings.engine != platform::own_engine_option) return;
  for (series& each : run.series)
    if (each.work.form == form::asynchronous && !each.service.engine.empty() &&
        each.service.engine != platform::own_engine)
      each.invalid.push_back(fmt::format("--engine {} was requested, but is unavailable: {}",
                                         platform::own_engine_option, each.service.reason));
}

}  // namespace

double entropy(std::span<const std::byte> data) {
  std::array<double, 256> counts{};
  for (const std::byte each : data) ++counts[static_cast<std::size_t>(each)];
  double bits = 0;
  for (const double count : counts)
    if (count > 0) bits -= count * std::log2(count / static_cast<double>(data.size()));
  return data.empty() ? 0 : bits / static_cast<double>(data.size());
}

void judge_data(const data_file& file, report& run) {
  refuse_reads_without_data(file, run);
  notice_compressible_data(file, run);
}

void judge_conditions(report& run) {
  notice_stolen_time(run);
  refuse_other_engines(run);
  notice_memory_limit(run);
  notice_caches_below(run);
  notice_frequencies(run);
  notice_heat(run);
}

}  // namespace qd1
