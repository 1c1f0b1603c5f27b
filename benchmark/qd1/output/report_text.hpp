// SPDX-License-Identifier: BSL-1.0
// Reports that another person may have written: they are checked completely before anything uses them.
#pragma once

#include "report.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace qd1 {

/// Samples of a series, at most: up to here a double counts exactly, with room for a thousand reports merged.
inline constexpr std::uint64_t most_samples = std::uint64_t(1) << 50;

/// The JSON of a report, with each text in it on one line and without commands to a terminal. Throws usage_error where
/// texts are too long, structures too deep or values too many, and nlohmann::json::exception where it is not JSON.
nlohmann::json parse_report(const std::string& text);

/// The same for what this program writes, which is not limited.
nlohmann::json parse_own_report(const std::string& text);

/// The same with texts that are parsed already.
nlohmann::json printable_texts(nlohmann::json from);

/// The report of which parse_report() has returned the member "qio". Throws usage_error and nlohmann::json::exception.
report report_of(const nlohmann::json& own);

/// The checksum of such a member: of all its members but the checksum.
std::string checksum_of(nlohmann::json own);

/// Throws usage_error, which names the member, unless all numbers are such as a run can have: bins that add up to the
/// samples, times that are not negative, nothing that overflows when it is added up.
void check(const report& read);

}  // namespace qd1
