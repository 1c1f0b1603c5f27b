// The states that crash_states allows are those that power cuts leave, and no others.
#include "crash_states.hpp"

#include "program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace simulation;
using qio::simulated_disk;
using qio::detail::crash_states;

// What a restarted disk has.
crash_states::files found_on(simulated_disk& disk) {
  crash_states::files found;
  for (const std::string& name : disk.names()) found.emplace(name, contents(disk, name.c_str()));
  return found;
}

// Two files, of which one is synced in part, and changes of names.
void change(simulated_disk& disk) {
  program one(disk);
  auto a = one.open("a").value();
  REQUIRE(a.write_at(0, filled(3000, 1)));
  REQUIRE(a.sync());
  REQUIRE(disk.sync_directory("."));
  REQUIRE(a.write_at(1000, filled(9000, 2)));
  REQUIRE(a.write_at(512, filled(1024, 3), {.durable = true}));
  REQUIRE(a.resize(5000));
  auto b = one.open("b").value();
  REQUIRE(b.write_at(100, filled(700, 4)));
  REQUIRE(disk.rename("b", "c"));
  REQUIRE(b.write_at(0, filled(512, 5)));
}

}  // namespace

TEST_CASE("each state that a power cut leaves is allowed, a changed one is not") {
  each_seed([](std::uint64_t seed) {
    simulated_disk disk({.seed = seed});
    change(disk);
    crash_states allowed(disk);
    disk.restart();
    crash_states::files found = found_on(disk);
    CHECK(allowed.difference(found) == "");

    std::vector<std::byte>& a = found.at("a");
    a[600] = std::byte{9};  // durable
    CHECK(allowed.difference(found).starts_with("a: sector 1, "));
    a[600] = std::byte{3};
    a.push_back(std::byte{});
    CHECK(allowed.difference(found).starts_with("a: a size of "));
    a.pop_back();
    found.emplace("d", filled(1, 1));
    CHECK(allowed.difference(found).starts_with("no such names: "));
    found.erase("d");
    found.emplace(".qio-1", filled(1, 1));  // a temporary name
    CHECK(allowed.difference(found) == "");
    found.erase("a");
    CHECK(allowed.difference(found) != "");
  });
}

TEST_CASE("the size that a write adds to a file may be kept up to each of its pages") {
  simulated_disk disk;
  program one(disk);
  auto file = one.open("a").value();
  REQUIRE(disk.sync_directory("."));
  REQUIRE(file.write_at(100, filled(9000, 1)));
  crash_states allowed(disk);
  for (const std::size_t size : {0u, 4096u, 8192u, 9100u}) CHECK(allowed.difference({{"a", bytes(size)}}) == "");
  for (const std::size_t size : {100u, 4095u, 4097u, 9099u}) CHECK(allowed.difference({{"a", bytes(size)}}) != "");
}

TEST_CASE("what a write has added to a file may survive although only a part of the file was made durable") {
  simulated_disk disk;
  program one(disk);
  auto file = one.open("a").value();
  REQUIRE(disk.sync_directory("."));
  REQUIRE(file.write_at(0, filled(12288, 1)));
  REQUIRE(file.write_at(12288, filled(4096, 1), {.durable = true}));
  crash_states allowed(disk);
  CHECK(allowed.difference({{"a", filled(16384, 1)}}) == "");
}

TEST_CASE("a file may keep its size although it was truncated, with zeros from the new end to the end of the page") {
  simulated_disk disk;
  make_durable(disk, 9000, 1);
  program one(disk);
  auto file = one.open("data").value();
  REQUIRE(file.resize(4500));
  crash_states allowed(disk);
  bytes left = filled(9000, 1);
  CHECK(allowed.difference({{"data", left}}) == "");
  CHECK(allowed.difference({{"data", filled(4500, 1)}}) == "");
  std::fill(left.begin() + 4500, left.begin() + 8192, std::byte{});
  CHECK(allowed.difference({{"data", left}}) == "");
  left[8192] = std::byte{};
  CHECK(allowed.difference({{"data", left}}) != "");
  left[8192] = std::byte{1};
  left[4499] = std::byte{};
  CHECK(allowed.difference({{"data", left}}) != "");
}

