// Views of mapped files, and mapped files whose end moves.
#include "world.hpp"

#include <thread>

namespace contract {

namespace {

using mapped_and_async = std::tuple<under<qio::no_engine, qio::mapped>, under<qio::default_engine, qio::mapped>>;

}  // namespace

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

PROMISE(view_as_far, mapped_only, "view_up_to() shows as much as the file has, also of what others append") {
  auto file = w.with(10000);
  CHECK(file.view_up_to(100, 5000).value().data() == file.view(100, 5000).value().data());
  CHECK(file.view_up_to(100, 5000).value().size() == 5000);
  CHECK(file.view_up_to(0, 10000).value().size() == 10000);
  const auto rest = file.view_up_to(9000, 4096).value();
  CHECK(rest.size() == 1000);
  CHECK(holds_pattern(rest, 9000));
  CHECK(file.view_up_to(9000, ~std::size_t(0)).value().size() == 1000);
  CHECK(file.view_up_to(10000, 1).value().empty());
  CHECK(file.view_up_to(~std::uint64_t(0), 1).value().empty());
  CHECK(file.view_up_to(0, 0).value().empty());
  auto other = qio::cached_file::open(w.where / "data", access::write).value();
  auto source = memory::with_pattern(10000, 5000);
  REQUIRE(other.write_at(10000, source.all()).value() == 5000);
  CHECK(file.view_up_to(9000, 4096).value().size() == 4096);
  CHECK(holds_pattern(file.view_up_to(0, ~std::size_t(0)).value(), 0));
  CHECK(file.view_up_to(0, ~std::size_t(0)).value().size() == 15000);
  static_cast<void>(file.close());
  CHECK(file.view_up_to(0, 1).error() == std::errc::bad_file_descriptor);
}

PROMISE(view_of_own, mapped_only, "what is stored in a private view never reaches the file") {
  constexpr std::size_t size = 200000;
  { auto made = w.with(size); }
  auto file = w.open("data", access::read, creation::open_existing).value();
  for (const std::uint64_t offset : {std::uint64_t(0), std::uint64_t(70001)}) {
    auto own = file.private_view(offset, 100000).value();
    const std::span<std::byte> bytes = own.bytes();
    REQUIRE(bytes.size() == 100000);
    CHECK(holds_pattern(bytes, offset));
    std::ranges::fill(bytes, std::byte{0});
    CHECK(holds_pattern(file.view(0, size).value(), 0));
    auto second = file.private_view(offset, 100000).value();
    CHECK(holds_pattern(second.bytes(), offset));
    second = std::move(own);
    CHECK(own.bytes().empty());  // NOLINT(bugprone-use-after-move)
    CHECK(second.bytes().data() == bytes.data());
    CHECK(holds_only(second.bytes(), std::byte{0}));
  }
  CHECK(file.private_view(100, 0).value().bytes().empty());
  CHECK(file.private_view(100000, 100001).error() == errc::beyond_end);
  CHECK(file.private_view(~std::uint64_t(0), 1).error() == errc::offset_too_large);
  auto kept = file.private_view(5000, 5000).value();
  kept.bytes()[0] = std::byte{0};
  static_cast<void>(file.close());
  CHECK(kept.bytes()[0] == std::byte{0});
  CHECK(holds_pattern(kept.bytes().subspan(1), 5001));
  CHECK(file.private_view(0, 1).error() == std::errc::bad_file_descriptor);
  kept = qio::private_view();
  const std::string found = contents(w.where / "data");
  CHECK(holds_pattern(std::as_bytes(std::span(found)), 0));
}

PROMISE(range_synced, mapped_and_async, "sync_range() writes back what was stored in a range, and leaves the rest") {
  constexpr std::size_t size = 1 << 20;
  auto file = w.with(size);
  const auto sync_range = [&](const qio::extent& range) {
    if constexpr (Where::is_async)
      return w.template run<void>([&] { return file.async_sync_range(range); });
    else
      return file.sync_range(range);
  };
  std::ranges::fill(file.writable_view(0, size).value(), std::byte{42});
  const qio::extent range{65536 - 100, 65536};
  CHECK(sync_range(range));
  if (const auto found = file.resident(range)) {
    CHECK(found.value().dirty.value_or(0) == 0);
    CHECK(found.value().writeback.value_or(0) == 0);
  }
  CHECK(holds_only(file.view(0, size).value(), std::byte{42}));
  CHECK(sync_range({size - 100, size}));
  CHECK(sync_range({2 * size, size}));
  CHECK(sync_range({0, 0}));
  CHECK(sync_range(qio::whole_file));
  CHECK(sync_range({1, ~std::uint64_t(0) - 5}).error() == errc::offset_too_large);
  // What another handle has appended is part of it.
  auto other = qio::cached_file::open(w.where / "data", access::write).value();
  auto source = memory::with_pattern(size, 65536);
  REQUIRE(other.write_at(size, source.all()).value() == 65536);
  CHECK(sync_range({size, 65536}));
  if (const auto found = file.resident({size, 65536})) CHECK(found.value().dirty.value_or(0) == 0);
  static_cast<void>(file.close());
  CHECK(sync_range(range).error() == std::errc::bad_file_descriptor);
}

PROMISE(range_synced_for_reading, mapped_only, "sync_range() of a file that was opened for reading syncs all of it") {
  { auto made = w.with(65536); }
  auto other = qio::cached_file::open(w.where / "data", access::write).value();
  auto source = memory::with_pattern(0, 65536);
  REQUIRE(other.write_at(0, source.all()).value() == 65536);
  auto file = w.open("data", access::read, creation::open_existing).value();
  if (const auto synced = file.sync_range({0, 4096}); !synced) {
    CHECK(synced.error() == file.sync().error());
    QIO_SKIP("a file that was opened for reading cannot be synced here: " + synced.error().message());
  }
  if (const auto found = file.resident()) CHECK(found.value().dirty.value_or(0) == 0);
}

PROMISE(view_faulted, mapped_and_async, "prefault() makes pages present, and refuses what the file does not have") {
  constexpr std::size_t size = 1 << 20;
  auto file = w.with(size);
  const auto prefault = [&](const qio::extent& range, access wanted) {
    if constexpr (Where::is_async)
      return w.template run<void>([&] { return file.async_prefault(range, wanted); });
    else
      return file.prefault(range, wanted);
  };
  CHECK(prefault({1, size - 2}, access::read));
  CHECK(prefault({0, 0}, access::read));
  for (const access wanted : {access::write, access::read_write})
    if (const auto made = prefault({5000, 65536}, wanted); !made) CHECK(made.error() == errc::prefault_not_supported);
  CHECK(holds_pattern(file.view(0, size).value(), 0));
  const auto refused = prefault({size - 10, 11}, access::read);
  REQUIRE(!refused);
  CHECK(refused.error() == errc::beyond_end);
  CHECK(refused.error().needed() == size);
  CHECK(prefault({1, ~std::uint64_t(0) - 5}, access::read).error() == errc::offset_too_large);
  file = w.open("data", access::read, creation::open_existing).value();
  CHECK(prefault({0, size}, access::read));
  CHECK(prefault({0, size}, access::write).error() == errc::access_not_granted);
  static_cast<void>(file.close());
  CHECK(prefault({0, 1}, access::read).error() == std::errc::bad_file_descriptor);
}

PROMISE(view_of_huge_pages, mapped_only, "huge pages are asked for, or refused by name, and change nothing") {
  constexpr std::size_t size = 4 << 20;
  auto file = w.with(size);
  if (const auto asked = file.use_huge_pages({100, size - 100}); !asked) {
    CHECK(asked.error() == errc::huge_pages_not_supported);
    CHECK(asked.error() == std::errc::operation_not_supported);
  }
  CHECK(file.use_huge_pages({0, 0}));
  CHECK(file.use_huge_pages({size, 1}).error() == errc::beyond_end);
  CHECK(holds_pattern(file.view(0, size).value(), 0));
  static_cast<void>(file.close());
  CHECK(file.use_huge_pages({0, 1}).error() == std::errc::bad_file_descriptor);
}

}  // namespace contract
