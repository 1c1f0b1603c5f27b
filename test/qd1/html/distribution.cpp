// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "synthetic.hpp"

#include <qd1/html/distribution.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

using namespace qd1::html;

namespace {

distribution plausible(std::uint64_t samples) {
  return distribution(qd1_test::synthetic_latency({900, 0.05, 9'000, 0.6}, samples, 3));
}

}  // namespace

TEST_CASE("a curve rises in both directions, from the minimum to the maximum") {
  const qd1::latency from = qd1_test::synthetic_latency({57'000, 0.12, 240'000, 4}, 50'000, 5);
  const distribution seen(from);
  CHECK(std::ranges::is_sorted(seen.quantiles(), {}, &quantile::fraction));
  CHECK(std::ranges::is_sorted(seen.quantiles(), {}, &quantile::ns));
  CHECK(seen.quantiles().front().ns == from.min);
  CHECK(seen.quantiles().back().ns == from.max);
  CHECK(seen.quantiles().back().fraction < 1);
  CHECK(seen.at(0.5) == Approx(from.percentiles[0].value->value).epsilon(0.002));
  CHECK(seen.at(0.99) == Approx(from.percentiles[2].value->value).epsilon(0.01));
}

TEST_CASE("samples support a percentile as far as both ends of its interval exist") {
  CHECK(plausible(368'887).supported() >= 0.99999);
  CHECK(plausible(368'000).supported() < 0.99999);
  CHECK(plausible(1'000).supported() == Approx(0.99632).epsilon(1e-5));
}

TEST_CASE("the band is as wide as the intervals that are printed, and wider with fewer samples") {
  const distribution few = plausible(2'000), many = plausible(200'000);
  for (const distribution* each : {&few, &many})
    for (const auto& [fraction, bounds] : each->band()) {
      CHECK(bounds.low <= each->at(fraction));
      CHECK(bounds.high >= each->at(fraction));
      CHECK(fraction <= each->supported() + 1e-12);
    }
  const auto width = [](const distribution& of, double at) {
    const auto bands = of.band();
    const auto found = std::ranges::lower_bound(bands, at, {}, &banded::fraction);
    return found->bounds.high - found->bounds.low;
  };
  CHECK(width(few, 0.9) > width(many, 0.9));
  const qd1::latency from = qd1_test::synthetic_latency({900, 0.05, 9'000, 0.6}, 200'000, 3);
  const distribution seen(from);
  const std::vector<banded> band = seen.band();
  for (const qd1::percentile& each : from.percentiles) {
    if (!each.value) continue;
    const auto found = std::ranges::find(band, each.fraction, &banded::fraction);
    REQUIRE(found != band.end());
    const double drawn = seen.at(each.fraction);  // within the width of a bin
    CHECK(found->bounds.low / drawn == Approx(each.value->interval->low / each.value->value));
    CHECK(found->bounds.high / drawn == Approx(each.value->interval->high / each.value->value));
  }
}

TEST_CASE("what has no interval has no band") {
  qd1::latency from = qd1_test::synthetic_latency({900, 0.05, 9'000, 0.6}, 20'000, 3);
  for (qd1::percentile& each : from.percentiles)
    if (each.value) each.value->interval.reset();
  CHECK(distribution(from).band().empty());
}

TEST_CASE("rounds have the same weight in a curve, however many samples they have") {
  qd1::latency from;
  from.samples = 1'000;
  from.min = 100;
  from.max = 300;
  from.bins = {{100, 900}, {300, 100}};  // nine rounds' worth of samples in the first of two rounds
  CHECK(distribution(from).at(0.7) == Approx(100).epsilon(0.01));
  from.shares = {0.5, 1};
  CHECK(distribution(from).at(0.7) > 150);
}

TEST_CASE("nothing measured is nothing to draw") {
  CHECK(distribution(qd1::latency()).empty());
  CHECK(distribution(qd1::latency()).supported() == 0);
}

TEST_CASE("one sample is both minimum and maximum") {
  qd1::latency one;
  one.samples = 1;
  one.min = one.max = 500;
  one.bins = {{500, 1}};
  CHECK(distribution(one).at(0.5) == 500);
  CHECK(distribution(one).supported() == Approx(0.025));
}

TEST_CASE("more samples than anybody takes can be drawn") {
  qd1::latency endless;
  endless.samples = std::numeric_limits<std::uint64_t>::max();
  endless.min = 400;
  endless.max = 500;
  endless.bins = {{400, endless.samples / 2}, {500, endless.samples / 2}};
  for (const double fraction : {0.5, 0.99, 0.99999})
    endless.percentiles.push_back({fraction, 6, qd1::estimate{450, qd1::interval{400, 500}}});
  CHECK(distribution(endless).supported() <= 1);
  const auto band = distribution(endless).band();
  CHECK(band.size() > 50);
  CHECK(band.size() < 1'000);
}
