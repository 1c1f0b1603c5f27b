// Valid data, and which transfers Windows completes when.
#include "catch.hpp"
#include "places.hpp"

#include <chrono>
#include <cstdio>
#include <string>

using namespace first_day;
using qio::access;
using qio::creation;

namespace {

constexpr DWORD set_sparse = 0x900c4;       // FSCTL_SET_SPARSE
constexpr DWORD set_compression = 0x9c040;  // FSCTL_SET_COMPRESSION
constexpr std::size_t block = 64 * 1024;

using buffer = qio::aligned_buffer;
buffer some_bytes(std::size_t bytes) {
  auto made = buffer::allocate(bytes, 4096).value();
  for (std::size_t i = 0; i < bytes; ++i) made.data()[i] = std::byte(i * 31 + 7);
  return made;
}

}  // namespace

TEST_CASE("the file system reports how far the valid data of a file reaches") {
  for (const std::string& in : directories()) {
    const place here(in);
    auto file = qio::cached_file::open(here / "file", access::read_write, creation::only_if_missing).value();
    const std::string system = file_system(file.native_handle());
    CAPTURE(in, system);
    REQUIRE(file.resize(256 * block));
    const auto empty = qio::platform::valid_data_length(file.native_handle());
    std::printf("%s (%s): valid data of a file that was only made longer: %s\n", in.c_str(), system.c_str(),
                empty ? std::to_string(*empty).c_str() : "not reported");
    if (system == "NTFS") REQUIRE(empty);
    if (!empty) continue;
    CHECK(*empty == 0);
    const auto bytes = some_bytes(block);
    REQUIRE(file.write_at(7 * block, bytes));
    CHECK(qio::platform::valid_data_length(file.native_handle()) == 8 * block);
    REQUIRE(file.write_at(0, bytes));
    CHECK(qio::platform::valid_data_length(file.native_handle()) == 8 * block);
  }
}

TEST_CASE("a write near the end of a file that was made longer does not hold up the loop") {
  const std::string gigabytes = setting("QIO_FIRST_DAY_GIGABYTES");
  const std::uint64_t size = (gigabytes.empty() ? 8 : std::stoull(gigabytes)) << 30;
  for (const std::string& in : directories())
    for (const bool sparse : {false, true}) {
      const place here(in);
      auto context = qio::context::create().value();
      auto file = qio::cached_file::open(context, here / "file", access::read_write, creation::only_if_missing).value();
      CAPTURE(in, sparse);
      if (sparse && !change(file.native_handle(), set_sparse)) continue;
      if (!file.resize(size)) continue;  // a file system, or a disk, that is too small
      const auto bytes = some_bytes(block);
      bool written = false;
      std::uint64_t turns = 0;
      std::chrono::steady_clock::duration longest{};
      const auto write = [&]() -> qio::task<> {
        CHECK((co_await file.async_write_at(size - block, bytes)).has_value());
        written = true;
      };
      const auto watch = [&]() -> qio::task<> {
        auto before = std::chrono::steady_clock::now();
        while (!written) {
          co_await context.schedule();
          const auto now = std::chrono::steady_clock::now();
          if (now - before > longest) longest = now - before;
          before = now;
          ++turns;
        }
      };
      context.run(qio::when_all(write(), watch()));
      const auto milliseconds = std::chrono::duration<double, std::milli>(longest).count();
      std::printf("%s, %s: %llu turns during the write, the longest took %.1f ms\n", in.c_str(),
                  sparse ? "sparse" : "not sparse", static_cast<unsigned long long>(turns), milliseconds);
      CHECK(file.statistics().served_by_worker == 1);
      CHECK(milliseconds < 100);
    }
}

TEST_CASE("how many transfers are pending, by kind of file") {
  struct kind {
    const char* name;
    DWORD code;
    bool encrypted, goes_to_workers;
  };
  for (const std::string& in : directories())
    for (const kind& each : {kind{"plain", 0, false, false}, kind{"sparse", set_sparse, false, false},
                             kind{"compressed", set_compression, false, true}, kind{"encrypted", 0, true, true}}) {
      const place here(in);
      const std::string path = here / "file";
      {
        auto made = qio::cached_file::open(path, access::read_write, creation::only_if_missing).value();
        USHORT format = 1;  // COMPRESSION_FORMAT_DEFAULT
        if (each.code != 0 && !change(made.native_handle(), each.code, &format, each.code == set_sparse ? 0 : 2))
          continue;
      }
      if (each.encrypted && ::EncryptFileW(std::filesystem::path(path).c_str()) == 0) continue;
      auto context = qio::context::create().value();
      auto file = qio::cached_file::open(context, path, access::read_write, creation::open_existing).value();
      if (each.goes_to_workers && !qio::platform::is_transformed(file.native_handle())) continue;  // as under Wine
      auto bytes = some_bytes(block);
      const auto work = [&]() -> qio::task<> {
        for (std::uint64_t i = 0; i < 64; ++i) CHECK(co_await file.async_write_at(i * block, bytes));
        for (std::uint64_t i = 0; i < 64; ++i) CHECK(co_await file.async_write_at(i * block, bytes));
        for (std::uint64_t i = 0; i < 64; ++i) CHECK(co_await file.async_read_at(i * block, bytes));
      };
      context.run(work());
      const auto found = file.statistics();
      std::printf("%s, %s: at once %llu, pending %llu, by workers %llu\n", in.c_str(), each.name,
                  static_cast<unsigned long long>(found.served_inline),
                  static_cast<unsigned long long>(found.served_by_ring),
                  static_cast<unsigned long long>(found.served_by_worker));
      CAPTURE(in, each.name);
      CHECK(found.served_by_worker == (each.goes_to_workers ? 192u : 64u));
    }
}

