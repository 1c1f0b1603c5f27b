// SPDX-License-Identifier: BSL-1.0
#include <qd1/machine/linux/text.hpp>

#include <charconv>
#include <system_error>

namespace qd1::linux_system {
namespace {

constexpr std::string_view white = " \t\n\r";

template <class Number>
std::optional<Number> whole(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> pieces(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> found;
  for (std::size_t from = 0; (from = text.find_first_not_of(separators, from)) != std::string_view::npos;) {
    const std::size_t to = std::min(text.find_first_of(separators, from), text.size());
    found.push_back(text.substr(from, to - from));
    from = to;
  }
  return found;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(white);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(white) - from + 1);
}

std::vector<std::string_view> lines(std::string_view text) { return pieces(text, "\n"); }
std::vector<std::string_view> words(std::string_view text) { return pieces(text, white); }

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> found;
  for (const std::string_view each : pieces(text, std::string_view(&separator, 1))) found.emplace_back(each);
  return found;
}

std::optional<std::uint64_t> to_number(std::string_view text) { return whole<std::uint64_t>(text); }
std::optional<double> to_decimal(std::string_view text) { return whole<double>(text); }

std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  for (const std::string_view line : lines(text)) {
    if (!line.starts_with(key)) continue;
    std::string_view rest = line.substr(key.size());
    if (!rest.empty() && std::string_view(" \t:=").find(rest.front()) == std::string_view::npos) continue;
    rest = trimmed(rest);
    if (rest.starts_with(':') || rest.starts_with('=')) rest = trimmed(rest.substr(1));
    if (rest.size() >= 2 && rest.front() == '"' && rest.back() == '"') rest = rest.substr(1, rest.size() - 2);
    return rest;
  }
  return std::nullopt;
}

choice to_choice(std::string_view text) {
  choice found;
  for (std::string_view word : words(text)) {
    const bool chosen = word.starts_with('[') && word.ends_with(']');
    if (chosen) word = word.substr(1, word.size() - 2);
    if (chosen) found.current = word;
    found.available.emplace_back(word);
  }
  // What leaves no choice has no brackets: the scheduler of a device mapper device is "none".
  if (!found.current && found.available.size() == 1) found.current = found.available.front();
  return found;
}

std::vector<std::uint64_t> to_cpu_list(std::string_view text) {
  constexpr std::uint64_t most = 1 << 16;  // eight times as many as Linux knows
  std::vector<std::uint64_t> found;
  for (const std::string_view range : pieces(text, ",")) {
    const std::size_t dash = range.find('-');
    const auto first = to_number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : to_number(range.substr(dash + 1));
    if (!first || !last || *last >= most || (!found.empty() && *first <= found.back())) return {};
    for (std::uint64_t each = *first; each <= *last; ++each) found.push_back(each);
  }
  return found;
}

}  // namespace qd1::linux_system
