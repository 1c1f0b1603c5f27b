// Names of files and directories: see qio/names.hpp. Blocking, and on each engine.
#include "world.hpp"
#include <qio/names.hpp>

#include <set>

namespace contract {
namespace {

using qio::if_exists;

// The cases go through no modes: the blocking functions, and one context of each engine of the system.
/// The functions, blocking or asynchronous.
template <class World>
struct names {
  World& w;

  template <class Blocking, class Asynchronous>
  auto call(Blocking&& blocking, Asynchronous&& asynchronous) {
    if constexpr (World::is_async)
      return w.context->run(asynchronous(*w.context));
    else
      return blocking();
  }

  auto rename(const std::string& from, const std::string& to, if_exists how, qio::name_options options = {}) {
    return call([&] { return qio::rename(from, to, how, options); },
                [&](auto& on) { return qio::async_rename(on, from, to, how, options); });
  }
  auto link(const std::string& from, const std::string& to, qio::name_options options = {}) {
    return call([&] { return qio::link(from, to, options); },
                [&](auto& on) { return qio::async_link(on, from, to, options); });
  }
  auto symlink(const std::string& target, const std::string& name, qio::name_options options = {}) {
    return call([&] { return qio::symlink(target, name, options); },
                [&](auto& on) { return qio::async_symlink(on, target, name, options); });
  }
  auto read_link(const std::string& path, qio::name_options options = {}) {
    return call([&] { return qio::read_link(path, options); },
                [&](auto& on) { return qio::async_read_link(on, path, options); });
  }
  auto remove(const std::string& path, qio::name_options options = {}) {
    return call([&] { return qio::remove(path, options); },
                [&](auto& on) { return qio::async_remove(on, path, options); });
  }
  auto create_directory(const std::string& path, qio::directory_options options = {}) {
    return call([&] { return qio::create_directory(path, options); },
                [&](auto& on) { return qio::async_create_directory(on, path, options); });
  }
  auto remove_directory(const std::string& path, qio::name_options options = {}) {
    return call([&] { return qio::remove_directory(path, options); },
                [&](auto& on) { return qio::async_remove_directory(on, path, options); });
  }
  auto sync_directory(const std::string& path) {
    return call([&] { return qio::sync_directory(path); },
                [&](auto& on) { return qio::async_sync_directory(on, path); });
  }

