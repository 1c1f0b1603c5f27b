// SPDX-License-Identifier: BSL-1.0
// A histogram of latencies in picoseconds, over the whole range of 64 bits.
#pragma once

#include "report.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace qd1 {

/// 2^precision bins of equal width between each power of two and the next. Minimum, maximum and sum are exact.
/// Histograms of one precision merge without loss, since all have the same bins.
template <unsigned precision>
class basic_histogram {
 public:
  void record(std::uint64_t picoseconds) noexcept {
    ++counts_[index(picoseconds)];
    ++samples_;
    sum_ += picoseconds;
    minimum_ = std::min(minimum_, picoseconds);
    maximum_ = std::max(maximum_, picoseconds);
  }

  /// Adds the samples of a bin that bins() returned, without loss except for the sum, minimum and maximum.
  void add(const bin& from) noexcept {
    const auto picoseconds = static_cast<std::uint64_t>(std::llround(from.ns * 1000));
    counts_[index(picoseconds)] += from.count;
    samples_ += from.count;
    sum_ += picoseconds * from.count;
    minimum_ = std::min(minimum_, picoseconds);
    maximum_ = std::max(maximum_, picoseconds);
  }

  void merge(const basic_histogram& other) noexcept {
    for (std::size_t each = 0; each < counts_.size(); ++each) counts_[each] += other.counts_[each];
    samples_ += other.samples_;
    sum_ += other.sum_;
    minimum_ = std::min(minimum_, other.minimum_);
    maximum_ = std::max(maximum_, other.maximum_);
  }

  std::uint64_t samples() const noexcept { return samples_; }
  double minimum_ns() const noexcept { return samples_ == 0 ? 0 : nanoseconds(minimum_); }
  double maximum_ns() const noexcept { return nanoseconds(maximum_); }
  double mean_ns() const noexcept {
    return samples_ == 0 ? 0 : static_cast<double>(sum_) / 1000 / static_cast<double>(samples_);
  }

  /// The sample of this rank, counted from 1 in ascending order, never outside of what was seen.
  double ranked_ns(std::uint64_t rank) const noexcept {
    std::uint64_t seen = 0;
    for (std::size_t each = 0; each < counts_.size(); ++each) {
      seen += counts_[each];
      if (seen >= rank) return representative_ns(each);
    }
    return maximum_ns();
  }

  /// All bins that are not empty, ascending.
  std::vector<bin> bins() const {
    std::vector<bin> found;
    for (std::size_t each = 0; each < counts_.size(); ++each)
      if (counts_[each] != 0) found.push_back({representative_ns(each), counts_[each]});
    return found;
  }

 private:
  static constexpr std::uint64_t bins_an_octave = 1u << precision;
  static constexpr std::size_t bin_count = (64 - precision + 1) * bins_an_octave;

  static std::size_t index(std::uint64_t value) noexcept {
    if (value < bins_an_octave) return value;
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - precision;
    return shift * bins_an_octave + (value >> shift);
  }

  static double middle(std::size_t index) noexcept {
    if (index < bins_an_octave) return static_cast<double>(index);
    const std::size_t shift = index / bins_an_octave - 1;
    const auto mantissa = static_cast<double>(index - shift * bins_an_octave);
    return (mantissa + 0.5) * static_cast<double>(std::uint64_t(1) << shift) - 0.5;
  }

  static double nanoseconds(std::uint64_t picoseconds) noexcept { return static_cast<double>(picoseconds) / 1000; }

  double representative_ns(std::size_t index) const noexcept {
    return std::clamp(middle(index) / 1000, nanoseconds(minimum_), nanoseconds(maximum_));
  }

  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(bin_count);
  std::uint64_t samples_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t minimum_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t maximum_ = 0;
};

/// A sample is within 1/1024 of the middle of its bin.
using histogram = basic_histogram<9>;

/// Within 1/32, in a thirtieth of the memory: for many short times.
using coarse_histogram = basic_histogram<4>;

}  // namespace qd1
