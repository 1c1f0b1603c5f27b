// Locks as Windows has them, and what options exclude from being opened.
#include "../world.hpp"

#include <filesystem>
#include <string>

namespace contract {

using qio::lock_kind;

PROMISE(lock_exact, everywhere_in_the_system, "only exactly the ranges that were locked are unlocked") {
  auto file = w.with(4096);
  REQUIRE(file.try_lock(lock_kind::exclusive, {0, 100}).value());
  for (const qio::extent range : {qio::extent{0, 50}, qio::extent{}, qio::extent{200, 1}}) {
    const auto refused = file.unlock(range);
    REQUIRE(!refused);
    CHECK(refused.error() == errc::range_not_locked);
  }
  CHECK(file.unlock({0, 100}));
}

PROMISE(lock_own, everywhere_in_the_system, "an own lock keeps out an exclusive one, and nobody reports locks") {
  auto file = w.with(4096);
  REQUIRE(file.try_lock(lock_kind::shared, {0, 100}).value());
  CHECK(!file.try_lock(lock_kind::exclusive, {0, 100}).value());
  CHECK(file.is_locked(lock_kind::shared).error() == errc::lock_query_not_supported);
  CHECK(file.is_locked(lock_kind::shared).error() == std::errc::operation_not_supported);
}

PROMISE(no_links, everywhere_in_the_system, "without follow_links, a symbolic link is refused, and a file is not") {
  put(w.where / "target", "contents");
  const qio::open_options options{.follow_links = false};
  for (const auto how : {creation::open_existing, creation::if_needed, creation::emptied, creation::always_new})
    CHECK(w.open("target", access::read_write, how, options));
  put(w.where / "target", "contents");
  const std::filesystem::path link = w.where / "link";
  if (::CreateSymbolicLinkW(link.c_str(), L"target", 0x2) == 0 ||
      ::GetFileAttributesW(link.c_str()) == INVALID_FILE_ATTRIBUTES)  // Wine 8 makes none, and reports success
    QIO_SKIP("no symbolic links here");
  for (const auto how : {creation::open_existing, creation::if_needed, creation::truncate_existing, creation::emptied,
                         creation::always_new})
    CHECK(w.open("link", access::write, how, options).error() == std::errc::too_many_symbolic_link_levels);
  CHECK(contents(w.where / "target") == "contents");
}

PROMISE(regular_only, everywhere_in_the_system, "with regular_only, devices are refused, and files are not") {
  const qio::open_options options{.regular_only = true};
  for (const char* const path : {"NUL", "COM1", R"(\\.\NUL)", R"(\\?\NUL)"}) {
    CAPTURE(path);
    CHECK(!w.open_path(path, access::read, creation::open_existing, options));
  }
  CHECK(w.open_path("NUL", access::read, creation::open_existing, options).error() == errc::not_a_regular_file);
  CHECK(w.open("file", access::read_write, creation::if_needed, options));
}

PROMISE(unnamed, each_mode, "Windows has no files without a name") {
  using file = qio::basic_file<typename Where::mode>;
  CHECK(file::open_unnamed(w.where.path()).error() == std::errc::operation_not_supported);
  auto named = w.with(0);
  CHECK(named.give_name(w.where / "name").error() == std::errc::operation_not_supported);
  CHECK(w.where.entries() == 1);
}

}  // namespace contract
