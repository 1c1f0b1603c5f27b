// SPDX-License-Identifier: BSL-1.0
// Quantities as a person reads them: three digits and a unit.
#pragma once

#include "../figures.hpp"
#include "../report.hpp"
#include "../units.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace qd1::html {

/// Between a number and its unit.
inline constexpr const char* no_break_space = "\u00a0";

/// A number and what it counts, apart, so that a page can set them apart.
struct amount {
  std::string number;
  std::string_view unit;
};

/// 381: "0.381" "µs"; 24: "24.0" "ns"; 4e6: "4.00" "ms".
amount duration(double ns);

/// "0.381 µs"
std::string duration_text(double ns);

/// "0.380–0.382", in the unit of duration(`of`).
std::string interval_text(const interval& bounds, double of);

/// "100 ns", "1 µs": without meaningless digits.
std::string axis_text(double ns);

/// 1234567: "1,234,567"
std::string count_text(std::uint64_t count);

/// 2456789: "2.46 M"
std::string rate_text(double a_second);

/// "4 KiB"
std::string size_text(std::uint64_t bytes);

/// "2026-01-02T03:04:05Z": "2026-01-02 03:04:05 UTC"
std::string date_text(std::string iso);

/// A figure as a number and its unit, apart; the unit is empty where the figure has none.
amount figure_amount(qd1::unit unit, double value);

/// 0.999: "p99.9"
std::string percentile_text(double fraction);

using qd1::trusted_text;

/// 0.999: "99.9 %"
std::string percent_text(double fraction);

/// "1.04×", "2.1×", "150×"
std::string ratio_text(double ratio);

/// What is more than 1 in words that go before "faster": "4.2 %", "2.1×".
std::string excess_text(double ratio);

}  // namespace qd1::html
