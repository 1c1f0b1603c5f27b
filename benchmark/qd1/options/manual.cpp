// SPDX-License-Identifier: BSL-1.0
#include "options/documents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

namespace qd1 {
namespace {

constexpr std::size_t manual_width = 80;
constexpr std::string_view about = "measures file I/O: direct, uncached, cached and mapped";

std::string signature(const option& of) {
  return of.value.empty() || of.is_argument() ? of.name : of.name + " " + of.value;
}

std::string description(const option& of) {
  std::string text = of.help;
  if (!of.choices.empty()) text += fmt::format("{} {}", text.ends_with(':') ? "" : ":", fmt::join(of.choices, ", "));
  if (!of.preset.empty()) text += fmt::format(". Default: {}", of.preset);
  return text.ends_with('.') ? text : text + ".";
}

std::string synopsis(const command& of) {
  std::string text = "qd1 " + of.name;
  for (const option& each : of.options.all())
    if (each.is_argument()) {
      const std::string one = each.name + (each.most > 1 ? "..." : "");
      text += each.required || each.least > 0 ? " " + one : " [" + one + "]";
    }
  return text + " [OPTION...]";
}

// A line that begins with a point or an apostrophe is a request; a hyphen would become a dash.
std::string roff(const std::string& text) {
  std::string safe;
  for (const char each : text) {
    if (each == '\\')
      safe += "\\e";
    else if (each == '-')
      safe += "\\-";
    else
      safe += each;
    if (each == '\n') safe += ".br\n";
  }
  return safe;
}

std::string indented(const std::string& text, std::size_t indent, std::size_t width) {
  std::string lines;
  std::istringstream paragraphs(text);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::istringstream words(paragraph);
    std::string line(indent, ' ');
    bool is_empty = true;
    for (std::string word; words >> word; is_empty = false) {
      if (!is_empty && line.size() + 1 + word.size() > width) {
        lines += line + '\n';
        line = std::string(indent, ' ');
      } else if (!is_empty) {
        line += ' ';
      }
      line += word;
    }
    lines += line + '\n';
  }
  return lines;
}

}  // namespace

std::string manual_page(const std::vector<command>& all) {
  std::string page = fmt::format(".TH QD1 1\n.SH NAME\nqd1 \\- {}\n.SH SYNOPSIS\n", about);
  for (const command& each : all) page += fmt::format(".B {}\n.br\n", roff(synopsis(each)));
  page += ".SH COMMANDS\n";
  for (const command& each : all) {
    page += fmt::format(".SS {}\n{}.\n", roff(each.name), roff(each.help));
    for (const option& one : each.options.all())
      page += fmt::format(".TP\n.B {}\n{}\n", roff(signature(one)), roff(description(one)));
  }
  return page +
         ".SH EXIT STATUS\n.TP\n0\nmeasured; all gates are met\n.TP\n1\na gate is not met\n.TP\n2\nnothing was "
         "measured: "
         "the request cannot be carried out; or not all output could be written\n.TP\n3\na gate is inconclusive: there "
         "are too few "
         "samples\n.TP\n4\ninvalid: "
         "measured, but not to be believed\n.TP\n130\ninterrupted by Ctrl-C, SIGTERM or SIGHUP; what was measured "
         "until then is printed and "
         "written\n";
}

std::string help_text(const std::vector<command>& all, std::size_t width) {
  std::string text =
      fmt::format("qd1 {}\n\nUsage: qd1 COMMAND [OPTION...]\n       qd1 --help | --version\n\nCommands:\n", about);
  for (const command& each : all)
    if (each.help.size() + 14 <= width)
      text += fmt::format("  {:<12}{}\n", each.name, each.help);
    else
      text += fmt::format("  {}\n{}", each.name, indented(each.help, 14, width));
  return text + "\nThe options of a command: qd1 COMMAND --help\n";
}

std::string help_text(const command& of, std::size_t width) {
  std::string text = indented(of.help + ".", 0, width) + "\nUsage: " + synopsis(of) + "\n\n";
  for (const option& each : of.options.all())
    text += fmt::format("  {}\n{}", signature(each), indented(description(each), 6, width));
  return text;
}

std::string manual_text(const std::vector<command>& all) {
  std::string text = help_text(all, manual_width);
  for (const command& each : all) text += fmt::format("\n----\n{}", help_text(each, manual_width));
  return text;
}

}  // namespace qd1
