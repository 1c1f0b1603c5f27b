// SPDX-License-Identifier: BSL-1.0
// Sizes and durations as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace qd1 {

/// "4096", "4k", "4K", "4KiB": 4096; "4kB": 4000; likewise M, G, T. Else throws usage_error, which names `what`.
std::uint64_t parse_size(std::string_view what, std::string_view text);

/// "2", "2s": 2; "500ms": 0.5; "1m": 60. Else throws usage_error, which names `what`.
double parse_seconds(std::string_view what, std::string_view text);

/// "4 KiB", "1 GiB", "1000 B": exact.
std::string size_text(std::uint64_t bytes);

/// "368 887"
std::string grouped(std::uint64_t number, char separator = ' ');

/// 0.99934: "p99.93": the percentile up to which a series can be trusted, rounded down.
std::string trusted_text(double fraction);

/// The exponent of Zipf's law: what fio uses if `random_distribution=zipf` is given without one (FIO_DEF_ZIPF in its
/// fio.h), and the range that may be requested.
inline constexpr double usual_theta = 1.1;
inline constexpr double least_theta = 0.01;
inline constexpr double greatest_theta = 10;

/// The range of percentiles that a report may have, as fractions. No run has enough samples for others.
inline constexpr double least_fraction = 1e-5;
inline constexpr double greatest_fraction = 0.999999;

/// 0.99999: "p99.999"
std::string percentile_name(double fraction);

}  // namespace qd1
