// Copies of whole files: what is Linux's.
#include "../world.hpp"
#include <qio/copy.hpp>
#include <qio/names.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>

namespace contract {

namespace {

using each_way_of_the_system = joined<std::tuple<under<qio::no_engine, qio::cached>>, each_engine_of_the_system>;

/// The copy of a file that never ends, while it is made. A test that does not end it fails before it fills the disk.
template <class Where>
struct endless_copy {
  using file = typename world<Where>::file;
  using operation = decltype(qio::async_copy(std::declval<file&>(), std::declval<file&>()));

  explicit endless_copy(world<Where>& in)
      : w(in),
        from(w.open_path("/dev/zero", access::read, creation::open_existing).value()),
        to(w.open("copy", access::read_write, creation::always_new).value()) {}

  void start(const qio::operation_options& options = {}) {
    answer.reset();
    REQUIRE(to.resize(0));
    slot.emplace([&] { return qio::async_copy(from, to, options); }).start([this](qio::result<qio::copied> given) {
      answer.emplace(given);
    });
  }
  void run_until_under_way() {
    while (!answer && size() < least) poll();
    REQUIRE_FALSE(answer);
  }
  void run_to_end() {
    while (!answer) poll();
  }
  std::uint64_t size() const { return std::filesystem::file_size(w.where / "copy"); }

  static constexpr std::uint64_t least = 3 << 20;

  world<Where>& w;
  file from, to;
  std::optional<qio::result<qio::copied>> answer;
  qio::operation_slot<operation> slot;

 private:
  void poll() {
    w.context->poll();
    REQUIRE(size() < std::uint64_t(1) << 30);
  }
};

}  // namespace

PROMISE(copy_canceled, each_engine_of_the_system,
        "a copy ends between two pieces, and the error says how much there is") {
  endless_copy<Where> copy(w);
  std::stop_source source;
  const std::stop_token stop = source.get_token();
  for (const bool by_stop : {false, true}) {
    copy.start({.stop = stop});
    copy.run_until_under_way();
    if (by_stop)
      source.request_stop();
    else
      (*copy.slot).cancel();
    copy.run_to_end();
    REQUIRE_FALSE(*copy.answer);
    CHECK(copy.answer->error() == std::errc::operation_canceled);
    CHECK(copy.answer->error().transferred() >= copy.least);
    CHECK(copy.answer->error().transferred() == copy.to.size().value());
  }
}

PROMISE(copy_timed_out, each_engine_of_the_system, "a copy ends at its deadline") {
  endless_copy<Where> copy(w);
  copy.start({.deadline = std::chrono::milliseconds(20)});
  copy.run_to_end();
  REQUIRE_FALSE(*copy.answer);
  CHECK(copy.answer->error() == std::errc::timed_out);
  CHECK(copy.answer->error().transferred() == copy.to.size().value());
}

PROMISE(copy_ended, each_engine_of_the_system, "destroying a copy, or closing its file, ends it between two pieces") {
  endless_copy<Where> copy(w);
  copy.start();
  copy.run_until_under_way();
  copy.slot.reset();
  const std::uint64_t after = copy.size();
  w.context->poll();
  CHECK(copy.size() == after);
  copy.start();
  copy.run_until_under_way();
  CHECK(copy.to.close());
  copy.run_to_end();
  CHECK(copy.answer->error() == std::errc::operation_canceled);
  CHECK(copy.size() == copy.answer->error().transferred());
}

PROMISE(copy_ends_range, each_engine_of_the_system, "async_copy_from() ends between two pieces") {
  auto from = w.with(0);
  REQUIRE(from.resize(std::uint64_t(1) << 30));  // a hole
  auto to = w.open("copy", access::read_write, creation::always_new).value();
  std::optional<qio::result<std::uint64_t>> answer;
  // From the second byte on, so that no file system can share blocks.
  auto operation = to.async_copy_from(from, {1, std::uint64_t(1) << 29}, 0);
  operation.start([&](qio::result<std::uint64_t> given) { answer.emplace(given); });
  while (!answer && to.size().value() == 0) w.context->poll();
  operation.cancel();
  while (!answer) w.context->poll();
  if (*answer) QIO_SKIP("the whole range was copied in the time that it took to cancel");
  CHECK(answer->error() == std::errc::operation_canceled);
  CHECK(answer->error().transferred() == to.size().value());
}

PROMISE(copy_of_proc, each_way_of_the_system, "files without a size, of /proc, are copied to their end") {
  const std::string target = w.where / "copy";
  const auto done = [&] {
    if constexpr (Where::is_async)
      return w.context->run(qio::async_copy_file(*w.context, "/proc/self/status", target));
    else
      return qio::copy_file("/proc/self/status", target);
  }();
  REQUIRE(done);
  CHECK(done.value().way == qio::copy_way::by_memory);
  CHECK(done.value().bytes == contents(target).size());
  CHECK(contents(target).starts_with("Name:"));
  // Its size is that of a page, whatever it contains.
  const auto less = qio::copy_file("/sys/kernel/mm/transparent_hugepage/enabled", target);
  if (!less) QIO_SKIP("no /sys here");
  CHECK(less.value().bytes == contents(target).size());
  CHECK(contents(target) == contents("/sys/kernel/mm/transparent_hugepage/enabled"));
}

PROMISE(copy_attributes, each_way_of_the_system,
        "copy_file() follows links of the source, and takes over its permission bits") {
  const std::string source = w.where / "data", target = w.where / "copy", link = w.where / "link";
  put(source, "contents");
  ::chmod(source.c_str(), 0740);
  REQUIRE(qio::symlink("data", link));
  const mode_t before = ::umask(022);
  CHECK(qio::copy_file(link, target));
  ::umask(before);
  struct stat found;
  REQUIRE(::lstat(target.c_str(), &found) == 0);
  CHECK(S_ISREG(found.st_mode));
  CHECK((found.st_mode & 0777) == 0740);
  CHECK(contents(target) == "contents");
  const std::string pipe = w.where / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(qio::copy_file(pipe, target).error() == errc::not_a_regular_file);
  CHECK(qio::copy_file("/dev/zero", target).error() == errc::not_a_regular_file);
  CHECK(contents(target) == "contents");
}

}  // namespace contract
