// What options exclude from being opened, and files without a name.
#include "../world.hpp"
#include <qio/any_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace contract {

namespace {

namespace fs = std::filesystem;
using qio::if_exists;

/// An open of the world's mode, on its context if it has one.
template <class Where>
auto open_unnamed(world<Where>& w, access wanted = access::read_write, const qio::open_options& options = {}) {
  if constexpr (Where::is_async)
    return qio::basic_file<typename Where::mode>::open_unnamed(*w.context, w.where.path(), wanted, options);
  else
    return qio::basic_file<typename Where::mode>::open_unnamed(w.where.path(), wanted, options);
}

/// A file without a name that contains `bytes` of the pattern. Empty if there are none here.
template <class Where>
auto unnamed(world<Where>& w) -> std::optional<typename world<Where>::file> {
  auto opened = open_unnamed(w);
  if (!opened) return std::nullopt;
  auto source = memory::with_pattern(0, w.unit);
  REQUIRE(opened.value().write_at(0, source.all()));
  return std::move(opened).value();
}

template <class Where>
bool has_pattern(world<Where>& w, const std::string& path) {
  memory found(w.unit);
  return qio::cached_file::open(path).value().read_at(0, found.all()).value() == w.unit &&
         holds_pattern(found.all(), 0);
}

}  // namespace

// --- follow_links, regular_only ---

PROMISE(no_links, everywhere_in_the_system, "without follow_links, a symbolic link at the end of the path is refused") {
  put(w.where / "target", "contents");
  fs::create_symlink("target", w.where / "link");
  fs::create_symlink("missing", w.where / "dangling");
  fs::create_directory_symlink(".", w.where / "here");
  const auto directory = qio::directory::open(w.where.path());
  for (const bool regular_only : {false, true}) {
    qio::open_options options{.follow_links = false, .regular_only = regular_only};
    for (const auto how : all_creations) {
      const auto needed =
          how == creation::only_if_missing ? std::errc::file_exists : std::errc::too_many_symbolic_link_levels;
      CHECK(w.open("link", access::write, how, options).error() == needed);
      CHECK(w.open("dangling", access::write, how, options).error() == needed);
      if (!directory) continue;
      options.beneath = &directory.value();
      CHECK(w.open_path("link", access::write, how, options).error() == needed);
      options.beneath = nullptr;
    }
    CHECK(w.open("here/target", access::read, creation::open_existing, options));  // before the end
    CHECK(w.open("target", access::read_write, creation::if_needed, options));
  }
  CHECK(contents(w.where / "target") == "contents");
  CHECK(w.where.entries() == 4);
}

PROMISE(no_links_async, each_engine_of_the_system, "async_open() keeps to follow_links and regular_only") {
  using file = qio::basic_file<typename Where::mode>;
  put(w.where / "target", "contents");
  fs::create_symlink("target", w.where / "link");
  const auto open = [&](const std::string& path, const qio::open_options& options) {
    return w.context->run(file::async_open(*w.context, path, access::read, creation::open_existing, options));
  };
  for (int times = 0; times < 2; ++times) {  // by a worker, then at once
    CHECK(open(w.where / "target", {.follow_links = false, .regular_only = true}));
    CHECK(open(w.where / "link", {.regular_only = true}));
    CHECK(open(w.where / "link", {.follow_links = false}).error() == std::errc::too_many_symbolic_link_levels);
    CHECK(open("/dev/zero", {.regular_only = true}).error() == errc::not_a_regular_file);
  }
}

