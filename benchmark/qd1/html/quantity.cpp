// SPDX-License-Identifier: BSL-1.0
#include "quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace qd1::html {
namespace {

struct unit {
  double ns;
  std::string_view name;
};

// Nanoseconds only below 0.1 µs: 0.38 µs beside 0.81 µs and 57 µs is easier to compare than 380 ns.
const unit& unit_of(double ns) {
  static constexpr unit units[] = {{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
  if (ns < 99.95) return units[0];
  if (ns < 999.5e3) return units[1];
  return ns < 999.5e6 ? units[2] : units[3];
}

std::string digits(double value, int significant) {
  if (!(value > 0) || !std::isfinite(value)) return fmt::format("{:.0f}", value);
  // 9.996 has two digits before the point once it is rounded.
  const double rounded = std::min(value * (1 + 0.5 * std::pow(10, -significant)), std::numeric_limits<double>::max());
  const int before = static_cast<int>(std::floor(std::log10(rounded))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(significant - before, 0, 6));
}

}  // namespace

amount duration(double ns) {
  const unit& in = unit_of(ns);
  return {digits(ns / in.ns, 3), in.name};
}

std::string duration_text(double ns) {
  const amount text = duration(ns);
  return fmt::format("{}\u00a0{}", text.number, text.unit);
}

std::string interval_text(const interval& bounds, double of) {
  const double unit = unit_of(of).ns;
  // As many digits as it takes to distinguish the ends; a bin's width, 0.1 %, is in the fourth.
  for (const int significant : {3, 4}) {
    const std::string low = digits(bounds.low / unit, significant);
    const std::string high = digits(bounds.high / unit, significant);
    if (low != high) return fmt::format("{}–{}", low, high);
  }
  return "±0.1\u00a0%";
}

std::string axis_text(double ns) {
  static constexpr unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
  for (const unit& each : units)
    if (ns >= each.ns * 0.999) return fmt::format("{:.3g}\u00a0{}", ns / each.ns, each.name);
  return fmt::format("{:.3g}\u00a0ns", ns);
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t from_end = 3; from_end < text.size(); from_end += 4) text.insert(text.size() - from_end, 1, ',');
  return text;
}

std::string rate_text(double a_second) {
  if (a_second >= 999.5e3) return digits(a_second / 1e6, 3) + "\u00a0M";
  if (a_second >= 999.5) return digits(a_second / 1e3, 3) + "\u00a0k";
  return digits(a_second, 3);
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g}\u00a0{}", value, units[unit]);
}

amount figure_amount(qd1::unit unit, double value) {
  switch (unit) {
    case qd1::unit::nanoseconds: return duration(value);
    case qd1::unit::per_second: return {rate_text(value), ""};
    case qd1::unit::count: return {count_text(static_cast<std::uint64_t>(value)), ""};
    case qd1::unit::megabytes_per_second:
    case qd1::unit::cycles:
    case qd1::unit::percentile:
    case qd1::unit::percent:
    case qd1::unit::ratio: break;
  }
  return {qd1::figure_text(unit, value), ""};
}

std::string percentile_text(double fraction) { return fmt::format("p{:.8g}", fraction * 100); }

std::string percent_text(double fraction) { return fmt::format("{:.8g}\u00a0%", fraction * 100); }

std::string ratio_text(double ratio) {
  if (ratio < 1.2) return fmt::format("{:.2f}×", ratio);
  return ratio < 9.95 ? fmt::format("{:.1f}×", ratio) : digits(ratio, 2) + "×";
}

std::string excess_text(double ratio) {
  return ratio < 1.45 ? fmt::format("{:.2g}\u00a0%", (ratio - 1) * 100) : ratio_text(ratio);
}

std::string date_text(std::string iso) {
  if (const auto at = iso.find('T'); at != std::string::npos) iso[at] = ' ';
  if (iso.ends_with('Z')) iso.replace(iso.size() - 1, 1, " UTC");
  return iso;
}

}  // namespace qd1::html
