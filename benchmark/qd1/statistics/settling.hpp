// SPDX-License-Identifier: BSL-1.0
// Whether a series warmed up, or drifted, from round to round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace qd1 {

struct round_median {
  double ns = 0;  ///< more than 0
  std::optional<std::uint64_t> processor;
};

struct settling {
  std::size_t warm_up = 0;  ///< that many rounds at the beginning are unlike the later ones
  bool drifts = false;      ///< those after them keep changing
  std::string text;         ///< what is wrong, in words; empty: nothing

  bool settled() const { return warm_up == 0 && !drifts; }
};

/// For reads as for writes, after SNIA's performance test specification, but by medians, so that a few slow samples do
/// not matter, and only where more than the scatter of rounds shows it. Rounds are compared within their CPU.
///
/// The first rounds are a warm-up if each is beyond all rounds of the second half, by their whole range and by 20 % at
/// least. The others drift if their trend changes them by more than 10 % (with a t of 4 at least), or if the medians of
/// five windows differ by more than 20 % while neighboring rounds are alike as independent ones are once in 50 times,
/// or by more than 5 %, and once in 500 times. `in_order` of time. None with fewer than 10 rounds.
std::optional<settling> how_settled(std::span<const round_median> in_order);

}  // namespace qd1
