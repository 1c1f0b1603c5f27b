// Replaced files, and temporary ones: see qio/names.hpp. Blocking, and on each engine.
#include "world.hpp"
#include <qio/names.hpp>

#include <chrono>
#include <thread>

namespace contract {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

template <class World, class Contents>
qio::result<void> replace(World& w, const std::string& path, Contents& contents, qio::replace_options options = {}) {
  if constexpr (World::is_async)
    return w.context->run(qio::async_replace_file(*w.context, path, contents, options));
  else
    return qio::replace_file(path, contents, options);
}

template <class World>
std::string text_of(World& w, const std::string& path) {
  auto file = w.open_path(path, access::read, creation::open_existing, {});
  if (!file) return "-";
  std::string text(1000, '\0');
  text.resize(file.value().read_at(0, std::as_writable_bytes(std::span(text))).value());
  return text;
}

}  // namespace

PROMISE(replaces, each_way, "replace_file() creates a file, or replaces it by a new one") {
  const std::string path = w.where / "data";
  for (const bool durable : {true, false}) {
    const auto one = bytes_of("one"), longer = bytes_of("something longer"), nothing = bytes_of("");
    CHECK(replace(w, path, longer, {.durable = durable}));
    CHECK(text_of(w, path) == "something longer");
    auto old = w.open("data", access::read, creation::open_existing).value();
    CHECK(replace(w, path, one, {.durable = durable}));
    CHECK(text_of(w, path) == "one");
    CHECK(old.size().value() == longer.size());
    CHECK(replace(w, path, nothing, {.durable = durable}));
    CHECK(text_of(w, path) == "");
  }
  if constexpr (!Where::is_async || Where::is_of_system) CHECK(w.where.entries() == 1);
}

PROMISE(writer, each_way, "a writer gets the open file, and its error leaves the old file and no other") {
  const std::string path = w.where / "data";
  auto two = [](auto& file) -> qio::result<void> {
    for (const auto& [at, text] : {std::pair(3u, "def"), std::pair(0u, "abc")})
      if (auto written = file.write_at(at, bytes_of(text)); !written) return written.error();
    std::array<std::byte, 6> all{};
    if (file.read_at(0, all).value() != 6 || all[3] != std::byte('d')) return qio::error(errc::beyond_end);
    return file.sync();
  };
  CHECK(replace(w, path, two));
  CHECK(text_of(w, path) == "abcdef");
  auto fails = [](auto& file) -> qio::result<void> {
    if (auto written = file.write_at(0, bytes_of("half")); !written) return written.error();
    return qio::error(errc::log_damaged);
  };
  CHECK(replace(w, path, fails).error() == errc::log_damaged);
  CHECK(text_of(w, path) == "abcdef");
  auto closes = [](auto& file) -> qio::result<void> {
    if (auto written = file.write_at(0, bytes_of("closed")); !written) return written.error();
    return file.close();
  };
  CHECK(replace(w, path, closes));
  CHECK(text_of(w, path) == "closed");
  if constexpr (!Where::is_async || Where::is_of_system) CHECK(w.where.entries() == 1);
}

PROMISE(refuses, each_way_of_the_system, "replace_file() refuses what is no file, and names the path") {
  const auto one = bytes_of("one");
  std::filesystem::create_directory(w.where / "directory");
  const auto refused = [&](const std::string& path, auto why) {
    CAPTURE(path);
    const auto answer = replace(w, path, one);
    REQUIRE_FALSE(answer);
    CHECK(answer.error() == why);
    CHECK(answer.error().message().find("cannot replace ") == 0);
  };
  refused(w.where / "directory", std::errc::is_a_directory);
  refused(w.where / "missing/data", std::errc::no_such_file_or_directory);
  using namespace std::string_literals;
  refused((w.where / "data") + "\0"s, errc::null_in_path);
  CHECK(w.where.entries() == 1);
}

PROMISE(replaces_target, each_way_of_the_system, "replace_file() replaces the target of a symbolic link") {
  const std::string path = w.where / "link";
  const auto one = bytes_of("one");
  if (const auto made = qio::symlink("target", path); !made)
    QIO_SKIP("no symbolic links here: " + made.error().message());
  if (!std::filesystem::is_symlink(path)) QIO_SKIP("Wine makes no symbolic links");
  put(w.where / "target", "old");
  CHECK(replace(w, path, one));
  CHECK(qio::read_link(path).value() == "target");
  CHECK(contents(w.where / "target") == "one");
  CHECK(w.where.entries() == 2);
}

PROMISE(temporary_destroyed, each_engine,
        "a temporary file is removed if the task that creates it is destroyed, whenever that is") {
  const std::string here = w.where.path();
  for (int i = 0; i < 100; ++i) {
    qio::task_scope scope(*w.context);
    scope.spawn([](auto& on, const char* within) -> qio::task<void> {
      static_cast<void>(co_await qio::temporary_file<>::async_create(on, {.within = within}));
    }(*w.context, here.c_str()));
    for (int turns = 0; turns < i % 5; ++turns) w.context->poll();
    if (i % 2 != 0) std::this_thread::sleep_for(std::chrono::microseconds(i));
  }
  CHECK(w.where.entries() == 0);
}

