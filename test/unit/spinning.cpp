// How long a context waits awake for what does not come.
#include "catch.hpp"
#include "directory.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#if QIO_HAS_URING
TEST_CASE("an unsuccessful wait awake is followed by waits asleep, each time by twice as many") {
  auto context = qio::context::create({.engine = qio::engine_kind::ring, .waiting = qio::wait_policy::spin});
  if (!context) QIO_SKIP("no io_uring here: " + context.error().message());
  auto& on = context.value();
  const qio_test::directory where;
  // open() refuses pipes, so the file gets the handle of one. A read of it stays in the ring.
  auto file = qio::cached_file::open(on, where / "file", qio::access::read_write, qio::creation::if_needed,
                                     {.inline_reads = qio::inline_transfers::never})
                  .value();
  const std::string pipe = where / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int opened = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::dup3(opened, file.native_handle(), O_CLOEXEC) >= 0);
  ::close(opened);

  std::array<std::byte, 1> byte{};
  auto read = file.async_read_at(0, byte);
  bool done = false;
  read.start([&done](qio::result<std::size_t>) { done = true; });
  // Between the k-th and the next of them there are 2^(k-1) waits asleep, whatever ends each wait.
  bool right = true;
  for (std::uint64_t vain = 0; vain < 8; vain = on.waits().awake_in_vain) {
    static_cast<void>(on.run_one(std::chrono::milliseconds(1)));
    const qio::wait_statistics all = on.waits();
    const std::uint64_t expected = (std::uint64_t(1) << all.awake_in_vain) - 1;
    right = right && all.awake == 0 && all.asleep <= expected && 2 * all.asleep + 1 >= expected;
  }
  CHECK(right);
  CHECK_FALSE(done);
  const std::byte sent{7};
  CHECK(::write(file.native_handle(), &sent, 1) == 1);
  on.run();
  CHECK(done);
}
#endif
