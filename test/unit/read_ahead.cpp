// How far a reader reads ahead: which waits and rates make it read more, or less.
#include "catch.hpp"
#include <qio/stream/blocks.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace {

using qio::detail::read_ahead;
using namespace std::chrono_literals;

constexpr std::size_t kib = 1024;

/// A device that takes `latency` for a block and gives at most `most` bytes in a microsecond, and a program that takes
/// `work` for each.
struct device {
  std::chrono::nanoseconds latency;
  double most;
  std::chrono::nanoseconds work{0};

  /// Lets the program read `blocks` blocks.
  void read(read_ahead& ahead, int blocks) {
    for (int i = 0; i < blocks; ++i) {
      const auto bytes = static_cast<double>(ahead.block_bytes());
      const double of_latency = bytes * ahead.depth() / (static_cast<double>(latency.count()) / 1000);
      const double rate = of_latency < most ? of_latency : most;
      const std::chrono::nanoseconds time(static_cast<std::int64_t>(bytes / rate * 1000));
      const auto waited = time > work ? time - work : 0ns;
      now += work + waited;
      ahead.handed_out(ahead.block_bytes(), waited, now);
    }
  }

  std::chrono::steady_clock::time_point now{};
};

read_ahead of_direct_file() { return read_ahead({128 * kib, 512 * kib, 2, 15, false}); }

}  // namespace

TEST_CASE("a reader reads further ahead as long as that makes the device faster") {
  device fast{100us, 1e6};
  auto ahead = of_direct_file();
  CHECK(ahead.depth() == 2);
  CHECK(ahead.block_bytes() == 128 * kib);
  fast.read(ahead, 200);
  CHECK(ahead.depth() == 15);
  CHECK(ahead.block_bytes() == 512 * kib);
}

TEST_CASE("a reader does not read further ahead than makes the device faster") {
  device slow{100us, 1300};  // as fast as it can be with one block of 128 KiB
  auto ahead = of_direct_file();
  slow.read(ahead, 200);
  CHECK(ahead.depth() == 2);
  CHECK(ahead.block_bytes() == 128 * kib);

  device medium{100us, 6000};  // about five such blocks
  auto more = of_direct_file();
  medium.read(more, 200);
  const std::size_t in_flight = more.depth() * more.block_bytes();
  CHECK(in_flight >= 512 * kib);
  CHECK(in_flight <= 2048 * kib);
}

TEST_CASE("a reader does not read further ahead while the program takes longer than the device") {
  device busy{100us, 1e6, 10ms};
  auto ahead = of_direct_file();
  busy.read(ahead, 500);
  CHECK(ahead.depth() == 2);
  CHECK(ahead.block_bytes() == 128 * kib);
}

TEST_CASE("a reader tries to read further ahead again when the device may be faster") {
  device changing{100us, 1300};
  auto ahead = of_direct_file();
  changing.read(ahead, 200);
  CHECK(ahead.depth() == 2);
  changing.most = 1e6;
  changing.read(ahead, 5000);
  CHECK(ahead.depth() == 15);
}

TEST_CASE("a reader of a cached file reads less ahead when it no longer waits") {
  device changing{100us, 1e6};
  read_ahead ahead({96 * kib, 96 * kib, 1, 16, true});
  changing.read(ahead, 300);
  CHECK(ahead.depth() == 16);
  changing.work = 10ms;
  changing.read(ahead, 600);
  CHECK(ahead.depth() == 1);
}

TEST_CASE("a reader keeps the depth and the length of blocks that it was given") {
  device fast{100us, 1e6};
  read_ahead fixed({64 * kib, 64 * kib, 3, 3, false});
  CHECK(!fixed.adapts());
  fast.read(fixed, 500);
  CHECK(fixed.depth() == 3);
  CHECK(fixed.block_bytes() == 64 * kib);

  read_ahead deep({128 * kib, 512 * kib, 3, 3, false});
  fast.read(deep, 500);
  CHECK(deep.depth() == 3);
  CHECK(deep.block_bytes() == 512 * kib);
  read_ahead many({64 * kib, 64 * kib, 1, 32, false});
  fast.read(many, 500);
  CHECK(many.depth() == 32);
  CHECK(many.block_bytes() == 64 * kib);
}

TEST_CASE("time for which nothing was read ahead does not count when a reader begins to wait") {
  device fast{100us, 1e6};
  read_ahead ahead({96 * kib, 96 * kib, 1, 16, true});
  fast.read(ahead, 1);
  ahead.pass_over();
  fast.now += 1s;
  fast.read(ahead, 3);
  CHECK(ahead.depth() == 2);
}
