// Untorn writes: which are accepted, and how others are refused. That a crash does not tear them is tested on simulated
// disks, and is the kernel's promise otherwise.
#include "world.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace contract {

namespace {

template <class World, class Buffer>
qio::result<std::size_t> write_untorn(World& w, typename World::file& file, std::uint64_t offset, Buffer&& buffer,
                                      bool durable = false) {
  if constexpr (World::is_async)
    return w.template run<std::size_t>(
        [&] { return file.async_write_at(offset, buffer, {.durable = durable, .untorn = true}); });
  else
    return file.write_at(offset, buffer, {.durable = durable, .untorn = true});
}

}  // namespace

PROMISE(untorn_limits, everywhere,
        "the limits of untorn writes are powers of two, or 0 where there are no such writes") {
  auto file = w.with(4096);
  const qio::atomic_write_limits limits = file.atomic_write_limits();
  if (!file.is_direct() || limits.largest == 0) {
    CHECK(limits == qio::atomic_write_limits());
    return;
  }
  for (const std::uint32_t each : {limits.smallest, limits.largest, limits.optimal}) CHECK(std::has_single_bit(each));
  CHECK(limits.smallest <= limits.largest);
  CHECK(limits.optimal <= limits.largest);
}

PROMISE(untorn_writes, everywhere,
        "an untorn write within the limits writes its bytes, and the others change nothing") {
  auto file = w.with(4096);
  const auto limits = file.atomic_write_limits();
  if (limits.largest == 0) {
    memory zeros(4096);
    CHECK(write_untorn(w, file, 0, zeros.all()).error() == errc::untorn_not_supported);
    CHECK(write_untorn(w, file, 0, zeros.all(), true).error() == std::errc::operation_not_supported);
    CHECK(file.write_at(0, zeros.all(), {.untorn = true}).error() == errc::untorn_not_supported);
  } else {
    auto source = memory::with_pattern(0, 2 * limits.largest);
    for (std::size_t bytes = limits.smallest; bytes <= limits.largest; bytes *= 2)
      for (const std::size_t offset : {std::size_t(0), bytes})
        for (const bool durable : {false, true}) {
          INFO(bytes << " bytes at " << offset);
          CHECK(write_untorn(w, file, offset, source.part(offset, bytes), durable).value() == bytes);
        }
    CHECK(file.write_at(0, source.part(0, limits.largest), {.untorn = true}).value() == limits.largest);  // blocking
  }
  memory target(static_cast<std::size_t>(file.size().value()));
  CHECK(w.read(file, 0, target.all()).value() == target.all().size());
  CHECK(holds_pattern(target.all(), 0));
  CHECK(w.sync(file, qio::sync_kind::data));  // what was refused is no failed sync
}

PROMISE(untorn_misfits, everywhere, "an untorn write that does not fit is refused with the numbers, in a batch, too") {
  auto file = w.with(4096);
  const auto limits = file.atomic_write_limits();
  if (limits.largest == 0) return;
  const std::size_t smallest = limits.smallest, largest = limits.largest;
  memory zeros(2 * largest);
  const auto refused = [&](std::uint64_t offset, std::size_t bytes, errc with, std::uint64_t needed) {
    INFO(bytes << " bytes at " << offset);
    const auto error = write_untorn(w, file, offset, zeros.part(0, bytes)).error();
    CHECK(error == with);
    CHECK(error == std::errc::invalid_argument);
    CHECK(error.needed() == needed);
    CHECK(file.write_at(offset, zeros.part(0, bytes), {.untorn = true}).error() == with);
    qio::write_request one[] = {{.offset = offset, .buffer = zeros.part(0, bytes)}};
    CHECK(file.write_many(one, {.untorn = true}).value() == 1);
    CHECK(one[0].answer.error() == with);
  };
  refused(0, 0, errc::untorn_length, smallest);
  refused(0, 2 * largest, errc::untorn_length, largest);
  if (largest >= 4 * smallest) refused(0, 3 * smallest, errc::untorn_length, 2 * smallest);
  if (largest >= 2 * smallest) refused(smallest, 2 * smallest, errc::untorn_offset, 2 * smallest);
  const std::array<qio::const_buffer, 2> two{qio::const_buffer(zeros.part(0, smallest)),
                                             qio::const_buffer(zeros.part(0, smallest))};
  CHECK(write_untorn(w, file, 0, two).error() == errc::untorn_buffers);

  memory target(4096);
  CHECK(w.read(file, 0, target.all()).value() == 4096);
  CHECK(holds_pattern(target.all(), 0));
}

}  // namespace contract
