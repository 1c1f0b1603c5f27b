// SPDX-License-Identifier: BSL-1.0
// The report as a page for people: one file, which needs no network and no other file.
#pragma once

#include "../report.hpp"
#include "../reproduce/reproduction.hpp"

#include <span>
#include <string>

namespace qd1::html {

/// The page of one run: for each kind of work, its modes side by side.
std::string render(const report& run);

/// A run among others.
struct named_report {
  std::string name;  ///< distinguishes it from the others for a reader: "base.json", "6.18"
  const report* run = nullptr;
};

/// The page of several runs: for each mode, the runs side by side. The first is what the others are compared with.
std::string render(std::span<const named_report> runs);

/// The page of a repeated experiment: what repeats, the published figures beside this machine's, then each measurement.
std::string render(const reproduction& of);

}  // namespace qd1::html
