// Files whose mode is chosen at run time.
#include "reader.hpp"
#include <qio/any_file.hpp>

#include <array>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

namespace contract {

namespace {

template <class World>
using any_of = qio::any_file<typename World::engine>;

template <class Mode>
constexpr qio::any_mode as_value() {
  for (const auto each : {qio::any_mode::cached, qio::any_mode::uncached, qio::any_mode::direct, qio::any_mode::mapped})
    if (qio::name_of(each) == Mode::name) return each;
  throw std::invalid_argument("a mode without a value");
}

/// Opens "data" in the mode of this world, as a value.
template <class World>
any_of<World> open_any(World& w) {
  constexpr qio::any_mode mode = as_value<typename World::mode>();
  const std::string path = w.where / "data";
  if constexpr (World::is_async)
    return any_of<World>::open(*w.context, mode, path, access::read_write).value();
  else
    return any_of<World>::open(mode, path, access::read_write).value();
}

}  // namespace

PROMISE(any_opens, everywhere, "an any_file opens in the mode that is given at run time, and blocks like that file") {
  REQUIRE(w.with(8192).close());
  auto file = open_any(w);
  CHECK(file.mode() == as_value<typename Where::mode>());
  CHECK(file.explain().find("mode")->value == Where::mode::name);
  CHECK(file.is_direct() == Where::mode::is_direct);
  CHECK(file.is_uncached() == Where::mode::is_uncached);
  CHECK(file.size().value() == 8192);

  memory block(8192);
  CHECK(file.read_at(0, block.all()).value() == 8192);
  CHECK(holds_pattern(block.all(), 0));
  const std::array parts{qio::mutable_buffer(block.part(4096, 4096)), qio::mutable_buffer(block.part(0, 4096))};
  CHECK(file.read_at(0, parts).value() == 8192);
  CHECK(holds_pattern(block.part(4096, 4096), 0));
  CHECK(file.write_at(8192, memory::with_pattern(8192, 4096).all()).value() == 4096);
  CHECK(file.sync());
  CHECK(file.resize(4096));
  CHECK(file.size().value() == 4096);
  CHECK(file.visit([](auto& each) { return each.size(); }).value() == 4096);

  auto other = std::move(file);
  CHECK(!file.is_open());  // NOLINT(bugprone-use-after-move): what it is then is what is tested
  CHECK(file.read_at(0, block.all()).error() == std::errc::bad_file_descriptor);
  CHECK(other.close());
  CHECK(!other.is_open());
}

PROMISE(any_of_its_own, everywhere, "a file of a constant mode becomes an any_file") {
  any_of<world<Where>> file = w.with(4096);
  CHECK(file.mode() == as_value<typename Where::mode>());
  memory block(4096);
  CHECK(file.read_at(0, block.all()).value() == 4096);
}

PROMISE(any_constant, everywhere, "an any_file accepts buffers of any constant size, which a direct transfer refuses") {
  REQUIRE(w.with(4096).close());
  auto file = open_any(w);
  std::array<std::byte, 100> odd{};
  const auto answer = file.read_at(0, odd);
  if (file.alignment().read == 1)
    CHECK(answer.value() == 100);
  else
    CHECK(answer.error() == errc::misaligned_length);
}

PROMISE(any_async, asynchronous, "an any_file carries out the asynchronous operations of its mode") {
  REQUIRE(w.with(8192).close());
  auto file = open_any(w);
  memory block(4096);
  CHECK(w.context->run(file.async_read_at(4096, block.all())).value() == 4096);
  CHECK(holds_pattern(block.all(), 4096));
  const qio::operation_options in_time{.deadline = std::chrono::hours(1)};
  CHECK(w.context->run(file.async_read_at(0, block.all(), in_time)).value() == 4096);
  CHECK(holds_pattern(block.all(), 0));
  auto source = memory::with_pattern(8192, 4096);
  CHECK(w.context->run(file.async_write_at(8192, source.all())).value() == 4096);
  CHECK(w.context->run(file.async_write_at(8192, source.all(), in_time)).value() == 4096);
  CHECK(w.context->run(file.async_sync()));
  CHECK(w.context->run(file.async_sync(qio::sync_kind::data, in_time)));
  CHECK(file.statistics().served_inline + file.statistics().served_by_ring + file.statistics().served_by_worker >= 4);
  CHECK(w.context->run(file.async_close()));
  CHECK(!file.is_open());

  constexpr qio::any_mode mode = as_value<typename Where::mode>();
  auto opened = w.context->run(any_of<world<Where>>::async_open(*w.context, mode, w.where / "data"));
  CHECK(opened.value().mode() == mode);
  CHECK(opened.value().size().value() == 12288);
}

PROMISE(any_vocabulary, everywhere,
        "an any_file has the locks, the space, the attributes and the page cache of its mode") {
  auto own = w.with(16384);
  any_of<world<Where>> file = std::move(own);
  const auto status = file.status().value();
  CHECK(status.bytes == 16384);
  CHECK(file.try_lock(qio::lock_kind::shared, {0, 10}).value());
  CHECK(file.unlock({0, 10}));
  if (const auto locked = file.is_locked(qio::lock_kind::exclusive); locked)
    CHECK_FALSE(locked.value());
  else
    CHECK(locked.error() == errc::lock_query_not_supported);
  if (const auto done = file.discard(4096, 4096); done) {
    memory block(4096);
    CHECK(file.read_at(4096, block.all()).value() == 4096);
    CHECK(holds_only(block.all(), std::byte{0}));
    CHECK(file.next_data(0).value()->offset == 0);
  } else {
    CHECK(done.error() == std::errc::operation_not_supported);
  }
  CHECK(file.copy_from(file, {0, 4096}, 8192).value() == 4096);
  if (const auto advised = file.advise(qio::access_pattern::random); !advised)
    CHECK(advised.error() == errc::advice_not_supported);
  if (const auto dropped = file.forget(); !dropped) CHECK(dropped.error() == errc::forget_not_supported);
  if constexpr (Where::is_async) {
    CHECK(w.context->run(file.async_lock(qio::lock_kind::exclusive)));
    CHECK(file.unlock());
    // The token is named in a function that has returned when the task begins.
    auto holder = open_any(w);
    REQUIRE(holder.try_lock(qio::lock_kind::exclusive).value());
    std::stop_source source;
    const auto lock = [&] {
      const std::stop_token stop = source.get_token();
      return file.async_lock(qio::lock_kind::exclusive, {}, {.stop = stop});
    };
    auto waiting = lock();
    source.request_stop();
    CHECK(w.context->run(std::move(waiting)).error() == std::errc::operation_canceled);
    REQUIRE(holder.unlock());
    const auto reserved = w.context->run(file.async_allocate(16384, 4096));
    if (Where::mode::is_mapped)
      CHECK(reserved.error() == std::errc::operation_not_supported);
    else if (reserved)
      CHECK(file.size().value() == 20480);
    else
      CHECK(file.allocate(16384, 4096).error() == reserved.error());
    const auto zeroed = w.context->run(file.async_zero(0, 4096));
    CHECK((zeroed || zeroed.error() == std::errc::operation_not_supported));
  }
  memory copied(4096);
  CHECK(file.read_at(8192, copied.all()).value() == 4096);
  CHECK(holds_pattern(copied.all(), 0));
}

PROMISE(any_refused, everywhere, "an any_file that cannot be opened says why, and a simulated one cannot be mapped") {
  const std::string missing = w.where / "missing";
  if constexpr (Where::is_async) {
    const auto open = [&](qio::any_mode mode, const std::string& path) {
      return any_of<world<Where>>::open(*w.context, mode, path);
    };
    CHECK(open(as_value<typename Where::mode>(), missing).error() == std::errc::no_such_file_or_directory);
    if (std::is_same_v<typename Where::engine, qio::simulated>) {
      REQUIRE(w.with(4096).close());
      const std::string path = w.where / "data";
      CHECK(open(qio::any_mode::mapped, path).error() == std::errc::operation_not_supported);
      CHECK(w.context->run(any_of<world<Where>>::async_open(*w.context, qio::any_mode::mapped, path)).error() ==
            std::errc::operation_not_supported);
    }
  } else {
    const auto refused = any_of<world<Where>>::open(as_value<typename Where::mode>(), missing);
    CHECK(refused.error() == std::errc::no_such_file_or_directory);
    CHECK(refused.error().message().find("missing") != std::string::npos);
  }
}

}  // namespace contract
