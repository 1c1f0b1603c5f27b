// SPDX-License-Identifier: BSL-1.0
// The bins of histograms of durations.
#pragma once

#include <qio/configuration.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Bins of durations in nanoseconds: 32 of equal width between each power of two and the next, so each is at most 1/32
/// as wide as its lower end. Longer ones than 4.8 hours are in the last.
struct latency_bins {
  static constexpr unsigned precision = 5;
  static constexpr std::uint64_t an_octave = 1u << precision;
  static constexpr std::uint64_t longest = (std::uint64_t(1) << 44) - 1;
  static constexpr std::size_t count = (44 - precision + 1) * an_octave;

  static constexpr std::size_t index_of(std::uint64_t ns) noexcept {
    if (ns > longest) [[unlikely]]
      ns = longest;
    // Below 64, each nanosecond has a bin.
    const unsigned shift = static_cast<unsigned>(std::bit_width(ns | an_octave)) - 1 - precision;
    return shift * an_octave + static_cast<std::size_t>(ns >> shift);
  }
  /// The least duration of a bin.
  static constexpr std::uint64_t lower_end(std::size_t index) noexcept {
    if (index < 2 * an_octave) return index;
    const std::size_t shift = index / an_octave - 1;
    return (index - shift * an_octave) << shift;
  }
};
static_assert(latency_bins::index_of(latency_bins::longest) == latency_bins::count - 1);

}  // namespace detail
QIO_END_NAMESPACE
