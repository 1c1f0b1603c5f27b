// Writes that are durable because the write asks for it.
#include "world.hpp"
#include <qio/any_file.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <stop_token>

namespace contract {

namespace {

using namespace std::chrono_literals;

// On any clock, a simulated one included.
template <class World, class Buffer>
qio::result<std::size_t> write_durably(World& w, typename World::file& file, std::uint64_t offset, Buffer&& buffer) {
  if constexpr (World::is_async)
    return w.template run<std::size_t>([&] { return file.async_write_at(offset, buffer, {.durable = true}); });
  else
    return file.write_at(offset, buffer, {.durable = true});
}

}  // namespace

PROMISE(durable_requests, everywhere, "a write with .durable writes the same bytes as other writes") {
  auto file = w.with(2 * 4096);
  CHECK(file.explain().find("durable writes")->value == "off");
  auto source = memory::with_pattern(0, 6 * 4096);
  CHECK(write_durably(w, file, 0, source.part(0, 2 * 4096)).value() == 2 * 4096);  // written before
  const std::array<qio::const_buffer, 4> parts{
      qio::const_buffer(source.part(2 * 4096, 4096)), qio::const_buffer(nullptr, 0),
      qio::const_buffer(source.part(3 * 4096, 4096)), qio::const_buffer(nullptr, 0)};
  CHECK(write_durably(w, file, 2 * 4096, parts).value() == 2 * 4096);  // extends the file
  CHECK(w.write(file, 4 * 4096, source.part(4 * 4096, 4096)).value() == 4096);
  CHECK(file.write_at(5 * 4096, source.part(5 * 4096, 4096), {.durable = true}).value() == 4096);  // blocking
  CHECK(file.size().value() == 6 * 4096);
  memory target(6 * 4096);
  CHECK(w.read(file, 0, target.all()).value() == 6 * 4096);
  CHECK(holds_pattern(target.all(), 0));
  if constexpr (Where::mode::is_mapped) CHECK(holds_pattern(file.view(0, 6 * 4096).value(), 0));
}

PROMISE(durable_refusals, everywhere, "a write with .durable is refused for the same reasons as other writes") {
  auto file = w.with(4096);
  memory buffer(4096);
  CHECK(write_durably(w, file, 0, buffer.part(0, 0)).value() == 0);
  CHECK(write_durably(w, file, std::uint64_t(1) << 63, buffer.all()).error() == errc::offset_too_large);
  if constexpr (Where::mode::is_direct)
    CHECK(write_durably(w, file, 1, buffer.all()).error() == errc::misaligned_offset);
  auto reader = w.open("data", access::read, creation::open_existing).value();
  CHECK(write_durably(w, reader, 0, buffer.all()).error() == errc::access_not_granted);
  CHECK(w.sync(file, qio::sync_kind::data));  // what was refused is no failed sync
  CHECK(file.close());
  CHECK(write_durably(w, file, 0, buffer.all()).error() == std::errc::bad_file_descriptor);
}

PROMISE(durable_by_default, everywhere, "in a file with durable writes, each write may still be asked to be durable") {
  auto file = w.open("data", access::read_write, creation::always_new, {.durable_writes = true}).value();
  auto source = memory::with_pattern(0, 4096);
  CHECK(write_durably(w, file, 0, source.all()).value() == 4096);
  CHECK(file.write_at(0, source.all(), {.durable = false}).value() == 4096);
  memory target(4096);
  CHECK(w.read(file, 0, target.all()).value() == 4096);
  CHECK(holds_pattern(target.all(), 0));
}

PROMISE(options_of_writes, asynchronous, "a write takes its own options, and those of other operations") {
  auto file = w.with(4096);
  auto source = memory::with_pattern(0, 4096);
  const auto wrote = [&](auto make) { return w.template run<std::size_t>(make).value() == 4096; };
  CHECK(wrote([&] { return file.async_write_at(0, source.all(), {}); }));
  CHECK(wrote([&] { return file.async_write_at(0, source.all(), {.deadline = 1h}); }));
  CHECK(wrote([&] { return file.async_write_at(0, source.all(), {.durable = true, .deadline = 1h}); }));
  const qio::operation_options in_time{.deadline = 1h};
  CHECK(wrote([&] { return file.async_write_at(0, source.all(), in_time); }));

  std::stop_source stop;
  stop.request_stop();
  const std::stop_token stopped = stop.get_token();
  const auto fails = [&](auto make) { return w.template run<std::size_t>(make).error(); };
  CHECK(fails([&] { return file.async_write_at(0, source.all(), {.durable = true, .stop = stopped}); }) ==
        std::errc::operation_canceled);
  CHECK(fails([&] { return file.async_write_at(0, source.all(), {.durable = true, .deadline = long_ago}); }) ==
        std::errc::timed_out);
  CHECK(w.sync(file, qio::sync_kind::data));  // what has not started is no failed sync
}

TEST_CASE("a file of any mode takes the options of writes") {
  const qio_test::directory where;
  auto context = qio::context::create().value();
  auto file =
      qio::any_file<>::open(context, qio::any_mode::cached, where / "data", access::read_write, creation::always_new)
          .value();
  auto source = memory::with_pattern(0, 4096);
  CHECK(file.write_at(0, source.all(), {.durable = true}).value() == 4096);
  CHECK(context.run(file.async_write_at(0, source.all(), {.durable = true, .deadline = 1h})).value() == 4096);
  const qio::operation_options in_time{.deadline = 1h};
  CHECK(context.run(file.async_write_at(0, source.all(), in_time)).value() == 4096);
}

}  // namespace contract
