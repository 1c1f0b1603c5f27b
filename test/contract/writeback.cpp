// start_writeback(): what it promises on every engine, in every mode. Whether the system begins is tested in
// test/fault.
#include "world.hpp"
#include <qio/any_file.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace contract {

namespace {

template <class World>
qio::result<void> start_writeback(World& w, typename World::file& file, std::uint64_t offset, std::uint64_t bytes) {
  if constexpr (World::is_async)
    return w.template run<void>([&] { return file.async_start_writeback(offset, bytes); });
  else
    return file.start_writeback(offset, bytes);
}

template <class World>
constexpr bool has_writeback = World::engine::system::has_writeback;

}  // namespace

PROMISE(writeback_ranges, everywhere,
        "write-back starts for any range and changes nothing, or is refused by the system") {
  auto file = w.with(4 * 4096);
  constexpr std::uint64_t most = ~std::uint64_t(0) >> 1, longer_than_a_call = std::uint64_t(5) << 30;
  const std::pair<std::uint64_t, std::uint64_t> ranges[] = {
      {0, 4 * 4096}, {0, 0}, {1, 1}, {4095, 2}, {4096, longer_than_a_call}, {1 << 20, 4096}, {most - 1, 1}};
  for (const auto& [offset, bytes] : ranges) {
    INFO(offset << " + " << bytes);
    const auto started = start_writeback(w, file, offset, bytes);
    if constexpr (has_writeback<contract::world<Where>>) {
      CHECK(started);
      CHECK(file.start_writeback(offset, bytes));  // blocking
    } else {
      CHECK(started.error() == errc::writeback_not_supported);
      CHECK(started.error() == std::errc::operation_not_supported);
    }
  }
  CHECK(file.size().value() == 4 * 4096);
  memory target(4 * 4096);
  CHECK(w.read(file, 0, target.all()).value() == 4 * 4096);
  CHECK(holds_pattern(target.all(), 0));
  CHECK(w.sync(file, qio::sync_kind::data));
}

PROMISE(writeback_refusals, everywhere, "write-back of a range past the largest offset, or of a closed file, fails") {
  auto file = w.with(4096);
  if constexpr (has_writeback<contract::world<Where>>) {
    constexpr std::uint64_t most = ~std::uint64_t(0) >> 1;
    for (const auto& [offset, bytes] : {std::pair{most, std::uint64_t(1)},
                                        {std::uint64_t(1), most},
                                        {most + 1, std::uint64_t(0)},
                                        {std::uint64_t(0), ~std::uint64_t(0)}})
      CHECK(start_writeback(w, file, offset, bytes).error() == errc::offset_too_large);
  }
  CHECK(w.sync(file, qio::sync_kind::data));  // what was refused is no failed sync
  CHECK(file.close());
  CHECK(start_writeback(w, file, 0, 4096).error() == std::errc::bad_file_descriptor);
}

PROMISE(writeback_of_reader, everywhere, "write-back may be started through a file that is open for reading only") {
  { auto made = w.with(4096); }
  auto file = w.open("data", access::read, creation::open_existing).value();
  if constexpr (has_writeback<contract::world<Where>>) CHECK(start_writeback(w, file, 0, 4096));
}

PROMISE(writeback_served, asynchronous, "asynchronous write-back takes the engine, and heeds deadlines") {
  if constexpr (has_writeback<contract::world<Where>>) {
    auto file = w.with(4096);
    const std::uint64_t before = served(file.statistics());
    CHECK(w.template run<void>([&] { return file.async_start_writeback(0, 4096); }));
    CHECK(served(file.statistics()) == before + 1);
    CHECK(w.template run<void>([&] { return file.async_start_writeback(0, 4096, {.deadline = long_ago}); }).error() ==
          std::errc::timed_out);
    CHECK(served(file.statistics()) == before + 1);
  }
}

TEST_CASE("a file of any mode starts write-back and has limits of untorn writes") {
  const qio_test::directory where;
  auto context = qio::context::create().value();
  auto file =
      qio::any_file<>::open(context, qio::any_mode::cached, where / "data", access::read_write, creation::always_new)
          .value();
  CHECK(file.start_writeback(0, 4096).has_value() == os::has_writeback);
  CHECK(context.run(file.async_start_writeback(0, 4096)).has_value() == os::has_writeback);
  CHECK(file.atomic_write_limits() == qio::atomic_write_limits());
}

}  // namespace contract
