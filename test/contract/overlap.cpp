// Transfers of a mapped file from and to views of the same file.
#include "world.hpp"

namespace contract {

PROMISE(overlapping, mapped_only, "a write from an overlapping view of the file, and a read into one, move the bytes") {
  for (const bool growing : {false, true}) {
    CAPTURE(growing);
    auto file = w.open("data", access::read_write, creation::always_new, {.reservation = 4096}).value();
    auto source = memory::with_pattern(0, 64 * 1024);
    REQUIRE(file.write_at(0, source.all()));
    const auto old_view = file.writable_view(0, 64 * 1024).value();
    // The view then belongs to another mapping than the one that transfers use.
    if (growing) {
      REQUIRE(file.resize(std::uint64_t(3) << 30));
      REQUIRE(file.view(0, 1).value().data() != old_view.data());
    }
    constexpr std::size_t bytes = 40000;
    for (const std::size_t distance : {std::size_t(1), std::size_t(7), std::size_t(4096), std::size_t(20000)}) {
      CAPTURE(distance);
      REQUIRE(file.write_at(0, source.all()));
      CHECK(file.write_at(distance, old_view.subspan(0, bytes)).value() == bytes);
      CHECK(holds_pattern(old_view.subspan(distance, bytes), 0));

      REQUIRE(file.write_at(0, source.all()));
      CHECK(file.write_at(0, old_view.subspan(distance, bytes)).value() == bytes);
      CHECK(holds_pattern(old_view.subspan(0, bytes), distance));

      REQUIRE(file.write_at(0, source.all()));
      CHECK(file.read_at(0, old_view.subspan(distance, bytes)).value() == bytes);
      CHECK(holds_pattern(old_view.subspan(distance, bytes), 0));
    }
  }
}

}  // namespace contract
