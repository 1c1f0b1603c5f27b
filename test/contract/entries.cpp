// Listing directories, walking through trees, and removing them.
#include "world.hpp"
#include <qio/directory_reader.hpp>
#include <qio/names.hpp>
#include <qio/tree.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace contract {

namespace {

using name_set = std::multiset<std::string>;

// "file" and two directories, of which one has contents.
void plant(const directory& where) {
  put(where / "file", "abc");
  std::filesystem::create_directories(where / "empty");
  std::filesystem::create_directories(where / "full/inner");
  put(where / "full/first", "a");
  put(where / "full/inner/second", "ab");
}
constexpr std::size_t planted = 6;

name_set all_of(qio::directory_reader& reader) {
  name_set found;
  for (auto batch = reader.next_batch().value(); !batch.empty(); batch = reader.next_batch().value())
    for (const auto& each : batch) found.insert(std::string(each.name));
  return found;
}

template <class Context>
qio::task<name_set> list(Context& context, std::string path) {
  auto opened = co_await qio::directory_reader::async_open(context, std::move(path));
  auto reader = std::move(opened).value();
  name_set found;
  for (;;) {
    const auto batch = co_await reader.async_next_batch(context);
    for (const auto& each : batch.value()) found.insert(std::string(each.name));
    if (batch.value().empty()) co_return found;
  }
}

}  // namespace

// --- asynchronous forms ---

PROMISE(list_asynchronously, each_engine, "async_next_batch() lists each entry of a directory once, with its type") {
  REQUIRE(w.context->run(qio::async_remove(*w.context, w.where / "probe")));  // the world's, on a simulated disk
  for (const char* each : {"empty", "full", "full/inner"})
    REQUIRE(w.context->run(qio::async_create_directory(*w.context, w.where / each)).value());
  for (const char* each : {"file", "full/first", "full/inner/second"})
    REQUIRE(w.open(each, access::write, creation::only_if_missing));
  for (int i = 0; i < 40; ++i)
    REQUIRE(w.open(("full/inner/" + std::to_string(i)).c_str(), access::write, creation::only_if_missing));
  CHECK(w.context->run(list(*w.context, w.where.path())) == name_set{"file", "empty", "full"});
  CHECK(w.context->run(list(*w.context, w.where / "full")) == name_set{"first", "inner"});
  CHECK(w.context->run(list(*w.context, w.where / "full/inner")).size() == 41);
  CHECK(w.context->run(list(*w.context, w.where / "empty")).empty());

  auto reader = w.context->run(qio::directory_reader::async_open(*w.context, w.where / "full")).value();
  for (int turn = 0; turn < 2; ++turn) {
    std::size_t listed = 0;
    const auto batch = w.context->run(reader.async_next_batch(*w.context)).value();
    for (const auto& each : batch) {
      const bool is_file = each.name == "first";
      const auto type = is_file ? qio::file_type::regular : qio::file_type::directory;
      CHECK((each.type == type || each.type == qio::file_type::unknown));
      CHECK(reader.status(each).value().type == type);
      if (is_file) CHECK(each.id == reader.status(each).value().id.low);
      ++listed;
    }
    CHECK(listed == 2);
    CHECK(w.context->run(reader.async_next_batch(*w.context)).value().empty());
    REQUIRE(reader.rewind());
  }
  REQUIRE(w.context->run(qio::async_remove(*w.context, w.where / "full/first")));
  auto moved = std::move(reader);
  CHECK(moved.next_batch().value().size() == 1);
  CHECK(reader.next_batch().error() == std::errc::bad_file_descriptor);
  CHECK(moved.status({"first"}).error() == std::errc::no_such_file_or_directory);

  const auto of_file = w.context->run(qio::directory_reader::async_open(*w.context, w.where / "file"));
  CHECK(of_file.error() == std::errc::not_a_directory);
  const auto missing = w.context->run(qio::directory_reader::async_open(*w.context, w.where / "missing"));
  CHECK(missing.error() == std::errc::no_such_file_or_directory);
}

