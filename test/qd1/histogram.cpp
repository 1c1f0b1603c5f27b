// SPDX-License-Identifier: BSL-1.0
#include "statistics/histogram.hpp"

#include "catch.hpp"
#include "measure/offsets.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

// From 1 ps to minutes, each magnitude equally likely.
std::vector<std::uint64_t> samples_of_all_magnitudes(std::uint64_t seed, std::size_t count) {
  qd1::splitmix64 random(seed);
  std::vector<std::uint64_t> samples(count);
  for (std::uint64_t& each : samples) each = (random() >> (random() % 48 + 16)) + 1;
  return samples;
}

qd1::histogram histogram_of(const std::vector<std::uint64_t>& samples) {
  qd1::histogram made;
  for (const std::uint64_t each : samples) made.record(each);
  return made;
}

TEST_CASE("a ranked sample is within 0.1 % of the sorted one") {
  auto samples = samples_of_all_magnitudes(1, 100'000);
  const qd1::histogram histogram = histogram_of(samples);
  std::sort(samples.begin(), samples.end());
  double worst = 0;
  for (std::size_t rank = 1; rank <= samples.size(); rank += 97) {
    const double exact = static_cast<double>(samples[rank - 1]) / 1000;
    worst = std::max(worst, std::abs(histogram.ranked_ns(rank) - exact) / exact);
  }
  CHECK(worst <= 0.001);
}

TEST_CASE("minimum, maximum and mean are exact") {
  const auto samples = samples_of_all_magnitudes(2, 10'000);
  const qd1::histogram histogram = histogram_of(samples);
  std::uint64_t sum = 0;
  for (const std::uint64_t each : samples) sum += each;
  CHECK(histogram.minimum_ns() == static_cast<double>(*std::min_element(samples.begin(), samples.end())) / 1000);
  CHECK(histogram.maximum_ns() == static_cast<double>(*std::max_element(samples.begin(), samples.end())) / 1000);
  CHECK(histogram.mean_ns() == Approx(static_cast<double>(sum) / 1000 / 10'000).epsilon(1e-12));
}

// Trap 9: coarse buckets have printed percentiles above the maximum.
TEST_CASE("no percentile lies outside of what was seen") {
  qd1::histogram histogram;
  histogram.record(1'000'001);
  CHECK(histogram.ranked_ns(1) == 1000.001);
  histogram.record(1'000'003);
  CHECK(histogram.ranked_ns(1) >= 1000.001);
  CHECK(histogram.ranked_ns(2) <= 1000.003);
}

TEST_CASE("merging loses nothing") {
  const auto first = samples_of_all_magnitudes(3, 5'000);
  const auto second = samples_of_all_magnitudes(4, 7'000);
  qd1::histogram merged = histogram_of(first);
  merged.merge(histogram_of(second));
  auto both = first;
  both.insert(both.end(), second.begin(), second.end());
  const qd1::histogram whole = histogram_of(both);
  CHECK(merged.samples() == whole.samples());
  CHECK(merged.mean_ns() == whole.mean_ns());
  const auto bins = merged.bins();
  const auto expected = whole.bins();
  REQUIRE(bins.size() == expected.size());
  for (std::size_t each = 0; each < bins.size(); ++each) {
    CHECK(bins[each].ns == expected[each].ns);
    CHECK(bins[each].count == expected[each].count);
  }
}

TEST_CASE("the largest number has a bin") {
  qd1::histogram histogram;
  histogram.record(~std::uint64_t(0));
  CHECK(histogram.bins().size() == 1);
}

}  // namespace
