// SPDX-License-Identifier: BSL-1.0
#include "units.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace qd1 {
namespace {

struct quantity {
  double number;
  std::string_view unit;
};

// Not negative, finite; or a NaN, which passes no test.
quantity split(std::string_view text) {
  quantity found{std::numeric_limits<double>::quiet_NaN(), {}};
  const auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), found.number, std::chars_format::fixed);
  if (failure != std::errc()) found.number = std::numeric_limits<double>::quiet_NaN();
  found.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return found;
}

double power(std::string_view unit) {
  constexpr std::string_view letters = "kmgt";
  if (unit.empty() || unit == "B") return 1;
  const auto letter = letters.find(static_cast<char>(unit[0] | 0x20));
  if (letter == std::string_view::npos) return 0;
  const std::string_view rest = unit.substr(1);
  const auto exponent = static_cast<double>(letter + 1);
  if (rest.empty() || rest == "iB") return std::pow(1024., exponent);
  return rest == "B" ? std::pow(1000., exponent) : 0;
}

}  // namespace

std::uint64_t parse_size(std::string_view what, std::string_view text) {
  const auto [number, unit] = split(text);
  const double bytes = number * power(unit);
  if (!(bytes >= 1) || bytes > 0x1p62 || bytes != std::floor(bytes))
    throw usage_error(fmt::format(
        "{}: '{}' is not a size; write a number of bytes, or one with k, M, G, T, such as 4k or 1GiB", what, text));
  return static_cast<std::uint64_t>(bytes);
}

double parse_seconds(std::string_view what, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> units = {
      {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}}};
  const auto [number, unit] = split(text);
  for (const auto& [name, one] : units)
    if (const double seconds = number * one; unit == name && seconds > 0 && std::isfinite(seconds)) return seconds;
  throw usage_error(
      fmt::format("{}: '{}' is not a time; write a number of seconds, or one with ms, s, m, h", what, text));
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, units[unit]);
}

std::string grouped(std::uint64_t number, char separator) {
  std::string digits = std::to_string(number);
  for (std::size_t from_end = 3; from_end < digits.size(); from_end += 4)
    digits.insert(digits.size() - from_end, 1, separator);
  return digits;
}

std::string trusted_text(double fraction) {
  if (fraction >= 1) return "the maximum";
  // Two digits after the nines.
  const double scale = std::pow(10, std::max(std::floor(-std::log10(1 - fraction) + 1e-9) - 1, 0.0));
  return fmt::format("p{:.8g}", std::floor(fraction * 100 * scale + 1e-9) / scale);
}

std::string percentile_name(double fraction) { return fmt::format("p{:.6g}", fraction * 100); }

}  // namespace qd1
