// Views of mapped files, and mapped files whose end moves.
#include "world.hpp"

#include <thread>

namespace contract {

PROMISE(view_shows, mapped_only, "a view shows the file, and what is stored in it is in the file") {
  auto file = w.with(8192);
  CHECK(holds_pattern(file.view(100, 5000).value(), 100));
  file.writable_view(4096, 1).value()[0] = std::byte{42};
  std::array<std::byte, 1> one;
  CHECK(qio::cached_file::open(w.where / "data").value().read_at(4096, one).value() == 1);
  CHECK(one[0] == std::byte{42});
  CHECK(file.sync());
}

PROMISE(view_beyond, mapped_only, "a view past the end is refused with the numbers") {
  auto file = w.with(1000);
  CHECK(file.view(0, 1000).value().size() == 1000);
  CHECK(file.view(1000, 0).value().empty());
  const auto refused = file.view(900, 200);
  REQUIRE(!refused);
  CHECK(refused.error() == errc::beyond_end);
  CHECK(refused.error() == std::errc::invalid_argument);
  CHECK(refused.error().given() == 1100);
  CHECK(refused.error().needed() == 1000);
  CHECK(refused.error().message() == "the range ends at 1100, but the file ends at 1000");
  CHECK(file.view(1001, 0).error() == errc::beyond_end);
  CHECK(file.view(~std::uint64_t(0), 1).error() == errc::beyond_end);
  CHECK(file.view(1, ~std::size_t(0)).error() == errc::beyond_end);
  CHECK(file.writable_view(0, 1001).error() == errc::beyond_end);
}

PROMISE(view_of_empty, mapped_only, "an empty file has an empty view, and can grow") {
  auto file = w.with(0);
  CHECK(file.view(0, 0).value().empty());
  CHECK(file.view(0, 1).error().needed() == 0);
  auto source = memory::with_pattern(0, 5000);
  CHECK(file.write_at(0, source.all()).value() == 5000);
  CHECK(holds_pattern(file.view(0, 5000).value(), 0));
}

PROMISE(view_read_only, mapped_only, "a file that was opened for reading has no writable view") {
  { auto file = w.with(4096); }
  auto file = w.open("data", access::read, creation::open_existing).value();
  CHECK(file.writable_view(0, 1).error() == errc::access_not_granted);
  memory buffer(1);
  CHECK(file.write_at(0, buffer.all()).error() == errc::access_not_granted);
  CHECK(holds_pattern(file.view(0, 4096).value(), 0));
}

PROMISE(view_stays, mapped_only, "views stay valid and coherent when the file grows beyond its reservation") {
  auto file = w.open("data", access::read_write, creation::always_new, {.reservation = 4096}).value();
  auto source = memory::with_pattern(0, 4096);
  REQUIRE(file.write_at(0, source.all()).value() == 4096);
  const auto first = file.writable_view(0, 4096).value();
  std::vector<std::span<std::byte>> views{first};
  constexpr std::uint64_t gigabyte = std::uint64_t(1) << 30;
  for (const std::uint64_t end : {gigabyte, 2 * gigabyte + 5, 9 * gigabyte}) {
    REQUIRE(file.resize(end));
    views.push_back(file.writable_view(0, 4096).value());
    CHECK(file.view(end - 1, 1).value()[0] == std::byte{0});
  }
  CHECK(views.back().data() != first.data());  // mapped again: the case to test
  first[7] = std::byte{99};
  for (const auto& view : views) CHECK(view[7] == std::byte{99});
  views.back()[8] = std::byte{98};
  CHECK(first[8] == std::byte{98});
}

PROMISE(growing_elsewhere, mapped_only, "data that another handle appends can be viewed and read") {
  auto file = w.with(4096);
  auto other = qio::cached_file::open(w.where / "data", access::write).value();
  auto source = memory::with_pattern(4096, 10000);
  REQUIRE(other.write_at(4096, source.all()).value() == 10000);
  CHECK(holds_pattern(file.view(0, 14096).value(), 0));
  memory buffer(20000);
  CHECK(file.read_at(0, buffer.all()).value() == 14096);
}

PROMISE(shrunk_here, mapped_only, "reads and views respect the end of a file that was resized") {
  auto file = w.with(3 * 4096);
  REQUIRE(file.resize(100));
  CHECK(file.view(0, 101).error().needed() == 100);
  memory buffer(200);
  CHECK(file.read_at(0, buffer.all()).value() == 100);
  REQUIRE(file.resize(4096));
  CHECK(file.read_at(50, buffer.all()).value() == 200);
  CHECK(holds_only(buffer.part(50, 150), std::byte{0}));
}

PROMISE(threads_grow, mapped_only, "several threads may read, write and view while the file grows") {
  auto file = w.with(0);
  constexpr std::size_t block = 1000, blocks = 200;
  std::vector<std::thread> threads;
  std::array<bool, 4> right{};
  for (std::size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t] {
      bool all = true;
      for (std::size_t i = t; i < blocks; i += right.size()) {
        auto source = memory::with_pattern(i * block, block);
        memory target(block);
        all = all && file.write_at(i * block, source.all()).value() == block;
        all = all && file.read_at(i * block, target.all()).value() == block && holds_pattern(target.all(), i * block);
        all = all && file.view(i * block, block).has_value();
      }
      right[t] = all;
    });
  for (auto& each : threads) each.join();
  CHECK(right == std::array<bool, 4>{true, true, true, true});
  CHECK(holds_pattern(file.view(0, block * blocks).value(), 0));
}

}  // namespace contract