TEST_CASE("a durable write makes no size durable but the one that it needs") {
  simulated_disk disk;
  make_durable(disk, 1000, 1);
  program one(disk);
  auto file = one.open("data").value();
  REQUIRE(file.resize(3000));
  REQUIRE(file.resize(2000));
  REQUIRE(file.write_at(2000, filled(1000, 2)));
  REQUIRE(file.resize(7000));
  const auto sizes = [&](std::size_t smallest) {
    crash_states allowed(disk);
    for (const std::size_t size : {1000u, 2000u, 3000u, 7000u}) {
      const bool has_size = !allowed.difference({{"data", bytes(size)}}).starts_with("data: a size of ");
      CHECK(has_size == (size >= smallest));
    }
  };
  sizes(1000);
  REQUIRE(file.write_at(0, filled(512, 3), {.durable = true}));
  sizes(1000);
  REQUIRE(file.write_at(2048, filled(512, 3), {.durable = true}));
  sizes(3000);
}

TEST_CASE("a sync keeps what was written behind a cut, also after a durable write in front of it") {
  const bool untorn = GENERATE(false, true);
  simulated_disk disk({.largest_untorn = 8192});
  make_durable(disk, 16384, 1);
  program one(disk);
  auto file = one.open<qio::direct>("data").value();
  REQUIRE(file.resize(4800));
  REQUIRE(file.write_at(4608, filled(8192 - 4608, 2)));
  if (untorn) REQUIRE(file.write_at(4096, filled(4096, 2), {.untorn = true}));
  auto cached = one.open("data").value();
  REQUIRE(cached.write_at(4096, filled(600, 3), {.durable = true}));
  REQUIRE(cached.sync());
  const auto right = contents(disk, "data");
  disk.restart();
  CHECK(contents(disk, "data") == right);
}

TEST_CASE("a file that grows after a crash shows nothing that was written behind its end before") {
  each_seed([](std::uint64_t seed) {
    simulated_disk disk({.seed = seed});
    make_durable(disk, 100, 1);
    {
      program one(disk);
      auto file = one.open("data").value();
      REQUIRE(file.write_at(100, filled(50, 2)));
      REQUIRE(file.write_at(150, filled(300, 3)));
      REQUIRE(
          file.write_at(0, filled(120, 4), {.durable = true}));  // the rest of the sector is behind the size it needs
    }
    disk.restart();
    program one(disk);
    auto file = one.open("data").value();
    const std::uint64_t size = file.size().value();
    REQUIRE(size >= 120);
    REQUIRE(file.resize(5000));
    const auto found = contents(disk, "data");
    CHECK(std::all_of(found.begin() + static_cast<std::ptrdiff_t>(size), found.end(),
                      [](std::byte each) { return each == std::byte{}; }));
  });
}

TEST_CASE("the size that an untorn write adds to a file is kept whole or not at all") {
  simulated_disk disk({.largest_untorn = 8192});
  program one(disk);
  auto file = one.open<qio::direct>("a").value();
  REQUIRE(disk.sync_directory("."));
  const auto memory = qio::aligned_buffer::allocate(8192).value();
  REQUIRE(file.write_at(0, memory, {.untorn = true}));
  for (int crash = 0; crash != 100; ++crash) {
    disk.restart();
    program next(disk);
    const std::size_t size = contents(disk, "a").size();
    CHECK((size == 0 || size == 8192));
    if (size == 8192) break;
    auto again = next.open<qio::direct>("a").value();
    REQUIRE(again.write_at(0, memory, {.untorn = true}));
  }
}

TEST_CASE("names in any order differ from names in order") {
  simulated_disk disk;
  program one(disk);
  REQUIRE(one.open("a"));
  REQUIRE(one.open("b"));
  REQUIRE(disk.rename("b", "c"));
  crash_states allowed(disk);
  for (const char* name : {"b", "c"}) {  // the older file is lost
    CHECK(allowed.difference({{name, {}}}).starts_with("no such names: "));
    CHECK(allowed.allows_with_names_in_any_order({{name, {}}}));
  }
  CHECK_FALSE(allowed.allows_with_names_in_any_order({{"b", {}}, {"c", {}}}));  // both names of one file
  CHECK_FALSE(allowed.allows_with_names_in_any_order({{"a", filled(1, 1)}}));
}
