// Mapped files: Windows does not map them beyond their end, and does not truncate them.
#include "catch.hpp"
#include "world.hpp"

#include <set>
#include <string>
#include <tuple>

using namespace contract;

namespace {

// Of 10 000 bytes.
void make_file(const std::string& path) {
  auto file = qio::cached_file::open(path, access::write, creation::always_new).value();
  REQUIRE(file.write_at(0, memory::with_pattern(0, 10000).all()).value() == 10000);
}

}  // namespace

TEST_CASE("views keep their addresses when a mapped file is truncated beyond them") {
  const directory where;
  auto file = qio::mapped_file::open(where / "file", access::read_write, creation::always_new).value();
  auto source = memory::with_pattern(0, 64 * 4096);
  REQUIRE(file.write_at(0, source.all()).value() == 64 * 4096);
  const auto early = file.view(0, 4096).value();
  REQUIRE(file.write_at(64 * 4096, source.all()).value() == 64 * 4096);
  const auto late = file.view(0, 128 * 4096).value();
  REQUIRE(early.data() != late.data());
  for (const std::size_t pages : {100u, 10u, 1u}) {
    REQUIRE(file.resize(pages * 4096));
    CHECK(holds_pattern(early, 0));
    CHECK(holds_pattern(late.first(4096), 0));
    CHECK(file.view(0, pages * 4096 + 1).error() == errc::beyond_end);
    CHECK(file.size().value() == pages * 4096);
  }
  CHECK(file.resize(0));
  CHECK(file.view(0, 0));
  REQUIRE(file.write_at(0, source.all()).value() == 64 * 4096);
  CHECK(holds_pattern(file.view(0, 64 * 4096).value(), 0));
}

TEST_CASE("appended data can be read before and after it is mapped") {
  const directory where;
  auto file = qio::mapped_file::open(where / "file", access::read_write, creation::always_new).value();
  memory target(100);
  for (std::size_t i = 0; i < 300; ++i) {
    auto source = memory::with_pattern(i * 100, 100);
    REQUIRE(file.write_at(i * 100, source.all()).value() == 100);
    REQUIRE(file.read_at(i * 100, target.all()).value() == 100);
    REQUIRE(holds_pattern(target.all(), i * 100));
  }
  CHECK(holds_pattern(file.view(0, 30000).value(), 0));
}

TEST_CASE("what is stored in a view is in the file after sync, asynchronous or not") {
  const directory where;
  auto context = qio::context::create().value();
  auto file = qio::mapped_file::open(context, where / "file", access::read_write, creation::always_new).value();
  REQUIRE(file.resize(8192));
  file.writable_view(5000, 1).value()[0] = std::byte{42};
  CHECK(file.sync());
  auto sync = file.async_sync();
  bool synced = false;
  sync.start([&synced](qio::result<void> told) { synced = told.has_value(); });
  context.run();
  CHECK(synced);
  CHECK(contents(where / "file")[5000] == 42);
}

namespace {

/// A mapped file of 128 pages that has grown, so that it has a view of its first page apart from one of all pages.
auto with_two_views(const directory& where) {
  auto file = qio::mapped_file::open(where / "file", access::read_write, creation::always_new).value();
  REQUIRE(file.resize(64 * 4096));
  const auto early = file.writable_view(0, 4096).value();
  REQUIRE(file.resize(128 * 4096));
  const auto late = file.writable_view(0, 128 * 4096).value();
  REQUIRE(early.data() != late.data());
  shim::flushed_views.clear();
  return std::tuple(std::move(file), early, late);
}

}  // namespace

TEST_CASE("sync flushes each view of a file that has grown, the earlier ones too") {
  const directory where;
  auto [file, early, late] = with_two_views(where);
  REQUIRE(file.sync());
  CHECK(shim::flushed_views.count(early.data()) == 1);
  CHECK(shim::flushed_views.count(late.data()) == 1);
}

TEST_CASE("sync_range() flushes the range in each view, and the file's buffers") {
  const directory where;
  auto [file, early, late] = with_two_views(where);
  const unsigned flushes = shim::now.full_flushes + shim::now.data_flushes;
  REQUIRE(file.sync_range({8192, 4096}));
  CHECK(shim::flushed_views == std::set<const void*>{early.data() + 8192, late.data() + 8192});
  CHECK(shim::now.full_flushes + shim::now.data_flushes > flushes);
  shim::flushed_views.clear();
  REQUIRE(file.sync_range({100 * 4096, 4096}));
  CHECK(shim::flushed_views == std::set<const void*>{late.data() + 100 * 4096});
  shim::fail_next(shim::call::flush_view, ERROR_IO_DEVICE);
  CHECK(file.sync_range({0, 4096}).error() == std::errc::io_error);
  CHECK(file.sync_range({0, 4096}).error() == std::errc::io_error);
  CHECK(file.sync().error() == std::errc::io_error);
}

