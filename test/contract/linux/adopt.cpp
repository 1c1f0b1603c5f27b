// Handles that the program opened itself: what adopt() says of Linux's kinds of them.
#include "../adopt.hpp"

#include "../reader.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <string>

namespace contract {

namespace {

template <class World>
int raw_with(World& w, int flags) {
  const std::string path = w.where / "data";
  const int handle = ::open(path.c_str(), flags | O_CLOEXEC | (World::mode::is_direct ? O_DIRECT : 0));
  REQUIRE(handle >= 0);
  return handle;
}

}  // namespace

PROMISE(not_adopted_kinds, everywhere_in_the_system,
        "adopt() refuses what has no offsets, appends, does not wait or grants no access") {
  REQUIRE(w.with(4096).close());
  CHECK(refusal(w, raw_with(w, O_RDWR | O_APPEND)) == errc::handle_appends);
  if (Where::is_async)
    CHECK(refusal(w, raw_with(w, O_RDWR | O_NONBLOCK)) == errc::handle_is_nonblocking);
  else
    CHECK(adopt(w, raw_with(w, O_RDWR | O_NONBLOCK)));

  const std::string path = w.where / "data", directory = w.where / "";
  CHECK(refusal(w, ::open(path.c_str(), O_PATH | O_CLOEXEC)) == errc::access_not_granted);
  CHECK(refusal(w, ::open(directory.c_str(), O_RDONLY | O_CLOEXEC)) == std::errc::is_a_directory);
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  CHECK(refusal(w, pipe[0]) == errc::no_offsets);
  ::close(pipe[1]);
  CHECK(refusal(w, ::eventfd(0, EFD_CLOEXEC)) == errc::no_offsets);
  CHECK(refusal(w, raw_with(w, O_ACCMODE)) == errc::access_not_granted);
  CHECK(adopt(w, raw_with(w, O_RDWR | O_SYNC), {.durable_writes = true}));  // more than O_DSYNC
}

PROMISE(released_busy, of_the_system, "release() ends the operations in flight first, and the context completes them") {
  auto file = w.with(64 * 4096);
  std::deque<reader<world<Where>>> all;
  for (std::size_t i = 0; i < 64; ++i) all.emplace_back(4096).start(file, i * 4096);
  const int handle = file.release().value();
  w.context->run();
  for (auto& each : all) CHECK(each.calls == 1);
  CHECK(os::is_open(handle));
  ::close(handle);
}

}  // namespace contract