  /// A file that contains its first letter, on whatever disk this is.
  std::string put(const char* name, char letter) {
    auto file = w.open(name, access::read_write, creation::always_new).value();
    const std::byte content[1]{std::byte(letter)};
    REQUIRE(file.write_at(0, content));
    return w.where / name;
  }
  /// The letter in a file; '-' if there is none.
  char letter_in(const std::string& path) {
    auto file = w.open_path(path, access::read, creation::open_existing, {});
    std::byte content[1]{};
    if (!file || file.value().read_at(0, content).value() != 1) return '-';
    return static_cast<char>(content[0]);
  }
};
template <class World>
names(World&) -> names<World>;

}  // namespace

PROMISE(rename_replaces, each_way, "rename() replaces, unless it is to fail if something has the name") {
  names n{w};
  const std::string a = n.put("a", 'a'), b = n.put("b", 'b'), c = w.where / "c";
  CHECK(n.rename(a, c, if_exists::fail));
  CHECK(n.letter_in(a) == '-');
  CHECK(n.letter_in(c) == 'a');
  CHECK(n.rename(c, b, if_exists::fail).error() == std::errc::file_exists);
  CHECK(n.letter_in(c) == 'a');
  CHECK(n.letter_in(b) == 'b');
  CHECK(n.rename(c, b, if_exists::replace));
  CHECK(n.letter_in(c) == '-');
  CHECK(n.letter_in(b) == 'a');
  CHECK(n.rename(c, b, if_exists::replace).error() == std::errc::no_such_file_or_directory);
}

PROMISE(rename_same, each_way, "rename() from one name of a file to another of the same file leaves both") {
  names n{w};
  const std::string a = n.put("a", 'a'), b = w.where / "b";
  REQUIRE(n.link(a, b));
  CHECK(n.rename(a, b, if_exists::replace));
  CHECK(n.letter_in(a) == 'a');
  CHECK(n.letter_in(b) == 'a');
  if (!os::is_wine()) CHECK(n.rename(a, b, if_exists::fail).error() == std::errc::file_exists);
  CHECK(n.rename(a, a, if_exists::replace));
  CHECK(n.letter_in(a) == 'a');
  CHECK(n.remove(a).value());
  CHECK(n.letter_in(b) == 'a');
}

PROMISE(rename_exchanges, each_way, "rename() exchanges two names, or says that this is unsupported") {
  names n{w};
  const std::string a = n.put("a", 'a'), b = n.put("b", 'b'), c = w.where / "c";
  const auto exchanged = n.rename(a, b, if_exists::exchange);
  const bool is_supported = exchanged || exchanged.error() != errc::if_exists_not_supported;
  if (is_supported) CHECK(exchanged);
  CHECK(n.letter_in(a) == (is_supported ? 'b' : 'a'));
  CHECK(n.letter_in(b) == (is_supported ? 'a' : 'b'));
  if (is_supported)
    for (const auto& [from, to] : {std::pair(a, c), std::pair(c, a)})
      CHECK(n.rename(from, to, if_exists::exchange).error() == std::errc::no_such_file_or_directory);
  if constexpr (Where::is_async && !Where::is_of_system) CHECK(is_supported);
#if defined(__linux__)
  CHECK(is_supported);
#endif
}

PROMISE(link_shares, each_way, "link() gives a file a second name, and remove() takes one away") {
  names n{w};
  const std::string a = n.put("a", 'a'), b = w.where / "b";
  CHECK(n.link(a, b));
  {
    auto file = w.open("b", access::read_write, creation::open_existing).value();
    const std::byte changed[1]{std::byte('x')};
    CHECK(file.write_at(0, changed));
  }
  CHECK(n.letter_in(a) == 'x');
  CHECK(n.link(a, b).error() == std::errc::file_exists);
  CHECK(n.link(w.where / "none", w.where / "c").error() == std::errc::no_such_file_or_directory);
  CHECK(n.remove(a).value());
  CHECK(n.letter_in(b) == 'x');
  CHECK_FALSE(n.remove(a).value());
  CHECK(n.remove(b).value());
  CHECK(n.letter_in(b) == '-');
  CHECK_FALSE(n.remove(w.where / "none/none").value());
}

PROMISE(remove_open, each_way_of_the_system,
        "remove() removes the name of an open file at once, and the file stays for who has it") {
  names n{w};
  const std::string path = n.put("data", 'a');
  auto file = w.open("data", access::read, creation::open_existing).value();
  CHECK(n.remove(path).value());
  std::byte content[1]{};
  CHECK(file.read_at(0, content).value() == 1);
  CHECK(content[0] == std::byte('a'));
#if defined(__linux__)  // Windows 10 1709 as well, but not Wine
  CHECK_FALSE(std::filesystem::exists(path));
#endif
  static_cast<void>(file.close());
  CHECK_FALSE(std::filesystem::exists(path));
}

PROMISE(directories, each_way, "directories are created once, and removed when they are empty") {
  names n{w};
  const std::string parent = w.where / "parent", child = w.where / "parent/child";
  CHECK(n.create_directory(parent).value());
  CHECK_FALSE(n.create_directory(parent).value());
  CHECK(n.create_directory(child + "/").value());
  CHECK(n.remove(child).error() == std::errc::is_a_directory);
  CHECK(n.remove_directory(parent).error() == std::errc::directory_not_empty);
  CHECK(n.remove_directory(child + "/").value());
  CHECK_FALSE(n.remove_directory(child).value());
  CHECK(n.remove_directory(parent).value());
  const std::string file = n.put("file", 'f');
  CHECK(n.create_directory(file).error() == std::errc::file_exists);
  CHECK(n.remove_directory(file).error() == std::errc::not_a_directory);
  CHECK(n.letter_in(file) == 'f');
}

PROMISE(parents, each_way, "create_directory() creates the parents that are missing, if it is asked to") {
  names n{w};
  const std::string deep = w.where / "a//b/c";
  if constexpr (!Where::is_async || Where::is_of_system)
    CHECK(n.create_directory(deep).error() == std::errc::no_such_file_or_directory);
  CHECK(n.create_directory(deep, {.parents = true, .durable = true}).value());
  CHECK_FALSE(n.create_directory(deep, {.parents = true, .durable = true}).value());
  n.put("a//b/c/file", 'f');
  CHECK(n.remove_directory(deep).error() == std::errc::directory_not_empty);
}

PROMISE(durable_names, each_way, "durable changes of names are as others, in one directory and in two") {
  names n{w};
  const qio::name_options durable{.durable = true};
  CHECK(n.create_directory(w.where / "one", {.durable = true}).value());
  CHECK(n.create_directory(w.where / "two", {.durable = true}).value());
  const std::string a = n.put("one/a", 'a'), b = w.where / "one/b", c = w.where / "two/c";
  CHECK(n.rename(a, b, if_exists::fail, durable));
  CHECK(n.rename(b, c, if_exists::replace, durable));
  CHECK(n.link(c, a, durable));
  CHECK(n.letter_in(a) == 'a');
  CHECK(n.remove(a, durable).value());
  CHECK_FALSE(n.remove(a, durable).value());
  CHECK_FALSE(n.remove(w.where / "three/a", durable).value());
  CHECK(n.remove_directory(w.where / "one", durable).value());
  CHECK(n.sync_directory(w.where / "two"));
  CHECK(n.letter_in(c) == 'a');
}

PROMISE(paths_without_name, each_way_of_the_system,
        "a path that does not end in a name is refused, and the error names it") {
  names n{w};
  const std::string file = n.put("file", 'f');
  CHECK(n.create_directory(w.where / "directory").value());
  const auto refused = [&](const auto& answer, const std::string& path, errc why = errc::no_name_in_path) {
    CAPTURE(path);
    REQUIRE_FALSE(answer);
    CHECK(answer.error() == why);
    if (!path.empty()) CHECK(answer.error().message().find("directory") != std::string::npos);
  };
  for (const std::string& path : {std::string(), w.where / "directory/.", w.where / "directory/.."}) {
    refused(n.remove(path), path);
    refused(n.remove_directory(path), path);
    refused(n.rename(path, w.where / "directory/new", if_exists::replace), path);
    refused(n.rename(file, path, if_exists::replace), path);
    refused(n.link(file, path), path);
    refused(n.symlink("file", path), path);
    refused(n.read_link(path), path);
  }
  CHECK_FALSE(n.create_directory(w.where / "directory/.").value());
  CHECK_FALSE(n.create_directory(w.where / "directory/..").value());
  refused(n.create_directory(""), "");
  for (const std::string& path : {w.where / "directory/new/"}) {
    refused(n.link(file, path), path);
    refused(n.symlink("file", path), path);
    refused(n.remove(path), path);
  }
  CHECK(n.rename(w.where / "directory/", w.where / "moved/", if_exists::fail));
  CHECK(std::filesystem::is_directory(w.where / "moved"));
  CHECK(n.letter_in(file) == 'f');
}

PROMISE(bad_paths, each_way_of_the_system,
        "a path with a null character, or one that is too long, is refused by its name") {
  names n{w};
  const std::string file = n.put("file", 'f');
  using namespace std::string_literals;
  const std::string null = file + "\0more"s, longer = w.where / std::string(300, 'n').c_str();
  const auto check = [&](const auto& answer) {
    REQUIRE_FALSE(answer);
    CHECK(answer.error() == errc::null_in_path);
    CHECK(answer.error().given() == file.size());
    CHECK(answer.error().message().find("file") != std::string::npos);
  };
  check(n.remove(null));
  check(n.rename(null, file, if_exists::replace));
  check(n.rename(file, null, if_exists::replace));
  check(n.link(file, null));
  check(n.symlink("x", null));
  check(n.read_link(null));
  check(n.create_directory(null));
  check(n.remove_directory(null));
  check(n.sync_directory(null));
  CHECK(n.letter_in(file) == 'f');
#if defined(__linux__)
  CHECK(n.rename(file, longer, if_exists::replace).error() == std::errc::filename_too_long);
  CHECK(n.create_directory(longer).error() == std::errc::filename_too_long);
#endif
  const auto renamed = n.rename(file, longer, if_exists::replace);
  REQUIRE_FALSE(renamed);
  CHECK(renamed.error().message().find("nnnn") != std::string::npos);
  CHECK(renamed.error().message().find("cannot rename ") == 0);
}

PROMISE(symbolic_links, each_way_of_the_system,
        "symbolic links are created, read, renamed and removed, and not followed at the end") {
  names n{w};
  const std::string file = n.put("file", 'f'), link = w.where / "link", dangling = w.where / "dangling";
  if (const auto made = n.symlink("file", link); !made) QIO_SKIP("no symbolic links here: " + made.error().message());
  if (!std::filesystem::is_symlink(link)) QIO_SKIP("Wine makes no symbolic links");
  CHECK(n.read_link(link).value() == "file");
  CHECK(n.letter_in(link) == 'f');
  CHECK(n.symlink("nowhere", dangling));
  CHECK(n.symlink("file", dangling).error() == std::errc::file_exists);
  CHECK(n.read_link(file).error() == errc::not_a_link);
  CHECK(n.read_link(w.where / "none").error() == std::errc::no_such_file_or_directory);
  CHECK(n.rename(link, dangling, if_exists::replace));
  CHECK(n.read_link(dangling).value() == "file");
  CHECK(n.remove(dangling).value());
  CHECK(n.letter_in(file) == 'f');
  CHECK(n.create_directory(w.where / "directory").value());
  CHECK(n.symlink("directory", link));
  CHECK_FALSE(n.create_directory(link).value());
  CHECK(n.remove_directory(link).error() == std::errc::not_a_directory);
  CHECK(n.remove_directory(link + "/").error() == std::errc::not_a_directory);
  CHECK(n.remove(link).value());
  CHECK(std::filesystem::is_directory(w.where / "directory"));
}

PROMISE(names_beneath, each_way_of_the_system, "names stay beneath a directory, whatever the path") {
  names n{w};
  std::filesystem::create_directories(w.where / "inside/deep");
  const auto opened = qio::directory::open(w.where / "inside");
  if (!opened) {
    CHECK(opened.error() == errc::beneath_not_supported);
    return;
  }
  const qio::directory& inside = opened.value();
  const qio::name_options beneath{.beneath = &inside, .durable = true};
  const std::string secret = n.put("secret", 's');
  n.put("inside/a", 'a');
  REQUIRE(n.symlink("..", "up", beneath));
  REQUIRE(n.symlink("deep", "down", beneath));
  CHECK(n.rename("a", "down/b", if_exists::fail, beneath));
  CHECK(n.letter_in(w.where / "inside/deep/b") == 'b' - 1);
  CHECK(n.link("deep/b", "down/../c", beneath));
  CHECK(n.read_link("deep/../up", beneath).value() == "..");
  CHECK(n.create_directory("down/x/y", {.parents = true, .beneath = &inside, .durable = true}).value());
  CHECK(n.remove_directory("deep/x/y/", beneath).value());
  CHECK(qio::sync_directory("down/x", inside));
  CHECK(inside.sync());
  const std::string absolute = std::filesystem::absolute(secret).string();
  for (const std::string& path : {std::string("../secret"), std::string("up/secret"), absolute}) {
    CAPTURE(path);
    CHECK(n.rename(path, "mine", if_exists::replace, beneath).error() == errc::leaves_directory);
    CHECK(n.rename("c", path, if_exists::replace, beneath).error() == errc::leaves_directory);
    CHECK(n.rename("c", path, if_exists::exchange, beneath).error() == errc::leaves_directory);
    CHECK(n.link(path, "mine", beneath).error() == errc::leaves_directory);
    CHECK(n.link("c", path + "2", beneath).error() == errc::leaves_directory);
    CHECK(n.symlink("x", path + "2", beneath).error() == errc::leaves_directory);
    CHECK(n.read_link(path, beneath).error() == errc::leaves_directory);
    CHECK(n.remove(path, beneath).error() == errc::leaves_directory);
    CHECK(n.remove_directory(path, beneath).error() == errc::leaves_directory);
    CHECK(n.create_directory(path + "2/x", {.parents = true, .beneath = &inside}).error() == errc::leaves_directory);
    CHECK(qio::sync_directory(path, inside).error() == errc::leaves_directory);
  }
  CHECK(n.create_directory("up", {.beneath = &inside}).error() == errc::leaves_directory);
  CHECK(n.letter_in(secret) == 's');
  CHECK(w.where.entries() == 2);
}

}  // namespace contract
