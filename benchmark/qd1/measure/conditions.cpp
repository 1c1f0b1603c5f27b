// SPDX-License-Identifier: BSL-1.0
#include "measure/conditions.hpp"

#include "measure/offsets.hpp"
#include "platform/file.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
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
}

void notice_stolen_time(report& run) {
  const auto stolen = run.counters.processors ? run.counters.processors->steal_percent() : std::nullopt;
  if (stolen.value_or(0) >= 1)
    run.notes.push_back(
        fmt::format("{:.1f} % of processor time went to other guests of this host during the run: the "
                    "tail is theirs, too",
                    *stolen));
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

void judge_conditions(const data_file& file, report& run) {
  refuse_reads_without_data(file, run);
  notice_compressible_data(file, run);
  notice_stolen_time(run);
}

}  // namespace qd1
