// Replacing files, names that last, and devices that go away.
#include "catch.hpp"
#include "places.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

using namespace first_day;
using qio::access;
using qio::creation;

namespace {

void put(const std::string& path, std::size_t bytes) {
  auto file = qio::cached_file::open(path, access::read_write, creation::if_needed).value();
  const auto memory = qio::aligned_buffer::allocate(bytes).value();
  REQUIRE(file.write_at(0, memory).value() == bytes);
}

bool is_replaced(const place& here) {
  return static_cast<bool>(qio::cached_file::open(here / "file", access::write, creation::always_new));
}

}  // namespace

TEST_CASE("always_new replaces files that are open, and leaves nothing behind") {
  for (const std::string& in : directories()) {
    const place here(in);
    CAPTURE(in);
    put(here / "file", 4096);
    CHECK(is_replaced(here));
    {
      auto open = qio::cached_file::open(here / "file", access::read_write, creation::open_existing).value();
      CHECK(is_replaced(here));
      CHECK(open.size());
    }
    CHECK(here.entries() == 1);
  }
}

TEST_CASE("always_new over a mapped file replaces it or changes nothing, and leaves nothing behind") {
  for (const std::string& in : directories()) {
    const place here(in);
    CAPTURE(in);
    put(here / "file", 4096);
    bool replaced = false;
    {
      auto mapped = qio::mapped_file::open(here / "file").value();
      REQUIRE(mapped.view(0, 4096));
      replaced = is_replaced(here);
    }
    std::printf("%s: a mapped file is %s\n", in.c_str(), replaced ? "replaced" : "not replaced");
    CHECK(here.entries() == 1);
    CHECK(std::filesystem::file_size(std::filesystem::path(here / "file")) == (replaced ? 0u : 4096u));
  }
}

TEST_CASE("always_new succeeds a thousand times while the virus scanner looks at each new file") {
  for (const std::string& in : directories()) {
    const place here(in);
    CAPTURE(in);
    unsigned failed = 0;
    for (int i = 0; i < 1000; ++i) {
      auto file = qio::cached_file::open(here / "file", access::write, creation::always_new);
      if (!file) {
        ++failed;
        std::printf("%s\n", file.error().message().c_str());
        continue;
      }
      // What a scanner looks at: the first bytes of a program.
      auto bytes = qio::aligned_buffer::allocate(4096).value();
      bytes.data()[0] = std::byte{'M'};
      bytes.data()[1] = std::byte{'Z'};
      CHECK(file.value().write_at(0, bytes));
    }
    CHECK(failed == 0);
    CHECK(here.entries() == 1);
  }
}

TEST_CASE("a user without administrator's rights can make names durable") {
  for (const std::string& in : directories()) {
    const place here(in);
    put(here / "file", 4096);
    const auto synced = qio::sync_directory((here / ".").c_str());
    std::printf("%s: syncing a directory: %s\n", in.c_str(), synced ? "succeeds" : synced.error().message().c_str());
    CHECK(synced);
  }
}

TEST_CASE("a storm of reads that are canceled at random leaves memory alone") {
  // The workflow runs this suite under Application Verifier, which finds what touches freed memory or closed handles.
  const place here(directories().front());
  put(here / "file", std::size_t{64} << 20);
  auto context = qio::context::create().value();
  auto file = qio::direct_file::open(context, here / "file", access::read, creation::open_existing,
                                     {.fallback = qio::if_unavailable::use_cache})
                  .value();
  std::mt19937 random(1);
  using operation = qio::operation<qio::context::engine_type, std::size_t>;
  for (int round = 0; round < 200; ++round) {
    std::vector<qio::aligned_buffer> memory;
    std::vector<qio::operation_slot<operation>> reads(64);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      memory.push_back(qio::aligned_buffer::allocate(65536, 4096).value());
      const std::uint64_t at = random() % 1024 * 65536;
      auto& each = reads[i].emplace([&] { return file.async_read_at(at, memory.back()); });
      each.start([](qio::result<std::size_t>&&) noexcept {});
      if (random() % 3 == 0) each.cancel();
    }
    if (random() % 2 == 0) context.run();
  }  // destroying an operation waits for the system
  CHECK(file.close());
}

TEST_CASE("a device that is pulled under a mapping is an error, not the end of the program") {
  // QIO_FIRST_DAY_PULL: a command that takes away the disk of QIO_FIRST_DAY_PULLED, such as Dismount-VHD.
  const std::string command = setting("QIO_FIRST_DAY_PULL"), on = setting("QIO_FIRST_DAY_PULLED");
  if (command.empty() || on.empty()) QIO_SKIP("QIO_FIRST_DAY_PULL and QIO_FIRST_DAY_PULLED name no disk");
  put(on + "/file", std::size_t{16} << 20);
  auto file = qio::mapped_file::open(on + "/file").value();
  auto memory = qio::aligned_buffer::allocate(1 << 20).value();
  REQUIRE(file.read_at(0, memory));
  REQUIRE(std::system(command.c_str()) == 0);
  const auto read = file.read_at(8 << 20, memory);
  std::printf("a read from a mapping whose disk is gone: %s\n",
              read ? "succeeds (from memory)" : read.error().message().c_str());
  CHECK((read || read.error() == std::errc::io_error || read.error() == std::errc::no_such_device ||
         read.error() == std::errc::invalid_argument || read.error() == std::errc::no_such_file_or_directory));
}
