// SPDX-License-Identifier: BSL-1.0
// Whatever goes in as text comes out as text.
#include "catch.hpp"

#include <qd1/html/markup.hpp>

using namespace qd1::html;

TEST_CASE("text is escaped, in contents and in attributes") {
  const node found = element("p", {{"title", "\"a\" & 'b' <c>"}}, {"1 < 2 && <script>alert(1)</script>"});
  CHECK(to_string(found) ==
        "\n<p title=\"&quot;a&quot; &amp; &#39;b&#39; &lt;c&gt;\">1 &lt; 2 &amp;&amp; "
        "&lt;script&gt;alert(1)&lt;/script&gt;</p>");
}

TEST_CASE("what XML cannot say, and what is no UTF-8, becomes a replacement character") {
  const std::string replacement = "\xef\xbf\xbd";
  CHECK(escaped(std::string("a\0b", 3)) == "a" + replacement + "b");
  CHECK(escaped("\x1b[31m") == replacement + "[31m");
  CHECK(escaped("\xff") == replacement);
  CHECK(escaped("\xc2\x9b[31m") == replacement + "[31m");  // CSI, of C1
  CHECK(escaped("\xe2\x80\xae"
                "cba") == replacement + "cba");  // what follows is shown backwards
  CHECK(escaped("\xe2\x81\xa6"
                "a\xe2\x81\xa9") == replacement + "a" + replacement);
  CHECK(escaped("\xc0\xaf") == replacement + replacement);           // a slash, longer than need be
  CHECK(escaped("\xed\xa0\x80").find('\xed') == std::string::npos);  // a surrogate
  CHECK(escaped("\xe2\x82") == replacement + replacement);           // cut off
  CHECK(escaped("\xef\xbf\xbf").find("\xbf\xbf") == std::string::npos);
}

TEST_CASE("good UTF-8 is left as it is") {
  for (const std::string text : {"µs", "−log₁₀", "日本", "😀", "line\nline\ttab"}) CHECK(escaped(text) == text);
}

TEST_CASE("shapes end in themselves, other elements by a tag even if they are empty") {
  CHECK(to_string(element("path", {{"d", "M0 0"}})) == "<path d=\"M0 0\"/>");
  CHECK(to_string(element("span")) == "<span></span>");
}
