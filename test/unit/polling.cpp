// Polling where it is unavailable: explain() reports why, and everything still works. Polling where it is available is
// tested in test/vm.
#include "catch.hpp"
#include "sizes.hpp"
#include <qio/qio.hpp>

#if QIO_HAS_URING
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace {

using qio::access;
using qio::creation;

// A file of sixteen blocks, each filled with its number.
class numbered_file {
 public:
  numbered_file() {
    std::ofstream out(path, std::ios::binary);
    for (char number = 0; number < 16; ++number) out << std::string(block_size, number);
  }
  numbered_file(const numbered_file&) = delete;
  numbered_file& operator=(const numbered_file&) = delete;
  ~numbered_file() { std::filesystem::remove(path); }

  const std::string path = "polling-" + std::to_string(::getpid()) + ".data";  // cases run concurrently, in processes
};

qio::context polling_context(qio::polling how = qio::polling::busy) {
  qio::context_options options;
  options.engine = qio::engine_kind::ring;
  options.polling = how;
  return qio::context::create(options).value();
}

TEST_CASE("explain() reports whether a context polls") {
  CHECK(polling_context(qio::polling::off).explain().find("polling")->value == "off");
  const qio::fact asked = *polling_context().explain().find("polling");
  CHECK((asked.value == "busy" || (asked.value == "off" && !asked.reason.empty())));
  const qio::fact hybrid = *polling_context(qio::polling::hybrid).explain().find("polling");
  CHECK((hybrid.value == "hybrid" || !hybrid.reason.empty()));
}

TEST_CASE(
    "a direct file on a polling context works whether or not its device can be polled, and explain() says which") {
  const numbered_file numbered;
  auto context = polling_context();
  auto opened = qio::direct_file::open(context, numbered.path, access::read_write);
  if (!opened) QIO_SKIP("no direct files here: " + opened.error().message());
  auto& file = opened.value();
  auto memory = qio::aligned_buffer::allocate(block_size).value();

  CHECK(context.run([&]() -> qio::task<bool> {
    bool right = true;
    for (std::size_t number = 0; number < 16; ++number) {
      const auto read = co_await file.async_read_at(number * block_size, memory);
      right = right && read && read.value() == block_size && memory.data()[block_size - 1] == std::byte(number);
    }
    co_return right&& co_await file.async_write_at(0, memory) && co_await file.async_sync();
  }()));

  const qio::fact told = *file.explain().find("polling");
  CHECK(file.statistics().polled == (told.value == "off" ? 0u : 16u));
  CHECK(!told.reason.empty());
}

TEST_CASE("a write-only file works on a polling context") {
  const numbered_file numbered;
  auto context = polling_context();
  auto opened = qio::direct_file::open(context, numbered.path, access::write);
  if (!opened) QIO_SKIP("no direct files here: " + opened.error().message());
  auto memory = qio::aligned_buffer::allocate(block_size).value();
  std::fill(memory.begin(), memory.end(), std::byte{77});
  REQUIRE(context
              .run([&]() -> qio::task<qio::result<std::size_t>> {
                co_return co_await opened.value().async_write_at(0, memory);
              }())
              .value() == block_size);
  CHECK(std::ifstream(numbered.path, std::ios::binary).get() == 77);
}

// A device that no longer supports polling is simulated by a file that never does: a polled read through the page cache
// is refused on every kernel and device.
TEST_CASE("the ordinary ring carries out polled transfers that are refused, and the file is no longer polled") {
  const numbered_file numbered;
  auto created = qio::default_engine::create([] {
    qio::context_options options;
    options.engine = qio::engine_kind::ring;
    options.polling = qio::polling::busy;
    return options;
  }());
  if (!created) QIO_SKIP("no io_uring here: " + created.error().message());
  qio::default_engine& engine = *created.value();
  if (qio::explanation facts; engine.explain(facts), facts.find("polling")->value == "off")
    QIO_SKIP("no polled ring here: " + facts.find("polling")->reason);

  qio::detail::list<qio::file_activity> activities;
  qio::detail::turn_watch watch;
  engine.observe(activities, watch);
  engine.begin();
  auto file = qio::cached_file::open(numbered.path).value();
  qio::detail::list<qio::request> held;
  qio::file_activity activity;
  activity.poll(qio::opcode::read);
  std::array<qio::request, 16> requests;
  std::array<std::array<std::byte, block_size>, 16> memory{};
  for (std::size_t number = 0; number < 16; ++number) {
    qio::request& r = requests[number];
    r.op = qio::opcode::read;
    r.handle = file.native_handle();
    r.io = qio::detail::transfer(number * block_size, qio::mutable_buffer(memory[number].data(), block_size));
    r.activity = &activity;
    held.insert(r);
    engine.submit(r);
  }
  CHECK(engine.in_flight() == 16);
  engine.cancel(requests[5]);

  std::size_t over = 0;
  qio::completed_requests completed;
  while (over < 16) {
    engine.wait(completed, qio::wait_limit::unlimited());
    while (completed.pop() != nullptr) ++over;
  }
  CHECK(engine.in_flight() == 0);
  CHECK(activity.polled == 0);
  CHECK(activity.in_flight == 0);
  CHECK(activity.statistics.polled == 0);
  for (std::size_t number = 0; number < 16; ++number) {
    if (number == 5) {
      CHECK(requests[number].failure == std::errc::operation_canceled);
    } else {
      CHECK(!requests[number].failed());
      CHECK(memory[number][block_size - 1] == std::byte(number));
    }
  }
}

}  // namespace
#endif
