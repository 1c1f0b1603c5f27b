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

// Empty if none is near.
std::string nearest(std::string_view typed, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 32;  // no name is
  if (typed.size() > longest) return {};
  std::size_t least = 3;
  std::string found;
  for (const std::string& each : names) {
    const std::size_t edits = distance(typed, each);
    if (edits >= std::min(least, each.size())) continue;
    least = edits;
    found = each;
  }
  return found;
}

}  // namespace

std::string did_you_mean(std::string_view typed, const std::vector<command>& all) {
  std::vector<std::string> names;
  for (const command& each : all)
    if (!each.hidden) names.push_back(each.name);
  const std::string found = nearest(typed, names);
  return found.empty() ? "." : "; did you mean the command " + found + "?";
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& options) {
  std::string found = nearest(typed, options);
  for (const std::string& each : options)  // "--perc", and "-json" with one hyphen
    if (found.empty() && typed.size() > 3 && (each.starts_with(typed) || each.substr(1) == typed)) found = each;
  return found.empty() ? "." : "; did you mean " + found + "?";
}

}  // namespace qd1
