// SPDX-License-Identifier: BSL-1.0
// What is being done, on standard error: one line that changes where a person watches a terminal; lines of their own
// with --progress; else nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace qd1::progress {

/// Shows progress even if standard error is no terminal.
void request() noexcept;
/// Whether it is shown at all.
bool is_shown() noexcept;

void show(std::string_view what);
/// A line that stays.
void tell(std::string_view what);
/// Leaves the line empty.
void clear();

struct place {
  std::uint64_t round, rounds;
  std::size_t turn, turns;
  double elapsed;  ///< seconds
  double planned;  ///< seconds of all rounds, at most
};

void show_round(const place& at, const std::string& what);

/// "2 min 5 s", "40 s"
std::string duration_text(double seconds);

}  // namespace qd1::progress
