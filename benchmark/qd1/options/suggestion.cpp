// SPDX-License-Identifier: BSL-1.0
#include "options/suggestion.hpp"

#include <algorithm>
#include <cstddef>

namespace qd1 {
namespace {

// Letters to insert, remove or replace, or neighbors to swap (F. J. Damerau, 1964; of each pair once).
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> of(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
  for (std::size_t a = 0; a <= from.size(); ++a)
    for (std::size_t b = 0; b <= to.size(); ++b) {
      if (a == 0 || b == 0) {
        of[a][b] = a + b;
        continue;
      }
      const bool same = from[a - 1] == to[b - 1];
      of[a][b] = std::min({of[a - 1][b] + 1, of[a][b - 1] + 1, of[a - 1][b - 1] + (same ? 0 : 1)});
      if (a > 1 && b > 1 && from[a - 1] == to[b - 2] && from[a - 2] == to[b - 1])
        of[a][b] = std::min(of[a][b], of[a - 2][b - 2] + 1);
    }
  return of[from.size()][to.size()];
}

}  // namespace

std::string did_you_mean(std::string_view typed, const std::vector<command>& all) {
  constexpr std::size_t longest = 32;  // no command is
  std::size_t least = 3;
  std::string found = ".";
  for (const command& each : all) {
    const std::size_t edits = each.hidden || typed.size() > longest ? least : distance(typed, each.name);
    if (edits >= std::min(least, each.name.size())) continue;
    least = edits;
    found = "; did you mean the command " + each.name + "?";
  }
  return found;
}

}  // namespace qd1