PROMISE(temporary_moved, each_engine,
        "a temporary file is created on a context that was moved before its task starts") {
  const std::string here = w.where.path();
  auto created = qio::temporary_file<>::async_create(*w.context, {.within = here.c_str()});
  auto moved = std::move(*w.context);
  CHECK(moved.run(std::move(created)));
  *w.context = std::move(moved);
}

PROMISE(temporary, each_way, "a temporary file is removed with its object, unless it is kept") {
  const std::string here = w.where.path();
  const qio::temporary_options in_here{.within = here.c_str()};
  const auto create = [&] {
    if constexpr (Where::is_async)
      return w.context->run(qio::temporary_file<>::async_create(*w.context, in_here)).value();
    else
      return qio::temporary_file<>::create(in_here).value();
  };
  std::string kept;
  {
    auto one = create(), other = create();
    CHECK(one.path() != other.path());
    CHECK(one.path().find(here + "/.qio-") == 0);
    CHECK(one.file().write_at(0, bytes_of("temporary")));
    CHECK(text_of(w, one.path()) == "temporary");
    const std::string first = one.path();
    one = std::move(other);
    CHECK(text_of(w, first) == "-");
    CHECK(one.file().write_at(0, bytes_of("kept")));
    one.keep();
    kept = one.path();
    auto moved = create();
    auto target = std::move(moved);
    CHECK(target.file().write_at(0, bytes_of("moved")));
  }
  CHECK(text_of(w, kept) == "kept");
  if constexpr (!Where::is_async || Where::is_of_system) CHECK(w.where.entries() == 1);
}

PROMISE(temporary_mode, each_mode, "a temporary file has any mode, and the options of one") {
  const std::string here = w.where.path();
  using mode = typename Where::mode;
  {
    auto one = qio::temporary_file<mode>::create({.within = here.c_str()}, {.reservation = 65536}).value();
    memory block = memory::with_pattern(0, 4096);
    CHECK(one.file().write_at(0, block.all()).value() == 4096);
    auto context = qio::context::create().value();
    auto on_context = qio::temporary_file<mode>::create(context, {.within = here.c_str()}).value();
    CHECK(context.run(on_context.file().async_write_at(0, block.all())).value() == 4096);
    CHECK(w.where.entries() == 2);
    static_cast<void>(one.file().close());
  }
  CHECK(w.where.entries() == 0);
}

PROMISE(temporary_replaced, each_way_of_the_system,
        "another file that has the name of a temporary one is not removed") {
  const std::string here = w.where.path();
  std::string path;
  {
    auto one = qio::temporary_file<>::create({.within = here.c_str()}).value();
    path = one.path();
    REQUIRE(qio::rename(path, w.where / "moved"));
    put(path, "another");
  }
  CHECK(contents(path) == "another");
  CHECK(std::filesystem::exists(w.where / "moved"));
}

PROMISE(temporary_tree, each_way, "a temporary directory is removed with all that is in it, unless it is kept") {
  const std::string here = w.where.path();
  const qio::temporary_options in_here{.within = here.c_str()};
  const auto create = [&] {
    if constexpr (Where::is_async)
      return w.context->run(qio::temporary_directory<>::async_create(*w.context, in_here)).value();
    else
      return qio::temporary_directory<>::create(in_here).value();
  };
  std::string kept;
  {
    auto one = create(), other = create();
    const std::string path = one.path();
    CHECK(w.open_path(path + "/file", access::write, creation::if_needed, {}));
    if constexpr (!Where::is_async || Where::is_of_system) {
      std::filesystem::create_directories(path + "/a/b/c");
      for (int i = 0; i < 300; ++i) put(path + "/a/" + std::to_string(i), "x");
      put(w.where / "outside", "stays");
      static_cast<void>(qio::symlink("../..", path + "/a/b/link"));
    }
    CHECK(std::filesystem::exists(path) == (!Where::is_async || Where::is_of_system));
    other.keep();
    kept = other.path();
  }
  if constexpr (!Where::is_async || Where::is_of_system) {
    CHECK(w.where.entries() == 2);
    CHECK(contents(w.where / "outside") == "stays");
    CHECK(std::filesystem::is_directory(kept));
  }
}

PROMISE(temporary_of_system, each_way_of_the_system, "temporary files are in the system's directory, by default") {
  std::string path, directory;
  {
    auto file = qio::temporary_file<>::create().value();
    auto within = qio::temporary_directory<>::create().value();
    path = file.path();
    directory = within.path();
    CHECK(std::filesystem::path(path).parent_path() / "" == std::filesystem::temp_directory_path() / "");
    CHECK(std::filesystem::is_directory(directory));
  }
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_FALSE(std::filesystem::exists(directory));
}

PROMISE(temporary_refused, each_way_of_the_system, "a temporary file in a directory that does not exist is refused") {
  const std::string missing = w.where / "missing";
  for (const auto& failed : {qio::temporary_file<>::create({.within = missing.c_str()}).error(),
                             qio::temporary_directory<>::create({.within = missing.c_str()}).error()}) {
    CHECK(failed == std::errc::no_such_file_or_directory);
    CHECK(failed.message().find("missing/.qio-") != std::string::npos);
  }
}

}  // namespace contract
