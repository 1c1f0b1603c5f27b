// Handles that the program opened itself: adopt() and release().
#include "../reader.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <string>
#include <utility>

namespace contract {

namespace {

/// A handle of the file "data", opened as this mode needs it and with `more` flags.
template <class World>
int raw(World& w, int more = 0, int access_flags = O_RDWR) {
  const int needed = World::mode::is_direct ? O_DIRECT : 0;
  const std::string path = w.where / "data";
  const int handle = ::open(path.c_str(), access_flags | O_CLOEXEC | O_CREAT | needed | more, 0600);
  REQUIRE(handle >= 0);
  return handle;
}

template <class World>
qio::result<typename World::file> adopt(World& w, int handle, const qio::open_options& options = {}) {
  if constexpr (World::is_async)
    return qio::basic_file<typename World::mode>::adopt(*w.context, handle, options);
  else
    return World::file::adopt(handle, options);
}

bool is_open(int handle) { return ::fcntl(handle, F_GETFD) >= 0; }

/// The error of a refused handle, which stays open and has the flags that it had. Closes it.
template <class World>
qio::error refusal(World& w, int handle, const qio::open_options& options = {}) {
  const int flags = ::fcntl(handle, F_GETFL);
  const auto refused = adopt(w, handle, options);
  REQUIRE(!refused);
  CHECK(is_open(handle));
  CHECK(::fcntl(handle, F_GETFL) == flags);
  ::close(handle);
  return refused.error();
}

}  // namespace

PROMISE(adopted, everywhere_in_the_system, "a file that adopted a handle transfers like any other, and closes it") {
  REQUIRE(w.with(8192).close());
  const int handle = raw(w);
  {
    auto file = adopt(w, handle).value();
    CHECK(file.native_handle() == handle);
    CHECK(file.is_direct() == Where::mode::is_direct);
    memory block(4096);
    CHECK(w.read(file, 4096, block.all()).value() == 4096);
    CHECK(holds_pattern(block.all(), 4096));
    CHECK(w.write(file, 8192, memory::with_pattern(8192, 4096).all()).value() == 4096);
    CHECK(w.sync(file, qio::sync_kind::everything));
    CHECK(w.read(file, 8192, block.all()).value() == 4096);
    CHECK(holds_pattern(block.all(), 8192));
    CHECK(file.size().value() == 12288);
  }
  CHECK(!is_open(handle));
}

PROMISE(adopted_access, everywhere_in_the_system, "an adopted handle keeps its access, and modes that read need it") {
  REQUIRE(w.with(4096).close());
  memory block(4096);
  auto reader = adopt(w, raw(w, 0, O_RDONLY)).value();
  CHECK(w.read(reader, 0, block.all()).value() == 4096);
  CHECK(w.write(reader, 0, block.all()).error() == errc::access_not_granted);

  const int write_only = raw(w, 0, O_WRONLY);
  auto writer = adopt(w, write_only);
  if (Where::mode::is_mapped || std::is_same_v<typename Where::mode, qio::uncached>) {
    CHECK(writer.error() == errc::access_not_granted);
    CHECK(is_open(write_only));
    ::close(write_only);
  } else {
    CHECK(w.write(writer.value(), 0, block.all()).value() == 4096);
    CHECK(w.read(writer.value(), 0, block.all()).error() == errc::access_not_granted);
  }
}

PROMISE(adopted_durable, everywhere_in_the_system, "writes of an adopted handle are durable if it has O_DSYNC") {
  REQUIRE(w.with(4096).close());
  CHECK(adopt(w, raw(w)).value().explain().find("durable writes")->value == "off");
  CHECK(adopt(w, raw(w, O_DSYNC)).value().explain().find("durable writes")->value == "on");
  CHECK(adopt(w, raw(w, O_SYNC), {.durable_writes = true}).value().explain().find("durable writes")->value == "on");
  CHECK(refusal(w, raw(w), {.durable_writes = true}) == errc::handle_is_not_durable);
}

PROMISE(not_adopted, everywhere_in_the_system, "what adopt() refuses stays open, unchanged, and the error says why") {
  REQUIRE(w.with(4096).close());
  CHECK(refusal(w, raw(w, O_APPEND)) == errc::handle_appends);
  CHECK(adopt(w, raw(w, O_APPEND, O_RDONLY)));
  if (Where::is_async)
    CHECK(refusal(w, raw(w, O_NONBLOCK)) == errc::handle_is_nonblocking);
  else
    CHECK(adopt(w, raw(w, O_NONBLOCK)));

  const std::string path = w.where / "data", directory = w.where / "";
  const int other = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (Where::mode::is_direct ? 0 : O_DIRECT));
  if (other >= 0)
    CHECK(refusal(w, other) == (Where::mode::is_direct ? errc::handle_is_not_direct : errc::handle_is_direct));
  CHECK(refusal(w, ::open(path.c_str(), O_PATH | O_CLOEXEC)) == errc::access_not_granted);
  CHECK(refusal(w, ::open(directory.c_str(), O_RDONLY | O_CLOEXEC)) == std::errc::is_a_directory);
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  CHECK(refusal(w, pipe[0]) == errc::no_offsets);
  ::close(pipe[1]);
  CHECK(refusal(w, ::eventfd(0, EFD_CLOEXEC)) == errc::no_offsets);
  CHECK(refusal(w, ::open(path.c_str(), O_ACCMODE | O_CLOEXEC | (Where::mode::is_direct ? O_DIRECT : 0))) ==
        errc::access_not_granted);
  CHECK(adopt(w, -1).error() == std::errc::bad_file_descriptor);
}

PROMISE(adopted_fallback, everywhere_in_the_system,
        "a direct file adopts a handle without O_DIRECT if it may use the cache") {
  if (!Where::mode::is_direct) return;
  REQUIRE(w.with(4096).close());
  const std::string path = w.where / "data";
  const auto file = adopt(w, ::open(path.c_str(), O_RDWR | O_CLOEXEC), {.fallback = qio::if_unavailable::use_cache});
  REQUIRE(file);
  CHECK(!file.value().is_direct());
  CHECK(file.value().explain().find("direct")->reason == qio::error(errc::handle_is_not_direct).message());
}

PROMISE(released, everywhere_in_the_system, "release() returns the open handle, which another file may adopt") {
  auto file = w.with(4096);
  const int handle = file.native_handle();
  memory block(4096);
  CHECK(w.read(file, 0, block.all()).value() == 4096);
  REQUIRE(file.release().value() == handle);
  CHECK(!file.is_open());
  CHECK(file.release().error() == std::errc::bad_file_descriptor);
  REQUIRE(is_open(handle));
  CHECK(::pread(handle, block.data(), 4096, 0) == 4096);
  auto next = adopt(w, handle).value();
  CHECK(w.read(next, 0, block.all()).value() == 4096);
  CHECK(holds_pattern(block.all(), 0));
}

PROMISE(released_busy, of_the_system, "release() ends the operations in flight first, and the context completes them") {
  auto file = w.with(64 * 4096);
  std::deque<reader<world<Where>>> all;
  for (std::size_t i = 0; i < 64; ++i) all.emplace_back(4096).start(file, i * 4096);
  const int handle = file.release().value();
  w.context->run();
  for (auto& each : all) CHECK(each.calls == 1);
  CHECK(is_open(handle));
  ::close(handle);
}

}  // namespace contract
