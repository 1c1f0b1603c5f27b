// SPDX-License-Identifier: BSL-1.0
#include "markup.hpp"

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

// How long the UTF-8 sequence is that `text` begins with; 0 if it begins with none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
  const auto continues = [&](std::size_t from, std::size_t to) {
    for (; from < to; ++from)
      if ((byte(from) & 0xc0u) != 0x80u) return false;
    return true;
  };
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xc2 && byte(0) <= 0xdf && continues(1, 2)) return 2;
  // Not those too long for what they say, nor surrogates, nor what XML forbids (U+FFFE, U+FFFF).
  if ((byte(0) & 0xf0u) == 0xe0 && continues(1, 3)) {
    const unsigned code = (byte(0) & 0xfu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    return code >= 0x800 && (code < 0xd800 || code > 0xdfff) && code < 0xfffe ? 3 : 0;
  }
  if (byte(0) >= 0xf0 && byte(0) <= 0xf4 && continues(1, 4)) {
    const unsigned code = (byte(0) & 0x7u) << 18 | (byte(1) & 0x3fu) << 12;
    return code >= 0x10000 && code <= 0x10ffff ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string escaped(std::string_view text) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char first = text[0];
    switch (first) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: {
        const bool control = (first >= 0 && first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
        result += length == 0 || control ? replacement : text.substr(0, length);
      }
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
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
