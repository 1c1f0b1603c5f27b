// Paths that become UTF-8.
#include "catch.hpp"
#include <qio/base/utf8.hpp>
#include <qio/path.hpp>

#include <filesystem>
#include <string>
#include <type_traits>

using qio::detail::utf8_of;

static_assert(std::is_convertible_v<std::filesystem::path, qio::path_view>);
static_assert(std::is_convertible_v<std::filesystem::path, qio::owned_path>);
static_assert(sizeof(wchar_t) == 2 || std::is_trivially_copyable_v<qio::path_view>);
// Only on Windows are wide characters UTF-16.
static_assert(std::is_convertible_v<std::wstring, qio::path_view> == (sizeof(wchar_t) == 2));

TEST_CASE("UTF-16 becomes UTF-8") {
  CHECK(utf8_of(L"").empty());
  CHECK(utf8_of(L"a\x7f") == "a\x7f");
  CHECK(utf8_of(L"\x80\x7ff") == "\xc2\x80\xdf\xbf");
  CHECK(utf8_of(L"\x800\xffff") == "\xe0\xa0\x80\xef\xbf\xbf");
  CHECK(utf8_of(L"\xd800\xdc00\xdbff\xdfff") == "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
  CHECK(utf8_of(std::wstring(L"a\0b", 3)) == std::string("a\0b", 3));
}

TEST_CASE("half of a surrogate pair becomes three bytes") {
  CHECK(utf8_of(L"\xd83d") == "\xed\xa0\xbd");
  CHECK(utf8_of(L"\xde00\xd83d") == "\xed\xb8\x80\xed\xa0\xbd");
  CHECK(utf8_of(L"\xd83d\xd83d\xde00") == "\xed\xa0\xbd\xf0\x9f\x98\x80");
}

TEST_CASE("an owned path has the text of what it was made of") {
  const std::filesystem::path path = "directory/file";
  CHECK(qio::owned_path(path) == "directory/file");
  CHECK(qio::owned_path("file") == "file");
  CHECK(qio::owned_path(std::string("a\0b", 3)).size() == 3);
}