TEST_CASE("prefetch() of a mapped file asks Windows for the part of the range that the file has") {
  const directory where;
  make_file(where / "file");
  auto file = qio::mapped_file::open(where / "file").value();
  const auto asked = [&](const qio::extent& range) {
    const std::uint64_t before = shim::now.prefetched;
    CHECK(file.prefetch(range));
    return shim::now.prefetched - before;
  };
  CHECK(asked({100, 5000}) == 5000);
  CHECK(asked({9000, 5000}) == 1000);
  CHECK(asked({10000, 5000}) == 0);
  CHECK(asked({100, 0}) == 0);
  CHECK(qio::cached_file::open(where / "file").value().prefetch({0, 1}).error() == errc::prefetch_not_supported);
}

TEST_CASE("a private view keeps the size of a file, which may grow") {
  const directory where;
  make_file(where / "file");
  auto file = qio::mapped_file::open(where / "file", access::read_write).value();
  {
    const auto own = file.private_view(0, 5000).value();
    own.bytes()[0] = std::byte{0};
    CHECK(file.resize(100).error().code().value() == ERROR_USER_MAPPED_FILE);
    CHECK(file.size().value() == 10000);
    CHECK(holds_pattern(file.view(0, 10000).value(), 0));
    CHECK(file.resize(20000));
    CHECK(holds_pattern(own.bytes().subspan(1), 1));
  }
  CHECK(file.resize(100));
  CHECK(holds_pattern(file.view(0, 100).value(), 0));
}

TEST_CASE("what Windows lacks of the page cache is refused by name") {
  const directory where;
  make_file(where / "file");
  auto file = qio::mapped_file::open(where / "file", access::read_write).value();
  CHECK(file.advise(qio::access_pattern::random).error() == errc::advice_not_supported);
  CHECK(file.advise(qio::access_pattern::random, {0, 100}).error() == errc::advice_not_supported);
  CHECK(file.forget().error() == errc::forget_not_supported);
  CHECK(file.resident().error() == errc::residency_not_supported);
  CHECK(file.use_huge_pages({0, 100}).error() == errc::huge_pages_not_supported);
  CHECK(file.prefault({0, 100}, access::write).error() == errc::prefault_not_supported);
  CHECK(file.prefault({0, 10000}));
}

TEST_CASE("a mapped file that cannot be mapped again after a truncation reports that, and is mapped later") {
  const directory where;
  auto file = qio::mapped_file::open(where / "file", access::read_write, creation::always_new).value();
  auto source = memory::with_pattern(0, 64 * 4096);
  REQUIRE(file.write_at(0, source.all()).value() == 64 * 4096);
  REQUIRE(file.view(0, 64 * 4096));
  shim::now.maps_nothing = true;
  REQUIRE(file.resize(10 * 4096));
  CHECK(file.view(4096, 4096).error() == std::errc::not_enough_memory);
  memory target(4096);
  CHECK(file.read_at(4096, target.all()).value() == 4096);
  CHECK(holds_pattern(target.all(), 4096));
  shim::now.maps_nothing = false;
  CHECK(holds_pattern(file.view(4096, 4096).value(), 4096));
  CHECK(file.sync());  // with nothing left to flush where the lost view was
  REQUIRE(file.resize(4096));
  CHECK(file.sync());
}

