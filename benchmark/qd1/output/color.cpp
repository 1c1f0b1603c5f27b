// SPDX-License-Identifier: BSL-1.0
#include "output/color.hpp"

#include "platform/process.hpp"

#include <cstdlib>
#include <string_view>

namespace qd1 {
namespace {

struct highlight {
  std::string_view word;
  std::string_view code;
};

constexpr highlight highlights[] = {
    {"INVALID", "\033[1;31m"},       {"NOT direct", "\033[1;31m"}, {"SLOWER", "\033[1;31m"},
    {"severe:", "\033[1;31m"},       {"INCOMPLETE", "\033[1;33m"}, {"RATE NOT REACHED", "\033[1;33m"},
    {"not steady", "\033[33m"},      {"warning:", "\033[33m"},     {"outlier:", "\033[33m"},
    {"VERIFIED direct", "\033[32m"}, {"FASTER", "\033[1;32m"},     {"Provisional", "\033[1m"},
    {"QUICK", "\033[1;33m"},         {"NOT WARM", "\033[1;33m"}};

bool has_colors() {
  const char* const refused = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  if (refused != nullptr && *refused != '\0') return false;
  return platform::output_is_terminal() && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

}  // namespace

std::string with_colors(const std::string& text) {
  std::string out = text;
  for (const auto& [word, code] : highlights)
    for (std::size_t at = out.find(word); at != std::string::npos; at = out.find(word, at)) {
      const std::string replaced = std::string(code) + std::string(word) + "\033[0m";
      out.replace(at, word.size(), replaced);
      at += replaced.size();
    }
  return out;
}

std::string colored(const std::string& text) { return has_colors() ? with_colors(text) : text; }

}  // namespace qd1
