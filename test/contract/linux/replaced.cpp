// Replaced and temporary files: permissions, and beneath a directory.
#include "../world.hpp"
#include <qio/names.hpp>

#include <sys/stat.h>

namespace contract {
namespace {

constexpr std::array<std::byte, 3> three{std::byte(1), std::byte(2), std::byte(3)};

template <class World>
qio::result<void> replace(World& w, const std::string& path, const qio::replace_options& options) {
  if constexpr (World::is_async)
    return w.context->run(qio::async_replace_file(*w.context, path, three, options));
  else
    return qio::replace_file(path, three, options);
}

}  // namespace

PROMISE(permissions_of_replacement, each_way_of_the_system,
        "a replaced file has the permissions of a new file, or keeps the old ones") {
  const std::string path = w.where / "data";
  const mode_t mask = ::umask(027);
  CHECK(replace(w, path, {}));
  CHECK(os::permissions_of(path) == 0640);
  CHECK(replace(w, path, {.permissions = 0604}));
  CHECK(os::permissions_of(path) == 0600);
  for (const mode_t old : {0666u, 0400u, 0755u}) {
    ::chmod(path.c_str(), old);
    CHECK(replace(w, path, {.keep_permissions = true}));
    CHECK(os::permissions_of(path) == old);
  }
  ::chmod(path.c_str(), 04755);
  CHECK(replace(w, path, {.keep_permissions = true}));
  CHECK(os::permissions_of(path) == 0755);
  CHECK(replace(w, w.where / "new", {.permissions = 0666, .keep_permissions = true}));
  CHECK(os::permissions_of(w.where / "new") == 0640);
  ::umask(mask);
  CHECK(w.where.entries() == 2);
}

PROMISE(replaced_beneath, each_way_of_the_system, "a file is replaced beneath a directory, and nowhere else") {
  std::filesystem::create_directories(w.where / "inside/deep");
  const auto inside = qio::directory::open(w.where / "inside");
  if (!inside) QIO_SKIP(inside.error().message());
  put(w.where / "secret", "secret");
  std::filesystem::create_symlink("../../secret", w.where / "inside/deep/out");
  std::filesystem::create_symlink("deep/target", w.where / "inside/link");
  CHECK(replace(w, "deep/data", {.beneath = &inside.value()}));
  CHECK(replace(w, "link", {.beneath = &inside.value()}));
  CHECK(std::filesystem::file_size(w.where / "inside/deep/data") == 3);
  CHECK(std::filesystem::file_size(w.where / "inside/deep/target") == 3);
  for (const char* const path : {"../secret", "deep/out", "deep/../../secret", "/etc/qio-test"}) {
    CHECK(replace(w, path, {.beneath = &inside.value()}).error() == errc::leaves_directory);
    CHECK(replace(w, path, {.keep_permissions = true, .beneath = &inside.value()}).error() == errc::leaves_directory);
  }
  CHECK(contents(w.where / "secret") == "secret");
  CHECK(w.where.entries() == 2);
}

PROMISE(temporary_beneath, each_way_of_the_system,
        "temporary files and directories are beneath a directory, and private") {
  std::filesystem::create_directories(w.where / "inside/deep");
  const auto inside = qio::directory::open(w.where / "inside");
  if (!inside) QIO_SKIP(inside.error().message());
  for (const char* const within : {static_cast<const char*>(nullptr), "deep", "deep/../deep/"}) {
    const qio::temporary_options options{.within = within, .beneath = &inside.value()};
    const std::string base = w.where / "inside/";
    std::string file_path, directory_path;
    {
      auto file = qio::temporary_file<>::create(options).value();
      auto directory = qio::temporary_directory<>::create(options).value();
      if constexpr (Where::is_async) {
        file = qio::temporary_file<>::create(options).value();
        auto on_context = w.context->run(qio::temporary_file<>::async_create(*w.context, options)).value();
        CHECK(std::filesystem::exists(base + on_context.path()));
      }
      file_path = base + file.path();
      directory_path = base + directory.path();
      CHECK(os::permissions_of(file_path) == 0600);
      CHECK(os::permissions_of(directory_path) == 0700);
    }
    CHECK_FALSE(std::filesystem::exists(file_path));
    CHECK_FALSE(std::filesystem::exists(directory_path));
  }
  const qio::temporary_options outside{.within = "..", .beneath = &inside.value()};
  CHECK(qio::temporary_file<>::create(outside).error() == errc::leaves_directory);
  CHECK(qio::temporary_directory<>::create(outside).error() == errc::leaves_directory);
  CHECK(w.where.entries() == 1);
}

PROMISE(temporary_backslash, each_way_of_the_system, "a directory for temporary files may have any name") {
  std::filesystem::create_directory(w.where / "name\\");
  auto file = qio::temporary_file<>::create({.within = (w.where / "name\\").c_str()}).value();
  CHECK_FALSE(std::filesystem::is_empty(w.where / "name\\"));
  CHECK(w.where.entries() == 1);
}

PROMISE(temporary_moved, each_way_of_the_system, "temporary files are removed although their directory was renamed") {
  std::filesystem::create_directory(w.where / "before");
  const std::string before = w.where / "before";
  {
    auto file = qio::temporary_file<>::create({.within = before.c_str()}).value();
    auto directory = qio::temporary_directory<>::create({.within = before.c_str()}).value();
    std::filesystem::rename(before, w.where / "after");
    put((w.where / "after") + std::string("/") + std::filesystem::path(directory.path()).filename().string() + "/x",
        "x");
  }
  CHECK(std::filesystem::is_empty(w.where / "after"));
}

}  // namespace contract
