// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <qd1/html/quantity.hpp>

using namespace qd1::html;

namespace {

std::string with_unit(const char* number, const char* unit) { return std::string(number) + no_break_space + unit; }

}  // namespace

TEST_CASE("durations have three digits, and the unit a reader expects") {
  CHECK(duration_text(24) == with_unit("24.0", "ns"));
  CHECK(duration_text(381.4) == with_unit("0.381", "µs"));
  CHECK(duration_text(57'040) == with_unit("57.0", "µs"));
  CHECK(duration_text(999'400) == with_unit("999", "µs"));
  CHECK(duration_text(999'600) == with_unit("1.00", "ms"));
  CHECK(duration_text(4.1e6) == with_unit("4.10", "ms"));
  CHECK(duration_text(2.5e9) == with_unit("2.50", "s"));
  CHECK(duration_text(0) == with_unit("0", "ns"));
}

TEST_CASE("an interval has enough digits to distinguish its ends") {
  CHECK(interval_text({380, 382}, 381) == "0.380–0.382");
  CHECK(interval_text({57'010, 57'040}, 57'020) == "57.01–57.04");
  CHECK(interval_text({900, 900}, 900) == with_unit("±0.1", "%"));
  CHECK(interval_text({950, 1'100'000}, 990) == "0.950–1100");  // in the unit of what it belongs to
}

TEST_CASE("counts, rates, sizes, percentiles, ratios") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(368'887) == "368,887");
  CHECK(count_text(1'000'000) == "1,000,000");
  CHECK(rate_text(812) == "812");
  CHECK(rate_text(17'430) == with_unit("17.4", "k"));
  CHECK(rate_text(2'456'789) == with_unit("2.46", "M"));
  CHECK(size_text(4096) == with_unit("4", "KiB"));
  CHECK(size_text(1u << 30) == with_unit("1", "GiB"));
  CHECK(percentile_text(0.99999) == "p99.999");
  CHECK(percentile_text(0.5) == "p50");
  CHECK(ratio_text(1.043) == "1.04×");
  CHECK(ratio_text(2.13) == "2.1×");
  CHECK(ratio_text(150.2) == "150×");
  CHECK(excess_text(1.1) == with_unit("10", "%"));
  CHECK(excess_text(1.042) == with_unit("4.2", "%"));
  CHECK(excess_text(2.4) == "2.4×");
}
