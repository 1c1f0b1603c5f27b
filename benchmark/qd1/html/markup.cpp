// SPDX-License-Identifier: BSL-1.0
#include "markup.hpp"

#include <qd1/text/printable.hpp>

#include <algorithm>
#include <array>

namespace qd1::html {
namespace {

// Elements of HTML that may have no end tag, and shapes that need none.
bool is_leaf(std::string_view tag) {
  constexpr std::array<std::string_view, 5> leaves = {"meta", "path", "line", "rect", "circle"};
  return std::ranges::find(leaves, tag) != leaves.end();
}

bool starts_line(std::string_view tag) {
  constexpr std::array<std::string_view, 9> in_line = {"b",    "span",   "small", "path", "line",
                                                       "rect", "circle", "text",  "code"};
  return std::ranges::find(in_line, tag) == in_line.end();
}

}  // namespace

std::string escaped(std::string_view text) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const character next = first_character(text);
    switch (text[0]) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: {
        const bool is_shown = !is_command(next.code) || next.code == '\n' || next.code == '\t';
        result += next.bytes != 0 && is_shown ? text.substr(0, next.bytes) : replacement;
      }
    }
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  return result;
}

class writer {
 public:
  void write(const node& from) {
    if (from.tag_.empty()) {
      out += escaped(from.text_);
      return;
    }
    if (starts_line(from.tag_)) out += '\n';
    out += '<' + from.tag_;
    for (const auto& [name, value] : from.attributes_) out += ' ' + name + "=\"" + escaped(value) + '"';
    if (is_leaf(from.tag_)) {
      out += "/>";
      return;
    }
    out += '>';
    const bool verbatim = from.tag_ == "style" || from.tag_ == "script";
    for (const node& child : from.children_) verbatim ? void(out += child.text_) : write(child);
    out += "</" + from.tag_ + '>';
  }

  std::string out;
};

std::string to_string(const node& root) {
  writer to;
  to.write(root);
  return std::move(to.out);
}

}  // namespace qd1::html