PROMISE(list_destroyed, each_engine,
        "after an awaited async_next_batch() was destroyed, the next call returns the entries that it has read") {
  for (int i = 0; i < 20; ++i)
    REQUIRE(w.open(("entry " + std::to_string(i)).c_str(), access::write, creation::only_if_missing));
  for (int turns = 0; turns < 6; ++turns) {
    CAPTURE(turns);
    auto reader = w.context->run(qio::directory_reader::async_open(*w.context, w.where.path())).value();
    std::size_t listed = 0;
    {
      qio::task_scope scope(*w.context);
      scope.spawn([](auto& on, auto& from, std::size_t& count) -> qio::task<void> {
        const auto batch = co_await from.async_next_batch(on);
        count += batch.value().size();
      }(*w.context, reader, listed));
      for (int turn = 0; turn < turns; ++turn) w.context->poll();
      if (turns % 2 != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    for (bool is_end = false; !is_end;) {
      const auto batch = w.context->run(reader.async_next_batch(*w.context)).value();
      listed += batch.size();
      is_end = batch.empty();
    }
    CHECK(listed >= 20);
    CHECK(listed <= 21);  // a simulated disk has the world's probe as well
    REQUIRE(reader.rewind());
    CHECK(!w.context->run(reader.async_next_batch(*w.context)).value().empty());
  }
}

PROMISE(walk_asynchronously, each_engine_of_the_system, "async_walk() visits what walk() visits") {
  plant(w.where);
  std::size_t visited = 0;
  CHECK(
      w.context->run(qio::async_walk(*w.context, w.where.path(), [&](const qio::walk_entry&) { ++visited; })).value());
  CHECK(visited == planted);
  const auto missing = w.context->run(qio::async_walk(*w.context, w.where / "missing", [](const qio::walk_entry&) {}));
  CHECK(missing.error() == std::errc::no_such_file_or_directory);
}

PROMISE(remove_asynchronously, each_engine_of_the_system,
        "async_remove_tree() removes a tree, and counts the entries") {
  std::filesystem::create_directory(w.where / "inner");
  std::filesystem::create_directory(w.where / "inner/directory");
  put(w.where / "inner/file", "abc");
  CHECK(w.context->run(qio::async_remove_tree(*w.context, w.where / "inner", {.durable = true})).value() == 3);
  CHECK(!std::filesystem::exists(w.where / "inner"));
  CHECK(w.context->run(qio::async_remove_tree(*w.context, w.where / "inner")).value() == 0);
}

// --- directory_reader ---

TEST_CASE("a directory_reader lists names, types and numbers, without . and ..") {
  const directory where;
  plant(where);
  auto reader = qio::directory_reader::open(where.path()).value();
  std::map<std::string, qio::file_type> found;
  for (auto batch = reader.next_batch().value(); !batch.empty(); batch = reader.next_batch().value())
    for (const auto& each : batch) {
      const auto status = reader.status(each).value();
      CHECK(status.id.low == each.id);
      CHECK(each.name.data()[each.name.size()] == '\0');
      found[std::string(each.name)] = status.type;
      if (each.type != qio::file_type::unknown) CHECK(each.type == status.type);
    }
  const std::map<std::string, qio::file_type> expected = {
      {"file", qio::file_type::regular}, {"empty", qio::file_type::directory}, {"full", qio::file_type::directory}};
  CHECK(found == expected);
  CHECK(reader.next_batch().value().empty());  // the end stays
}

TEST_CASE("a directory_reader lists each of many entries once, and again after rewind()") {
  const directory where;
  name_set expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "a file with a longer name " + std::to_string(i);
    put(where / name.c_str(), "");
    expected.insert(name);
  }
  auto reader = qio::directory_reader::open(where.path()).value();
  CHECK(all_of(reader) == expected);
  if (!os::is_wine()) {
    put(where / "new", "");
    expected.insert("new");
  }
  REQUIRE(reader.rewind());
  CHECK(all_of(reader) == expected);
  REQUIRE(reader.rewind());
  CHECK(reader.next_batch().value().size() < 3000);
  REQUIRE(reader.rewind());  // in the middle
  CHECK(all_of(reader) == expected);
}

TEST_CASE("a directory_reader of an empty directory returns an empty batch") {
  const directory where;
  auto reader = qio::directory_reader::open(where.path()).value();
  CHECK(reader.next_batch().value().empty());
}

TEST_CASE("opening a directory_reader of what is no directory fails, and the message names the path") {
  const directory where;
  put(where / "file", "abc");
  const auto file = qio::directory_reader::open(where / "file");
  CHECK(file.error() == std::errc::not_a_directory);
  CHECK(file.error().message().find(where / "file") != std::string::npos);
  CHECK(qio::directory_reader::open(where / "missing").error() == std::errc::no_such_file_or_directory);
  CHECK(qio::directory_reader::open(std::string("a\0b", 3)).error() == errc::null_in_path);
}

TEST_CASE("a directory_reader that was moved from fails with bad_file_descriptor, and the other keeps its batch") {
  const directory where;
  put(where / "file", "abc");
  auto reader = qio::directory_reader::open(where.path()).value();
  const auto batch = reader.next_batch().value();
  auto other = std::move(reader);
  CHECK(!reader.is_open());  // NOLINT(bugprone-use-after-move)
  CHECK(reader.next_batch().error() == std::errc::bad_file_descriptor);
  CHECK(reader.rewind().error() == std::errc::bad_file_descriptor);
  CHECK(reader.status(batch[0]).error() == std::errc::bad_file_descriptor);
  CHECK(batch[0].name == "file");
  CHECK(other.next_batch().value().empty());
}

// --- walk ---

TEST_CASE("walk() visits each entry once, a directory before what is in it") {
  const directory where;
  plant(where);
  std::vector<std::string> visited;
  const auto walked = qio::walk(where.path(), [&](const qio::walk_entry& entry) {
    CHECK(!entry.failure.exists());
    CHECK(entry.path.ends_with(entry.name));
    CHECK(entry.depth == 1 + static_cast<std::size_t>(std::count(entry.path.begin(), entry.path.end(), '/')));
    CHECK(entry.status().value().type == entry.type);
    visited.emplace_back(entry.path);
  });
  CHECK(walked.value());
  CHECK(name_set(visited.begin(), visited.end()) ==
        name_set{"file", "empty", "full", "full/first", "full/inner", "full/inner/second"});
  const auto at = [&](const char* path) { return std::find(visited.begin(), visited.end(), path); };
  CHECK(at("full") < at("full/first"));
  CHECK(at("full") < at("full/inner"));
  CHECK(at("full/inner") + 1 == at("full/inner/second"));
}

TEST_CASE("a visitor of walk() skips a directory, or stops the walk") {
  const directory where;
  plant(where);
  name_set visited;
  CHECK(qio::walk(where.path(), [&](const qio::walk_entry& entry) {
          visited.emplace(entry.path);
          return entry.name == "full" ? qio::walk_next::skip : qio::walk_next::proceed;
        }).value());
  CHECK(visited == name_set{"file", "empty", "full"});
  int calls = 0;
  CHECK(!qio::walk(where.path(), [&](const qio::walk_entry&) {
           ++calls;
           return qio::walk_next::stop;
         }).value());
  CHECK(calls == 1);
}

TEST_CASE("walk() reports a directory that is deeper than its limit, and goes on") {
  const directory where;
  plant(where);
  name_set visited, failed;
  CHECK(qio::walk(where.path(),
                  [&](const qio::walk_entry& entry) {
                    if (!entry.failure.exists()) return static_cast<void>(visited.emplace(entry.path));
                    failed.emplace(entry.path);
                    CHECK(entry.failure == errc::tree_too_deep);
                    CHECK(entry.failure.given() == 3);
                    CHECK(entry.failure.needed() == 2);
                  },
                  {.deepest = 2})
            .value());
  CHECK(visited == name_set{"file", "empty", "full", "full/first", "full/inner"});
  CHECK(failed == name_set{"full/inner"});
  CHECK(qio::walk(where.path(), [](const qio::walk_entry&) {}, {.deepest = 0}).error() == errc::tree_too_deep);
}

TEST_CASE("walk() fails if the root is no directory, and the message names the path") {
  const directory where;
  put(where / "file", "abc");
  const auto file = qio::walk(where / "file", [](const qio::walk_entry&) {});
  CHECK(file.error() == std::errc::not_a_directory);
  CHECK(file.error().message().starts_with("cannot walk " + (where / "file")));
}

// --- remove_tree ---

TEST_CASE("remove_tree() removes a tree, a file, or nothing, and returns how many entries it removed") {
  const directory where;
  std::filesystem::create_directory(where / "tree");
  std::filesystem::create_directories(where / "tree/full/inner");
  put(where / "tree/full/inner/file", "abc");
  put(where / "tree/file", "abc");
  put(where / "beside", "abc");
  CHECK(qio::remove_tree(where / "tree").value() == 5);
  CHECK(!std::filesystem::exists(where / "tree"));
  CHECK(qio::remove_tree(where / "tree").value() == 0);
  CHECK(qio::remove_tree(where / "tree/full").value() == 0);
  CHECK(contents(where / "beside") == "abc");
  CHECK(qio::remove_tree(where / "beside", {.durable = true}).value() == 1);
  CHECK(where.entries() == 0);
}

TEST_CASE("remove_tree() takes a path that ends with a slash for a directory only") {
  const directory where;
  std::filesystem::create_directory(where / "tree");
  put(where / "file", "abc");
  CHECK(qio::remove_tree(where / "tree//").value() == 1);
  CHECK(qio::remove_tree(where / "file/").error() == std::errc::not_a_directory);
  CHECK(contents(where / "file") == "abc");
}

TEST_CASE("remove_tree() refuses paths that end with . or .., empty ones, and null characters") {
  const directory where;
  put(where / "file", "abc");
  CHECK(qio::remove_tree(where / ".").error() == std::errc::invalid_argument);
  CHECK(qio::remove_tree(where / "..").error() == std::errc::invalid_argument);
  CHECK(qio::remove_tree("").error() == std::errc::invalid_argument);
  CHECK(qio::remove_tree(where.path() + std::string("\0b", 2)).error() == errc::null_in_path);
  CHECK(contents(where / "file") == "abc");
}

TEST_CASE("remove_tree() removes a deep tree and a wide directory") {
  const directory where;
  std::string path = where / "deep";
  std::filesystem::create_directory(path);
  for (int level = 1; level < 60; ++level) {
    put(path + "/file", "a");
    path += "/d";
    std::filesystem::create_directory(path);
    std::filesystem::create_directory(path + "-empty");
  }
  CHECK(qio::remove_tree(where / "deep").value() == 60 + 59 + 59);
  std::filesystem::create_directory(where / "wide");
  for (int i = 0; i < 4000; ++i) {
    const std::string name = "wide/" + std::to_string(i);
    if (i % 4 == 0)
      std::filesystem::create_directory(where / name.c_str());
    else
      put(where / name.c_str(), "");
  }
  CHECK(qio::remove_tree(where / "wide").value() == 4001);
  CHECK(where.entries() == 0);
}

TEST_CASE("remove_tree() removes read-only files") {
  const directory where;
  std::filesystem::create_directory(where / "tree");
  put(where / "tree/file", "abc");
  auto file = qio::cached_file::open(where / "tree/file").value();
  REQUIRE(file.set_permissions(0444));
  REQUIRE(file.close());
  CHECK(qio::remove_tree(where / "tree").value() == 2);
}

}  // namespace contract
