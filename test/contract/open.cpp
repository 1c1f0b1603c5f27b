// Opening: each access and creation, and what a failed open leaves behind.
#include "world.hpp"

namespace contract {

PROMISE(existing, each_mode, "open_existing opens an existing file, and fails without one") {
  put(w.where / "old", "contents");
  for (const access each : all_access) {
    CHECK(w.open("old", each, creation::open_existing));
    const auto missing = w.open("missing", each, creation::open_existing);
    REQUIRE(!missing);
    CHECK(missing.error() == std::errc::no_such_file_or_directory);
    CHECK(missing.error().code().category() == qio::platform::system_category());
  }
  CHECK(contents(w.where / "old") == "contents");
  CHECK(w.where.entries() == 1);
}

PROMISE(if_needed, each_mode, "if_needed keeps an existing file, and creates a missing one") {
  for (const access each : all_access) {
    put(w.where / "old", "contents");
    CHECK(w.open("old", each, creation::if_needed));
    CHECK(contents(w.where / "old") == "contents");
    auto created = w.open("new", each, creation::if_needed);
    REQUIRE(created);
    CHECK(created.value().size().value() == 0);
    CHECK(std::filesystem::remove(w.where / "new"));
  }
}

PROMISE(only_if_missing, each_mode, "only_if_missing fails if the file exists") {
  for (const access each : all_access) {
    put(w.where / "old", "contents");
    CHECK(w.open("old", each, creation::only_if_missing).error() == std::errc::file_exists);
    CHECK(contents(w.where / "old") == "contents");
    CHECK(w.open("new", each, creation::only_if_missing));
    CHECK(std::filesystem::remove(w.where / "new"));
  }
}

PROMISE(truncate_existing, each_mode, "truncate_existing empties an existing file, and needs write access") {
  for (const access each : all_access) {
    put(w.where / "old", "contents");
    const auto opened = w.open("old", each, creation::truncate_existing);
    if (each == access::read) {
      CHECK(opened.error() == errc::access_not_granted);
      CHECK(opened.error().message().find(
                "creation::truncate_existing, creation::emptied and open_unnamed() need access::write") !=
            std::string::npos);
      CHECK(contents(w.where / "old") == "contents");
    } else {
      REQUIRE(opened);
      CHECK(opened.value().size().value() == 0);
      CHECK(contents(w.where / "old").empty());
    }
    CHECK(w.open("missing", access::write, creation::truncate_existing).error() ==
          std::errc::no_such_file_or_directory);
  }
}

PROMISE(emptied, each_mode,
        "emptied creates a missing file, and takes the contents away from one that stays the same") {
  for (const access each : all_access) {
    put(w.where / "old", "contents");
    std::filesystem::remove(w.where / "link");
    std::filesystem::create_hard_link(w.where / "old", w.where / "link");
    const auto opened = w.open("old", each, creation::emptied);
    if (each == access::read) {
      CHECK(opened.error() == errc::access_not_granted);
      CHECK(contents(w.where / "old") == "contents");
      CHECK(w.open("new", each, creation::emptied).error() == errc::access_not_granted);
      CHECK(!std::filesystem::exists(w.where / "new"));
      continue;
    }
    REQUIRE(opened);
    CHECK(opened.value().size().value() == 0);
    CHECK(std::filesystem::equivalent(w.where / "old", w.where / "link"));
    CHECK(contents(w.where / "link").empty());
    auto created = w.open("new", each, creation::emptied);
    REQUIRE(created);
    CHECK(created.value().size().value() == 0);
    static_cast<void>(created.value().close());
    CHECK(std::filesystem::remove(w.where / "new"));
  }
}

PROMISE(truncated_is_empty, each_mode, "a file that open truncated contains only what is written afterwards") {
  { auto before = w.with(2 * 4096); }
  auto file = w.open("data", access::read_write, creation::truncate_existing).value();
  const std::size_t part = w.unit == 1 ? 10 : w.unit;
  memory buffer(3 * part);
  CHECK(file.read_at(0, buffer.all()).value() == 0);
  if constexpr (Where::mode::is_mapped) CHECK(file.view(0, 1).error() == errc::beyond_end);
  auto source = memory::with_pattern(0, 2 * part);
  CHECK(file.write_at(0, source.part(0, part)).value() == part);
  CHECK(file.write_at(part, source.part(part, part)).value() == part);
  CHECK(file.size().value() == 2 * part);
  CHECK(file.read_at(0, buffer.all()).value() == 2 * part);
  CHECK(holds_pattern(buffer.part(0, 2 * part), 0));
}

PROMISE(always_new, each_mode, "always_new replaces a file with an empty one, and open handles keep the old one") {
  for (const access each : all_access) {
    put(w.where / "old", "contents");
    {
      auto holder = qio::cached_file::open(w.where / "old").value();
      auto opened = w.open("old", each, creation::always_new);
      REQUIRE(opened);
      CHECK(opened.value().size().value() == 0);
      CHECK(contents(w.where / "old").empty());
      std::array<std::byte, 8> kept;
      CHECK(holder.read_at(0, kept).value() == 8);
      CHECK(kept[0] == std::byte{'c'});
    }
    CHECK(w.where.entries() == 1);
  }
  CHECK(w.open("new", access::write, creation::always_new));
  CHECK(w.where.entries() == 2);
}

PROMISE(longest_name, each_mode, "always_new accepts the longest possible name") {
  const std::string longest(255, 'n');
  CHECK(w.open(longest.c_str(), access::write, creation::always_new));
  CHECK(w.open(longest.c_str(), access::read, creation::open_existing));
  CHECK(w.where.entries() == 1);
}

PROMISE(failed_open, each_mode, "an open that fails leaves the disk as it was") {
  std::filesystem::create_directory(w.where / "directory");
  for (const access each : all_access)
    for (const auto how : {creation::open_existing, creation::if_needed, creation::only_if_missing,
                           creation::truncate_existing, creation::always_new, creation::emptied}) {
      CHECK(!w.open("directory", each, how));
      CHECK(!w.open("directory/no/such", each, how));
    }
  CHECK(w.open("directory", access::read, creation::open_existing).error() == std::errc::is_a_directory);
  CHECK(w.open("directory", access::write, creation::always_new).error() == std::errc::is_a_directory);
  CHECK(w.where.entries() == 1);
  CHECK(std::filesystem::is_empty(w.where / "directory"));
}

PROMISE(null_in_path, everywhere,
        "a path that contains a null character opens nothing, and the error names its place") {
  put(w.where / "file", "contents");
  const std::string path = (w.where / "file") + std::string("\0.txt", 5);
  const auto is_right = [&](const qio::error& found) {
    return found == errc::null_in_path && found == std::errc::invalid_argument && found.given() == path.size() - 5 &&
           found.message().find(": the path has a null character after " + std::to_string(path.size() - 5) +
                                " bytes") != std::string::npos;
  };
  for (const auto how : {creation::open_existing, creation::if_needed, creation::only_if_missing,
                         creation::truncate_existing, creation::always_new, creation::emptied})
    CHECK(is_right(w.open_path(path, access::read_write, how).error()));
  using files = qio::basic_file<typename Where::mode>;
  if constexpr (Where::is_async) {
    CHECK(is_right(w.context->run(files::async_open(*w.context, path)).error()));
    CHECK(is_right(w.context->run(files::async_open(*w.context, std::filesystem::path(path))).error()));
  }
  if constexpr (!Where::is_async) {
    CHECK(is_right(files::open(std::filesystem::path(path)).error()));
    CHECK(qio::sync_directory(std::string(".\0x", 3)).error() == errc::null_in_path);
  }
  CHECK(contents(w.where / "file") == "contents");
  CHECK(w.where.entries() == 1);
}

PROMISE(standard_path, everywhere, "a std::filesystem::path opens the file that it names") {
  const auto path = std::filesystem::path(w.where.path()) / "data";
  static_cast<void>(w.with(block_size));
  using files = qio::basic_file<typename Where::mode>;
  if constexpr (Where::is_async) {
    CHECK(files::open(*w.context, path));
    CHECK(w.context->run(files::async_open(*w.context, path)));
  } else {
    CHECK(files::open(path));
    CHECK(files::open(path / "..").error().message().find(qio::path_view(path / "..").c_str()) != std::string::npos);
  }
}

PROMISE(not_inherited, everywhere_in_the_system, "handles are not inherited by child processes") {
  auto file = w.with(0);
  CHECK(!os::is_inherited(file.native_handle()));
}

PROMISE(path_in_message, everywhere, "the message of a failed open contains the path and the reason") {
  const std::string path = w.where / "no such";
  const auto missing = w.open_path(path, access::read, creation::open_existing);
  REQUIRE(!missing);
  CHECK(missing.error().message() == "cannot open " + path + ": " + missing.error().code().message());
  CHECK(missing.error().code().message().find("no such") == std::string::npos);
#if defined(__cpp_exceptions)
  try {
    static_cast<void>(w.open_path(path, access::read, creation::open_existing).value());
    FAIL("no exception");
  } catch (const std::system_error& thrown) {
    CHECK(thrown.what() == missing.error().message());
    CHECK(thrown.code() == std::errc::no_such_file_or_directory);
  }
#endif
  const auto refused = w.open("a\nb", access::read, creation::truncate_existing);
  REQUIRE(!refused);
  const std::string begin =
      "cannot open " + w.where / R"(a\x0ab)" + ": creation::truncate_existing, creation::emptied ";
  CHECK(refused.error().message().find(begin) == 0);
  if constexpr (Where::is_of_system) {
    const auto later = w.context->run(qio::basic_file<typename Where::mode>::async_open(*w.context, path));
    REQUIRE(!later);
    CHECK(later.error().message() == missing.error().message());
  }
}

PROMISE(silent_messages, everywhere,
        "messages contain no file contents, and no path of another file than the one that failed") {
  put(w.where / "confidential", "confidential");
  const auto is_silent = [](const std::string& text) { return text.find("confidential") == std::string::npos; };

  auto file = w.open("confidential", access::read, creation::if_needed).value();
  memory buffer(4096);
  REQUIRE(w.read(file, 0, buffer.all()));
  put(w.where / "other", "other");
  auto other = w.open("other", access::read, creation::if_needed).value();
  CHECK(is_silent(w.write(other, 0, buffer.all()).error().message()));
  CHECK(is_silent(w.read(other, ~std::uint64_t(0) - 4095, buffer.all()).error().message()));
  CHECK(is_silent(file.explain().text()));
}

PROMISE(no_leak, each_mode, "a failed open leaves no handle open") {
  put(w.where / "old", "contents");
  CHECK(!w.open("old", access::read, creation::truncate_existing));
  CHECK(!w.open("old", access::read, creation::only_if_missing));
  CHECK(!w.open_path(w.where.path(), access::read, creation::open_existing));
  CHECK(!os::has_open(w.where / "old"));
  CHECK(!os::has_open(w.where.path()));
  {
    auto opened = w.open("old", access::write, creation::if_needed);
    CHECK(os::has_open(w.where / "old"));
  }
  CHECK(!os::has_open(w.where / "old"));
}

}  // namespace contract
