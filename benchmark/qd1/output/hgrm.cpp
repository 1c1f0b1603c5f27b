// SPDX-License-Identifier: BSL-1.0
#include "output/hgrm.hpp"

#include "output/text_file.hpp"

#include <fmt/format.h>

#include <cmath>

namespace qd1 {
namespace {

struct position {
  double ns;
  std::uint64_t count;  // of the samples up to there
};

// Where `fraction` of the samples lies, each repeated run with the same weight. Begins to look at a bin, with the
// number of samples before it, and sets both to where it ended.
position find(const latency& latency, double fraction, std::size_t& index, std::uint64_t& before) {
  const auto share = [&] {
    return latency.shares.empty()
               ? static_cast<double>(before + latency.bins[index].count) / static_cast<double>(latency.samples)
               : latency.shares[index];
  };
  while (index + 1 < latency.bins.size() && share() < fraction - 1e-9) before += latency.bins[index++].count;
  return {latency.bins[index].ns, before + latency.bins[index].count};
}

}  // namespace

std::string hgrm(const latency& latency) {
  std::string text =
      fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  if (latency.bins.empty()) return text;
  const auto line = [&](double ns, double fraction, std::uint64_t count) {
    text += fmt::format("{:>12.3f} {:>14.12f} {:>10}", ns / 1000, fraction, count);
    text += fraction < 1 ? fmt::format(" {:>14.2f}\n", 1 / (1 - fraction)) : "\n";
  };
  // Five steps to half of what is left to 1, then five to half of the rest, and so on, as long as samples are left.
  constexpr int steps = 5;
  std::size_t index = 0;
  std::uint64_t before = 0;
  for (double rest = 1; rest * static_cast<double>(latency.samples) >= 1; rest /= 2)
    for (int step = 0; step < steps; ++step) {
      const double fraction = 1 - rest * (1 - 0.5 * step / steps);
      const position found = find(latency, fraction, index, before);
      line(found.ns, fraction, found.count);
    }
  line(latency.max, 1, latency.samples);
  double squares = 0;
  for (const bin& each : latency.bins)
    squares += static_cast<double>(each.count) * (each.ns - latency.mean.value) * (each.ns - latency.mean.value);
  const double deviation = std::sqrt(squares / static_cast<double>(latency.samples));
  text +=
      fmt::format("#[Mean    = {:>12.3f}, StdDeviation   = {:>12.3f}]\n", latency.mean.value / 1000, deviation / 1000);
  text += fmt::format("#[Max     = {:>12.3f}, Total count    = {:>12}]\n", latency.max / 1000, latency.samples);
  text += fmt::format("#[Buckets = {:>12}, SubBuckets     = {:>12}]\n", 56, 512);
  return text;
}

void write_hgrm_files(const report& report, const std::string& prefix) {
  for (const series& each : report.series)
    if (each.measured()) write_file(fmt::format("{}-{}.hgrm", prefix, file_title(each.work)), hgrm(each.latency));
}

}  // namespace qd1
