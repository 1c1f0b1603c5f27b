// SPDX-License-Identifier: BSL-1.0
// HTML and SVG as a tree. Whatever goes in as text comes out as text: only to_string() escapes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qd1::html {

class node;
using attribute_list = std::vector<std::pair<std::string, std::string>>;
using nodes = std::vector<node>;

/// An element with its attributes and children, or a text.
class node {
 public:
  node(const char* text) : text_(text) {}
  node(std::string_view text) : text_(text) {}
  node(std::string text) : text_(std::move(text)) {}
  node(std::string_view tag, attribute_list attributes, nodes children)
      : tag_(tag), attributes_(std::move(attributes)), children_(std::move(children)) {}

  node& add(node child) {
    children_.push_back(std::move(child));
    return *this;
  }

  /// Nothing at all is written for it.
  bool empty() const { return tag_.empty() && text_.empty(); }

 private:
  friend class writer;
  std::string tag_;  ///< empty: a text
  attribute_list attributes_;
  nodes children_;
  std::string text_;
};

/// `element("p", {{"class", "lead"}}, {"text & ", element("b", {}, {"more"})})`
inline node element(std::string_view tag, attribute_list attributes = {}, nodes children = {}) {
  return {tag, std::move(attributes), std::move(children)};
}

/// Markup that is both HTML 5 and well-formed XML. The contents of `style` and `script` are not escaped, as HTML
/// requires: they must be this program's own, without `<` and `&`.
std::string to_string(const node& root);

/// Text for markup: escapes the five special characters, and control characters, which XML cannot express.
std::string escaped(std::string_view text);

}  // namespace qd1::html
