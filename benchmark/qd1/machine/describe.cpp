// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <qd1/machine/describe.hpp>
#include <qd1/machine/present.hpp>

#include <algorithm>
#include <string_view>

namespace qd1 {
namespace {

constexpr std::size_t label_width = 18;

// Bytes that continue a character of UTF-8 take no column (µ, °).
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::size_t next_break(std::string_view text, std::size_t from) {
  return std::min(text.find_first_of(" ,", from), text.size() - 1) + 1;
}

// `first` is what stands left of the first line; what follows begins under its end.
void append_wrapped(std::string& out, std::string_view first, std::string_view text, std::size_t width) {
  const std::size_t indent = columns(first);
  out += first;
  std::size_t used = indent;
  for (std::size_t from = 0, to = 0; from < text.size(); from = to) {
    to = next_break(text, from);
    std::string_view word = text.substr(from, to - from);
    const std::size_t visible = columns(word) - (word.ends_with(' ') ? 1 : 0);
    if (used + visible > width && used > indent) {
      while (out.ends_with(' ')) out.pop_back();
      out += '\n' + std::string(indent, ' ');
      used = indent;
    }
    out += word;
    used += columns(word);
  }
  out += '\n';
}

void append_section(std::string& out, const section& section, std::size_t width) {
  if (section.lines.empty()) return;
  append_wrapped(out, "", section.title, width);
  for (const line& each : section.lines)
    append_wrapped(out, fmt::format("  {:<{}}", each.label, label_width), each.text, width);
  out += '\n';
}

void append_paragraph(std::string& out, const recommendation& advice, std::size_t width) {
  append_wrapped(out, fmt::format("  {:<9}", name(advice.severity)), advice.finding, width);
  append_wrapped(out, std::string(11, ' '), advice.why, width);
  if (advice.command) out += std::string(11, ' ') + "$ " + *advice.command + '\n';
}

}  // namespace

std::string describe(const std::vector<recommendation>& all, std::size_t width) {
  std::string out;
  for (const recommendation& each : all) append_paragraph(out, each, width);
  return out;
}

std::string describe(const machine_facts& machine, std::size_t width) {
  std::string out;
  for (const section& each : present(machine)) append_section(out, each, width);
  const std::string advice = describe(advise(machine), width);
  if (advice.empty()) return out + "Nothing was found that spoils a measurement.\n";
  append_wrapped(out, "", "What spoils or skews a measurement here (qd1 changes none of it; most commands need root)",
                 width);
  return out + advice;
}

}  // namespace qd1
