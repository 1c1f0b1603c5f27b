// Names that Windows' own calls make difficult.
#include "catch.hpp"
#include "world.hpp"
#include <qio/names.hpp>

using qio::access;
using qio::creation;

TEST_CASE("paths are UTF-8") {
  const contract::directory where;
  const std::string name = where / "\xc3\xbc\xe6\x96\x87\xf0\x9f\x98\x80";  // an umlaut, a Chinese character, a smiley
  auto file = qio::cached_file::open(name, access::read_write, creation::only_if_missing);
  REQUIRE(file);
  std::size_t found = 0;
  for (const auto& each : std::filesystem::directory_iterator(where.path()))
    found += each.path().filename().native() == L"\u00fc\u6587\U0001f600" ? 1u : 0u;
  CHECK(found == 1);
}

TEST_CASE("a std::filesystem::path and a std::wstring reach Windows as they are") {
  const contract::directory where;
  const std::filesystem::path name = std::filesystem::path(where.path()) / L"\u00fc\u6587\U0001f600";
  CHECK(qio::cached_file::open(name, access::read_write, creation::only_if_missing));
  CHECK(std::filesystem::exists(name));
  CHECK(qio::cached_file::open(name.native()));
  auto context = qio::context::create().value();
  CHECK(context.run(qio::cached_file::async_open(context, name)));
  CHECK(context.run(qio::async_remove(context, name)).value());
  CHECK(!std::filesystem::exists(name));
}

TEST_CASE("a name with half of a surrogate pair is no other name") {
  for (const std::wstring each : {L"a\xd83d", L"\xde00", L"\xde00\xd83d", L"\xd83d\xd83d\xde00z", L"\xd7ff\xe000"}) {
    const qio::path_view path = std::filesystem::path(each);
    CHECK(qio::platform::wide(path).value() == each);
  }
  // Both halves in three bytes each are no name: it has a shorter form.
  CHECK(qio::platform::wide("\xed\xa0\xbd\xed\xb8\x80").error() == std::errc::illegal_byte_sequence);
}

TEST_CASE("a path that is not UTF-8 is refused, and no file is created") {
  const contract::directory where;
  const auto refused = qio::cached_file::open(where / "a\xff", access::read_write, creation::if_needed);
  REQUIRE(!refused);
  CHECK(refused.error() == std::errc::illegal_byte_sequence);
  CHECK(where.entries() == 0);
}

TEST_CASE("a path may be longer than MAX_PATH, absolute or not, for each creation") {
  const contract::directory where;
  std::string deep = where.path();
  for (int i = 0; i < 8; ++i) {
    deep += "/" + std::string(100, static_cast<char>('a' + i));
    const auto name = qio::platform::native_path(deep).value();
    REQUIRE(::CreateDirectoryW(name.c_str(), nullptr) != 0);
    REQUIRE(name.starts_with(LR"(\\?\)") == (name.size() >= 228));
  }
  REQUIRE(deep.size() > 800);
  for (const auto how : {creation::only_if_missing, creation::open_existing, creation::if_needed,
                         creation::truncate_existing, creation::always_new}) {
    auto file = qio::cached_file::open(deep + "/file", access::read_write, how);
    REQUIRE(file);
    std::array<std::byte, 3> three{};
    CHECK(file.value().write_at(0, three).value() == 3);
  }
  CHECK(qio::sync_directory(deep));
  for (std::string each = deep; each.size() > where.path().size(); each.erase(each.rfind('/'))) {
    ::DeleteFileW(qio::platform::native_path(each + "/file").value().c_str());
    ::RemoveDirectoryW(qio::platform::native_path(each).value().c_str());
  }
  CHECK(where.entries() == 0);
}

TEST_CASE("a file in a directory of any length is replaced, whatever the length of its temporary name") {
  const contract::directory where;
  const std::wstring own = LR"(\\?\)" + qio::platform::native_path(where.path()).value() + L'\\';
  for (std::size_t bytes = 200; bytes < 256; ++bytes) {
    const std::size_t letters = bytes - (own.size() - 4);
    const std::string deep = where.path() + '/' + std::string(letters, 'd');
    REQUIRE(::CreateDirectoryW((own + std::wstring(letters, L'd')).c_str(), nullptr) != 0);
    CAPTURE(bytes);
    for (int i = 0; i < 2; ++i) CHECK(qio::cached_file::open(deep + "/f", access::write, creation::always_new));
    ::DeleteFileW(qio::platform::native_path(deep + "/f").value().c_str());
    ::RemoveDirectoryW(qio::platform::native_path(deep).value().c_str());
  }
  CHECK(where.entries() == 0);
}

TEST_CASE("no open lets the server of a pipe act for this process, or shows a dialog") {
  const contract::directory where;
  const DWORD mode = ::GetThreadErrorMode();
  shim::now.opens = shim::now.opens_impersonated = shim::now.opens_with_dialogs = 0;
  for (const auto how : {creation::only_if_missing, creation::open_existing, creation::if_needed,
                         creation::truncate_existing, creation::always_new}) {
    CHECK(qio::cached_file::open(where / "file", access::read_write, how));
    CHECK(!qio::cached_file::open(where / "missing/file", access::read_write, how));
  }
  shim::fail_next(shim::call::set_modes, ERROR_INVALID_FUNCTION);
  const auto context = qio::context::create();
  CHECK(!qio::cached_file::open(context.value(), where / "new", access::read_write, creation::only_if_missing));
  CHECK(qio::sync_directory(where.path()));
  CHECK(shim::now.opens >= 12);
  CHECK(shim::now.opens_impersonated == 0);
  CHECK(shim::now.opens_with_dialogs == 0);
  CHECK(::GetThreadErrorMode() == mode);
}

TEST_CASE("opening beneath a directory fails with beneath_not_supported") {
  const contract::directory where;
  const auto refused = qio::directory::open(where.path());
  REQUIRE(!refused);
  CHECK(refused.error() == qio::errc::beneath_not_supported);
  CHECK(refused.error() == std::errc::operation_not_supported);
}