PROMISE(regular_only, everywhere_in_the_system, "with regular_only, only regular files are opened") {
  const qio::open_options options{.regular_only = true};
  REQUIRE(::mkfifo((w.where / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("/dev/null", w.where / "to null");
  fs::create_directory(w.where / "directory");
  for (const auto how :
       {creation::open_existing, creation::if_needed, creation::truncate_existing, creation::emptied}) {
    for (const std::string& path : {std::string("/dev/null"), w.where / "pipe", w.where / "to null"}) {
      const auto refused = w.open_path(path, access::write, how, options);
      REQUIRE(!refused);
      CHECK(refused.error() == errc::not_a_regular_file);
      CHECK(refused.error().message().find("regular_only") != std::string::npos);
    }
    CHECK(w.open("directory", access::write, how, options).error() == std::errc::is_a_directory);
    const bool creates = how == creation::if_needed || how == creation::emptied;
    CHECK(w.open("new", access::write, how, options).has_value() == creates);
    put(w.where / "old", "contents");
    CHECK(w.open("old", access::write, how, options));
    CHECK(contents(w.where / "old").empty() == (how == creation::truncate_existing || how == creation::emptied));
    fs::remove(w.where / "new");
  }
  CHECK(w.open("missing", access::read, creation::open_existing, options).error() ==
        std::errc::no_such_file_or_directory);
}

PROMISE(device_untouched, each_mode, "with regular_only, a device is not opened, not even for a moment") {
  // Opening the terminal of a process that has none fails with ENXIO, so this error would show it.
  const auto refused = w.open_path("/dev/tty", access::read, creation::open_existing, {.regular_only = true});
  if (!fs::exists("/dev/tty")) QIO_SKIP("there is no /dev/tty");
  CHECK(refused.error() == errc::not_a_regular_file);
}

PROMISE(regular_adopted, each_mode, "with regular_only, adopt() refuses a device, which stays open") {
  if (Where::mode::is_direct) return;
  const int handle = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  const auto adopted = qio::basic_file<typename Where::mode>::adopt(handle, {.regular_only = true});
  REQUIRE(!adopted);
  CHECK(adopted.error() == errc::not_a_regular_file);
  CHECK(os::is_open(handle));
  ::close(handle);
}

// --- lifetime ---

PROMISE(lifetime, everywhere_in_the_system, "open_options::lifetime gives the file a hint, or explain() says why not") {
  constexpr int get_hint = 1035;  // F_GET_RW_HINT
  auto file = w.with(0);
  CHECK(file.explain().find("lifetime") == nullptr);
  std::uint64_t hint = 0;
  if (::fcntl(file.native_handle(), get_hint, &hint) != 0)
    QIO_SKIP("no hints here: " + std::string(std::strerror(errno)));
  constexpr std::array all{qio::data_lifetime::short_lived, qio::data_lifetime::medium, qio::data_lifetime::long_lived,
                           qio::data_lifetime::extreme};
  for (std::uint64_t each = 0; each < all.size(); ++each) {
    auto hinted = w.open("data", access::read, creation::open_existing, {.lifetime = all[each]}).value();
    const auto facts = hinted.explain();
    const auto* const fact = facts.find("lifetime");
    REQUIRE(fact != nullptr);
    if (!fact->reason.empty()) QIO_SKIP("no hints here: " + fact->reason);
    CHECK(fact->value == qio::name_of(all[each]));
    REQUIRE(::fcntl(hinted.native_handle(), get_hint, &hint) == 0);
    CHECK(hint == each + 2);  // RWH_WRITE_LIFE_SHORT is 2
  }
}

PROMISE(lifetime_unavailable, each_mode,
        "where there is no hint to give, explain() says so, and the file can be used") {
  if (!std::is_same_v<typename Where::mode, qio::cached>) return;  // the others refuse this device
  auto file = w.open_path("/dev/zero", access::read, creation::open_existing, {.lifetime = qio::data_lifetime::medium});
  REQUIRE(file);
  const auto facts = file.value().explain();
  REQUIRE(facts.find("lifetime") != nullptr);
  memory bytes(4096);
  CHECK(file.value().read_at(0, bytes.all()).value() == 4096);
}

// --- files without a name ---

PROMISE(unnamed_file, everywhere_in_the_system,
        "a file without a name is an ordinary one, and gone when it is closed") {
  auto file = unnamed(w);
  if (!file) QIO_SKIP("no files without a name here");
  CHECK(w.where.entries() == 0);
  CHECK(file->size().value() == w.unit);
  memory found(w.unit);
  CHECK(w.read(*file, 0, found.all()).value() == w.unit);
  CHECK(holds_pattern(found.all(), 0));
  CHECK(file->close());
  CHECK(w.where.entries() == 0);
}

PROMISE(unnamed_refused, everywhere_in_the_system,
        "open_unnamed() needs access to write, and a directory that exists") {
  const auto refused = open_unnamed(w, access::read);
  REQUIRE(!refused);
  CHECK(refused.error() == errc::access_not_granted);
  CHECK(refused.error().message().find("cannot create a file in " + w.where.path()) == 0);
  CHECK(refused.error().message().find("open_unnamed()") != std::string::npos);
  using file = qio::basic_file<typename Where::mode>;
  if constexpr (!Where::is_async)
    CHECK(file::open_unnamed(w.where / "missing").error() == std::errc::no_such_file_or_directory);
  else
    CHECK(w.context->run(file::async_open_unnamed(*w.context, w.where / "missing")).error() ==
          std::errc::no_such_file_or_directory);
}

PROMISE(unnamed_async, each_engine_of_the_system, "async_open_unnamed() opens one on a worker") {
  using file = qio::basic_file<typename Where::mode>;
  auto opened = w.context->run(file::async_open_unnamed(*w.context, w.where.path()));
  if (!opened) QIO_SKIP("no files without a name here: " + opened.error().message());
  CHECK(opened.value().give_name(w.where / "file"));
  CHECK(w.where.entries() == 1);
}

PROMISE(unnamed_beneath, each_mode, "open_unnamed() and give_name() keep to a directory") {
  const auto directory = qio::directory::open(w.where.path());
  if (!directory) QIO_SKIP(directory.error().message());
  using file = qio::basic_file<typename Where::mode>;
  const qio::open_options options{.beneath = &directory.value()};
  CHECK(file::open_unnamed("..", access::write, options).error() == errc::leaves_directory);
  auto opened = file::open_unnamed(".", access::write, options);
  if (!opened) QIO_SKIP("no files without a name here: " + opened.error().message());
  const auto refused = opened.value().give_name("../file", if_exists::fail, &directory.value());
  REQUIRE(!refused);
  CHECK(refused.error() == errc::leaves_directory);
  CHECK(refused.error().message().find("cannot give a file the name ../file") == 0);
  CHECK(opened.value().give_name("file", if_exists::fail, &directory.value()));
  CHECK(fs::exists(w.where / "file"));
}

PROMISE(unnamed_permissions, each_mode, "a file without a name has the requested permissions, less the umask") {
  const mode_t before = ::umask(027);
  auto file = open_unnamed(w, access::read_write, {.permissions = 0666});
  ::umask(before);
  if (!file) QIO_SKIP("no files without a name here: " + file.error().message());
  struct stat status;
  REQUIRE(::fstat(file.value().native_handle(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
  CHECK(status.st_nlink == 0);
}

PROMISE(give_name, everywhere_in_the_system, "give_name() makes a file appear, complete, under a name that is free") {
  auto file = unnamed(w);
  if (!file) QIO_SKIP("no files without a name here");
  put(w.where / "taken", "contents");
  const auto refused = file->give_name(w.where / "taken");
  REQUIRE(!refused);
  CHECK(refused.error() == std::errc::file_exists);
  CHECK(refused.error().message().find("cannot give a file the name ") == 0);
  CHECK(contents(w.where / "taken") == "contents");
  CHECK(file->give_name(w.where / "free"));
  CHECK(has_pattern(w, w.where / "free"));
  CHECK(file->give_name(w.where / "second"));  // a hard link
  CHECK(w.where.entries() == 3);
  CHECK(file->give_name(w.where / "no/such").error() == std::errc::no_such_file_or_directory);
  CHECK(file->give_name(w.where / "third", if_exists::exchange).error() == std::errc::invalid_argument);
  CHECK(file->give_name(std::string("a\0b", 3)).error() == errc::null_in_path);
  CHECK(w.where.entries() == 3);
  CHECK(file->close());
  CHECK(file->give_name(w.where / "fourth").error() == std::errc::bad_file_descriptor);
}

PROMISE(async_give_name, of_the_system, "async_give_name() gives a file its name on a worker") {
  auto file = unnamed(w);
  if (!file) QIO_SKIP("no files without a name here");
  const auto name = [&](std::string path, if_exists how) {
    return w.context->run(file->async_give_name(std::move(path), how));
  };
  CHECK(name(w.where / "named", if_exists::fail));
  const auto refused = name(w.where / "named", if_exists::fail);
  REQUIRE(!refused);
  CHECK(refused.error() == std::errc::file_exists);
  CHECK(refused.error().message().find("named") != std::string::npos);
  CHECK(name(w.where / "named", if_exists::replace));
  CHECK(has_pattern(w, w.where / "named"));
  CHECK(name(std::string("a\0b", 3), if_exists::fail).error() == errc::null_in_path);
  auto late = file->async_give_name(w.where / "late");
  CHECK(file->close());
  CHECK(w.context->run(std::move(late)).error() == std::errc::bad_file_descriptor);
}

PROMISE(give_name_replacing, everywhere_in_the_system,
        "give_name() replaces a file or a link, and leaves nothing else") {
  auto file = unnamed(w);
  if (!file) QIO_SKIP("no files without a name here");
  put(w.where / "old", "contents");
  fs::create_symlink("elsewhere", w.where / "link");
  fs::create_directory(w.where / "directory");
  CHECK(file->give_name(w.where / "old", if_exists::replace));
  CHECK(has_pattern(w, w.where / "old"));
  CHECK(file->give_name(w.where / "link", if_exists::replace));
  CHECK(!fs::is_symlink(w.where / "link"));
  CHECK(file->give_name(w.where / "free", if_exists::replace));
  CHECK(file->give_name(w.where / "old", if_exists::replace));  // its own name
  CHECK(has_pattern(w, w.where / "old"));
  CHECK(file->give_name(w.where / "directory", if_exists::replace).error() == std::errc::is_a_directory);
  CHECK(w.where.entries() == 4);
}

PROMISE(any_file_without_name, everywhere_in_the_system, "an any_file of a file without a name gives it one") {
  auto file = unnamed(w);
  if (!file) QIO_SKIP("no files without names here");
  qio::any_file<typename world<Where>::engine> any(*std::move(file));
  REQUIRE(any.give_name(w.where / "named"));
  CHECK(any.give_name(w.where / "named").error() == std::errc::file_exists);
  CHECK(has_pattern(w, w.where / "named"));
}

}  // namespace contract
