// SPDX-License-Identifier: BSL-1.0
#include "document.hpp"

#include "digest.hpp"

namespace qd1::html {
namespace {

constexpr std::string_view style =
#include "style.css"
    ;
constexpr std::string_view script =
#include "read_out.js"
    ;

// The page's own style and script and nothing else, whatever is in the report: no other script, no address, no form.
const std::string& policy() {
  static const std::string made = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src '" +
                                  digest(style) + "'; script-src '" + digest(script) + "'";
  return made;
}

node head(const std::string& title, const std::string& version) {
  return element("head", {},
                 {element("meta", {{"charset", "utf-8"}}),
                  element("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", policy()}}),
                  element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}),
                  element("meta", {{"name", "color-scheme"}, {"content", "light dark"}}),
                  element("meta", {{"name", "generator"}, {"content", "qd1 " + version}}),
                  element("title", {}, {title}), element("style", {}, {style})});
}

}  // namespace

std::string document(const std::string& title, const std::string& version, std::string_view body_class,
                     nodes contents) {
  node body = element("body", {{"class", std::string(body_class)}}, std::move(contents));
  body.add(element("div", {{"id", "read-out"}, {"aria-hidden", "true"}}));
  body.add(element("script", {}, {script}));
  return "<!DOCTYPE html>" +
         to_string(element("html", {{"lang", "en"}, {"xmlns", "http://www.w3.org/1999/xhtml"}},
                           {head(title, version), std::move(body)})) +
         "\n";
}

}  // namespace qd1::html