namespace {

const void* coveted = nullptr;
unsigned thefts = 0, attempts = 0;

/// Another thread that allocates memory, as luck would have it where a view begins.
void allocate_there() {
  void* const taken = ::VirtualAlloc(const_cast<void*>(coveted), 65536, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  ++attempts;
  thefts += taken != nullptr ? 1u : 0u;
}

/// Ways to keep addresses.
struct windows_version {
  bool has_placeholders;
  bool maps_past_sections;
};
constexpr windows_version versions[] = {{true, true}, {true, false}, {false, false}};

struct running_on {
  explicit running_on(const windows_version& version) {
    shim::now.has_placeholders = version.has_placeholders;
    shim::now.maps_past_sections = version.maps_past_sections;
  }
  running_on(const running_on&) = delete;
  running_on& operator=(const running_on&) = delete;
  ~running_on() {
    shim::now.has_placeholders = false;
    shim::now.maps_past_sections = false;
    shim::now.before_resizing = nullptr;
  }
};

}  // namespace

TEST_CASE("nobody gets the addresses of a mapped file while it is truncated, nor those of its lost part afterwards") {
  for (const windows_version& version : versions) {
    const running_on old_or_new(version);
    const directory where;
    auto file = qio::mapped_file::open(where / "file", access::read_write, creation::always_new).value();
    auto source = memory::with_pattern(0, 64 * 4096);
    REQUIRE(file.write_at(0, source.all()).value() == 64 * 4096);
    const auto view = file.view(0, 64 * 4096).value();
    thefts = attempts = 0;
    shim::now.before_resizing = &allocate_there;
    for (const std::size_t bytes : {50u * 4096, 10u * 4096 + 100, 30u * 4096, 17u * 4096 - 1, 1u, 0u, 40u * 4096}) {
      coveted = view.data();
      REQUIRE(file.resize(bytes));
      CHECK(file.size().value() == bytes);
      for (std::size_t part = 0; part < 4; ++part) {
        coveted = view.data() + part * 65536;
        allocate_there();
      }
      auto rest = memory::with_pattern(0, bytes);
      REQUIRE(file.write_at(0, rest.all()).value() == bytes);
    }
    CHECK(attempts >= 28 + 7);
    CHECK(thefts == 0);
    REQUIRE(file.resize(20 * 4096));  // the file is mapped there again as far as it reaches
    CHECK(holds_pattern(view.first(20 * 4096), 0));
  }
}

TEST_CASE("closing a mapped file frees its addresses, whether it was truncated or not") {
  for (const windows_version& version : versions) {
    const running_on old_or_new(version);
    for (const std::size_t bytes : {64u * 4096, 50u * 4096, 10u * 4096 + 100, 1u, 0u}) {
      const directory where;
      auto file = qio::mapped_file::open(where / "file", access::read_write, creation::always_new).value();
      REQUIRE(file.resize(64 * 4096));
      const auto* const place = file.view(0, 64 * 4096).value().data();
      REQUIRE(file.resize(bytes));
      REQUIRE(file.close());
      bool is_free = true;  // found out before anything else allocates memory
      for (std::size_t part = 0; part < 4; ++part) {
        MEMORY_BASIC_INFORMATION found{};
        is_free &= ::VirtualQuery(place + part * 65536, &found, sizeof found) != 0 && found.State == MEM_FREE;
      }
      CHECK(is_free);
      CHECK(shim::placeholders.empty());
    }
  }
}

TEST_CASE("a copy asks for the size of a mapped file only where somebody could truncate it") {
  const directory where;
  make_file(where / "file");
  auto source = memory::with_pattern(5000, 5000);
  memory zeros(4096);
  const std::tuple<const wchar_t*, bool, bool> cases[] = {{L"NTFS", false, false},
                                                          {L"ReFS", false, false},
                                                          {L"NTFS", true, true},
                                                          {L"NFS", false, true},
                                                          {L"WinFsp", false, true}};
  for (const auto& [system, is_remote, asks] : cases) {
    shim::now.file_system = system;
    shim::now.is_remote = is_remote;
    auto file = qio::mapped_file::open(where / "file", access::read_write).value();
    shim::now.is_remote = false;
    shim::now.file_system = nullptr;
    shim::now.sizes_read = 0;
    REQUIRE(file.write_at(5000, source.all()).value() == 5000);
    CHECK(shim::now.sizes_read == (asks ? 1 : 0));
    REQUIRE(file.write_at(0, zeros.all()).value() == 4096);
    REQUIRE(file.read_at(0, zeros.all()).value() == 4096);  // its last byte may be one that was cut off
    CHECK(shim::now.sizes_read == (asks ? 3 : 0));
  }
}

TEST_CASE("a mapped file is not truncated, not even within its last page") {
  const directory where;
  make_file(where / "file");
  const auto mapped = qio::mapped_file::open(where / "file", access::read_write).value();
  auto other = qio::cached_file::open(where / "file", access::read_write).value();
  for (const std::size_t bytes : {9999u, 8192u, 1u, 0u}) {
    const auto answer = other.resize(bytes);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code() == std::error_code(ERROR_USER_MAPPED_FILE, qio::platform::system_category()));
  }
  CHECK(other.size().value() == 10000);
}
