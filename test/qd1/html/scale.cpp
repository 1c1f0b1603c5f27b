// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <qd1/html/scale.hpp>

#include <string>
#include <vector>

using namespace qd1::html;

namespace {

std::vector<std::string> labels(const std::vector<tick>& ticks) {
  std::vector<std::string> found;
  for (const tick& each : ticks) found.push_back(each.label);
  return found;
}

void check_ascending_inside(const std::vector<tick>& ticks) {
  double last = -1;
  for (const tick& each : ticks) {
    CHECK(each.at > last);
    CHECK(each.at >= -1e-9);
    CHECK(each.at <= 1 + 1e-9);
    last = each.at;
  }
}

}  // namespace

TEST_CASE("a logarithmic axis of many decades has their powers of ten only") {
  const log_scale scale(180, 4.2e6);
  CHECK(labels(scale.ticks()) ==
        std::vector<std::string>{"100\u00a0ns", "1\u00a0µs", "10\u00a0µs", "100\u00a0µs", "1\u00a0ms"});
  check_ascending_inside(scale.ticks());
}

TEST_CASE("an axis of more decades than it has room for leaves out some") {
  const log_scale scale(100, 1e10);
  CHECK(labels(scale.ticks(5)) ==
        std::vector<std::string>{"100\u00a0ns", "10\u00a0µs", "1\u00a0ms", "100\u00a0ms", "10\u00a0s"});
}

TEST_CASE("a short logarithmic axis has 2 and 5 between, too") {
  const log_scale scale(22'000, 90'000);
  CHECK(labels(scale.ticks()) == std::vector<std::string>{"20\u00a0µs", "50\u00a0µs", "100\u00a0µs"});
  check_ascending_inside(scale.ticks());
}

TEST_CASE("a logarithmic axis holds what it was made for, and keeps the rest at its ends") {
  for (const double low : {0.4, 1.0, 19.9, 20.0, 380.0, 1000.0, 99'999.0})
    for (const double factor : {1.0, 1.3, 7.0, 1e6}) {
      const log_scale scale(low, low * factor);
      CHECK(scale(low) >= 0);
      CHECK(scale(low * factor) <= 1);
      CHECK(scale(low * 1.2) > scale(low));
      CHECK(scale(0) == 0);
      CHECK(scale(1e15) == 1);
      CHECK_FALSE(scale.ticks().empty());
    }
}

TEST_CASE("on the axis of percentiles nines are equally far apart") {
  const percentile_scale scale(5);
  CHECK(labels(scale.ticks()) == std::vector<std::string>{"50\u00a0%", "90\u00a0%", "99\u00a0%", "99.9\u00a0%",
                                                          "99.99\u00a0%", "99.999\u00a0%"});
  CHECK(scale(0.9) == Approx(0.2));
  CHECK(scale(0.99) == Approx(0.4));
  CHECK(scale(0) == 0);
  CHECK(scale(1) == 1);
  check_ascending_inside(scale.ticks());
}

TEST_CASE("counts begin at zero and end at a round number") {
  const count_scale scale(870);
  CHECK(scale.high() == 1000);
  CHECK(scale(0) == 0);
  CHECK(scale(500) == 0.5);
  CHECK(labels(scale.ticks()) == std::vector<std::string>{"0", "200", "400", "600", "800", "1.00\u00a0k"});
  CHECK(count_scale(0)(0) == 0);
}

TEST_CASE("counts that are far apart get a scale of powers of ten") {
  const count_scale scale(200'000, 900);
  CHECK(scale.is_logarithmic());
  CHECK(scale.low() == 2);
  CHECK(scale.high() == 6);
  CHECK(scale(10'000) == 0.5);
  CHECK_FALSE(count_scale(2000, 900).is_logarithmic());
}
