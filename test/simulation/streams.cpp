// Streams: what is durable when a writer says so.
#include "program.hpp"
#include <qio/writer.hpp>

#include <cstddef>

using namespace simulation;

TEST_CASE("a finish() that must be durable is, although another one came before it") {
  each_seed([](std::uint64_t seed) {
    qio::simulated_disk disk({.seed = seed});
    {
      program writes(disk);
      auto to = writes.open("data").value();
      REQUIRE(disk.sync_directory("."));
      auto stream = qio::writer<file>::create(to, {.block_bytes = 4096}).value();
      const bytes ones = filled(10'000, 1);
      const auto write = [&]() -> qio::task<void> {
        const auto taken = co_await stream.write(ones);
        REQUIRE(taken);
      };
      writes.context.run(write());
      REQUIRE(writes.context.run(stream.finish()));
      REQUIRE(writes.context.run(stream.finish({.durable = true})));
    }
    disk.restart();
    CHECK(contents(disk, "data") == filled(10'000, 1));
  });
}