TEST_CASE("the end of a file is read exactly, whatever its length and the sectors of the device") {
  for (const std::string& in : directories())
    for (const std::uint64_t length : {1u, 511u, 512u, 513u, 1000u, 4095u, 4096u, 4097u, 10'000u}) {
      const place here(in);
      const auto bytes = some_bytes(16384);
      {
        auto made = qio::cached_file::open(here / "file", access::read_write, creation::only_if_missing).value();
        REQUIRE(made.write_at(0, std::span(bytes.data(), static_cast<std::size_t>(length))));
      }
      auto context = qio::context::create().value();
      auto file = qio::direct_file::open(context, here / "file", access::read, creation::open_existing,
                                         {.fallback = qio::if_unavailable::use_cache})
                      .value();
      auto memory = buffer::allocate(16384, 4096).value();
      CAPTURE(in, length, file.is_direct(), file.alignment().read);
      CHECK(file.read_at(0, memory).value() == length);
      CHECK(context.run(file.async_read_at(0, memory)).value() == length);
      const std::uint64_t sector = file.alignment().read;
      for (std::uint64_t at = 0; at <= length + 2 * sector; at += sector) {
        const std::uint64_t left = at < length ? length - at : 0;
        CHECK(file.read_at(at, memory).value() == left);
        CHECK(context.run(file.async_read_at(at, memory)).value() == left);
      }
    }
}

TEST_CASE("a flush of only the data works on NTFS, and elsewhere everything is flushed") {
  for (const std::string& in : directories()) {
    const place here(in);
    auto file = qio::cached_file::open(here / "file", access::read_write, creation::only_if_missing).value();
    REQUIRE(file.write_at(0, some_bytes(block)));
    const std::string system = file_system(file.native_handle());
    const LONG status = qio::platform::calls::flush_data(file.native_handle());
    std::printf("%s (%s): NtFlushBuffersFileEx returns 0x%08lx\n", in.c_str(), system.c_str(),
                static_cast<unsigned long>(status));
    CAPTURE(in, system);
    if (system == "NTFS") CHECK(status >= 0);
    if (status < 0) CHECK(qio::platform::is_unsupported(status));
    for (const auto kind : {qio::sync_kind::data, qio::sync_kind::data_and_size, qio::sync_kind::everything})
      CHECK(file.sync(kind));
  }
}

// Copies into a mapping rely on it: they do not look afterwards whether the file still reaches as far.
TEST_CASE("a mapped file is not truncated, not even within its last page") {
  for (const std::string& in : directories()) {
    const place here(in);
    auto file = qio::mapped_file::open(here / "file", access::read_write, creation::only_if_missing).value();
    const std::string system = file_system(file.native_handle());
    CAPTURE(in, system);
    REQUIRE(file.resize(10000));
    REQUIRE(file.view(0, 10000));
    auto other = qio::cached_file::open(here / "file", access::read_write).value();
    const auto answer = other.resize(9999);
    std::printf("%s (%s): cutting a byte off a mapped file: %s\n", in.c_str(), system.c_str(),
                answer ? "done" : answer.error().message().c_str());
    if (qio::platform::mapping::keeps_size(file.native_handle())) CHECK_FALSE(answer);
  }
}

// Neither whether a placeholder can be replaced by a view of a file that ends within a page, nor with which length, is
// documented. If not, qio unmaps and maps as before Windows 10 1803.
TEST_CASE("the addresses of a mapped file stay reserved while it is truncated, by a placeholder") {
  for (const std::string& in : directories())
    for (const std::uint64_t bytes : {std::uint64_t(64) * 4096, std::uint64_t(63) * 4096 + 1000}) {
      const place here(in);
      auto file = qio::mapped_file::open(here / "file", access::read_write, creation::only_if_missing).value();
      const std::string system = file_system(file.native_handle());
      REQUIRE(file.resize(bytes));
      const auto view = file.writable_view(0, bytes).value();
      view[0] = std::byte{42};
      REQUIRE(file.resize(10 * 4096 + 100));
      CHECK(view[0] == std::byte{42});
      MEMORY_BASIC_INFORMATION lost{}, kept{};
      REQUIRE(::VirtualQuery(view.data() + 11 * 4096, &lost, sizeof lost) != 0);
      REQUIRE(::VirtualQuery(view.data(), &kept, sizeof kept) != 0);
      // Other reservations begin at multiples of 64 KiB.
      std::printf("%s (%s): the truncated part of %llu bytes is kept %s\n", in.c_str(), system.c_str(),
                  static_cast<unsigned long long>(bytes),
                  lost.State == MEM_RESERVE ? "by a placeholder" : "as before Windows 10 1803");
      CHECK(kept.State == MEM_COMMIT);
      CHECK(lost.State == MEM_RESERVE);
    }
}
