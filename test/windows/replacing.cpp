// creation::always_new while others have the file open, and files that others hold exclusively.
#include "catch.hpp"
#include "world.hpp"

using qio::access;
using qio::creation;

namespace {

/// Holds a file open with the share mode `share`.
struct holder {
  holder(const std::string& path, DWORD share)
      : handle(::CreateFileW(std::filesystem::path(path).c_str(), GENERIC_READ, share, nullptr, OPEN_EXISTING, 0,
                             nullptr)) {
    REQUIRE(handle != INVALID_HANDLE_VALUE);
  }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;
  ~holder() { ::CloseHandle(handle); }
  HANDLE handle;
};

}  // namespace

TEST_CASE("opening a file that another handle holds exclusively fails with device_or_resource_busy") {
  const contract::directory where;
  contract::put(where / "file", "contents");
  const holder own(where / "file", 0);
  for (const auto how : {creation::open_existing, creation::if_needed, creation::truncate_existing}) {
    const auto refused = qio::cached_file::open(where / "file", access::read_write, how);
    REQUIRE(!refused);
    CHECK(refused.error() == std::errc::device_or_resource_busy);
    CHECK(refused.error().code().value() == ERROR_SHARING_VIOLATION);
  }
}

TEST_CASE("a file that may not be renamed is not replaced, and nothing is left behind") {
  const contract::directory where;
  contract::put(where / "file", "contents");
  {
    const holder no_renaming(where / "file", FILE_SHARE_READ | FILE_SHARE_WRITE);
    CHECK(!qio::cached_file::open(where / "file", access::write, creation::always_new));
  }
  CHECK(where.entries() == 1);
  CHECK(contract::contents(where / "file") == "contents");
}

TEST_CASE("a read-only file is not replaced, and can be created") {
  const contract::directory where;
  {
    auto made = qio::cached_file::open(where / "file", access::read_write, creation::if_needed, {.permissions = 0444});
    REQUIRE(made);
    std::array<std::byte, 3> three{};
    CHECK(made.value().write_at(0, three).value() == 3);
  }
  CHECK((::GetFileAttributesW(std::filesystem::path(where / "file").c_str()) & FILE_ATTRIBUTE_READONLY) != 0);
  const auto refused = qio::cached_file::open(where / "file", access::write, creation::always_new);
  REQUIRE(!refused);
  CHECK(refused.error() == std::errc::permission_denied);
  CHECK(where.entries() == 1);
  std::filesystem::permissions(where / "file", std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
}

TEST_CASE("an open that fails late removes the file it created, even a read-only one") {
  const contract::directory where;
  const auto context = qio::context::create();
  for (const std::uint32_t permissions : {0666u, 0444u}) {
    shim::fail_next(shim::call::set_modes, ERROR_INVALID_FUNCTION);
    const auto refused = qio::cached_file::open(context.value(), where / "file", access::read_write,
                                                creation::only_if_missing, {.permissions = permissions});
    REQUIRE(!refused);
    CHECK(refused.error() == qio::errc::cannot_be_bound);
    CHECK(refused.error() == std::errc::operation_not_supported);
    CHECK(where.entries() == 0);
  }
}

TEST_CASE("an open that fails late keeps a file that another user has put in place of its own") {
  const contract::directory where;
  {
    const auto begun = qio::platform::opening::begin(where / "new", qio::platform::anywhere, access::read_write,
                                                     creation::only_if_missing, 0666, {});
    REQUIRE(begun);
    REQUIRE(::MoveFileExW(std::filesystem::path(where / "new").c_str(), std::filesystem::path(where / "aside").c_str(),
                          0) != 0);
    contract::put(where / "new", "theirs");
  }
  CHECK(contract::contents(where / "new") == "theirs");
}

TEST_CASE(
    "an open that fails late keeps a file that may not be its own: IDs that differ only in the upper half, or none") {
  for (const auto ids : {shim::identities::upper_half, shim::identities::zero}) {
    const contract::directory where;
    shim::now.ids = ids;
    {
      const auto begun = qio::platform::opening::begin(where / "new", qio::platform::anywhere, access::read_write,
                                                       creation::only_if_missing, 0666, {});
      REQUIRE(begun);
      REQUIRE(::MoveFileExW(std::filesystem::path(where / "new").c_str(),
                            std::filesystem::path(where / "aside").c_str(), 0) != 0);
      contract::put(where / "new", "theirs");
    }
    CHECK(contract::contents(where / "new") == "theirs");
    {
      const auto begun = qio::platform::opening::begin(where / "own", qio::platform::anywhere, access::read_write,
                                                       creation::only_if_missing, 0666, {});
      REQUIRE(begun);
    }
    CHECK(std::filesystem::exists(where / "own") == (ids == shim::identities::zero));
    shim::now.ids = shim::identities::as_they_are;
  }
}

TEST_CASE("always_new moves the old file aside only where renaming as POSIX does is unsupported") {
  const contract::directory where;
  contract::put(where / "file", "contents");
  const holder open(where / "file", FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE);
  const auto replace = [&](DWORD code, unsigned times) {
    shim::now.moves = shim::now.sleeps = 0;
    shim::fail_next(shim::call::posix_rename, code, times);
    return qio::cached_file::open(where / "file", access::write, creation::always_new);
  };
  CHECK(replace(ERROR_DISK_FULL, 1).error() == std::errc::no_space_on_device);
  CHECK(shim::now.moves == 0);
  CHECK(shim::now.sleeps == 0);
  const auto refused = replace(ERROR_ACCESS_DENIED, 100);
  shim::fail_next(shim::call::posix_rename, 0);
  REQUIRE(!refused);
  CHECK(refused.error() == std::errc::permission_denied);
  CHECK(shim::now.moves == 0);
  CHECK(shim::now.sleeps >= 1);  // it may have been a virus scanner
  CHECK(where.entries() == 1);
  CHECK(contract::contents(where / "file") == "contents");
  for (const auto code : {ERROR_INVALID_PARAMETER, ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED}) {
    CHECK(replace(static_cast<DWORD>(code), 1));
    CHECK(shim::now.moves >= 1);
  }
}

TEST_CASE("always_new succeeds if others have taken predictable temporary names") {
  const contract::directory where;
  const std::string stem = where / ".qio-" + std::to_string(::GetCurrentProcessId()) + '-';
  for (int number = 0; number < 100; ++number) contract::put(stem + std::to_string(number), "theirs");
  CHECK(qio::cached_file::open(where / "new", access::write, creation::always_new));
  CHECK(where.entries() == 101);
}

TEST_CASE("a mapped file is replaced, or stays as it was, and nothing is left behind") {
  const contract::directory where;
  contract::put(where / "file", "contents");
  auto mapped = qio::mapped_file::open(where / "file").value();
  REQUIRE(mapped.view(0, 8));
  const auto replaced = qio::cached_file::open(where / "file", access::write, creation::always_new);
  CHECK(contract::contents(where / "file") == (replaced ? "" : "contents"));
  CHECK(mapped.close());
  CHECK(where.entries() == 1);
}

TEST_CASE("a file that is open and cannot be removed stays in its place, and nothing is left behind") {
  const contract::directory where;
  contract::put(where / "file", "contents");
  const holder open(where / "file", FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE);
  shim::fail_next(shim::call::remove, ERROR_USER_MAPPED_FILE, 1000);
  const auto refused = qio::cached_file::open(where / "file", access::write, creation::always_new);
  shim::fail_next(shim::call::remove, 0);
  if (!refused) CHECK(refused.error() == std::errc::device_or_resource_busy);
  CHECK(contract::contents(where / "file") == "contents");
  CHECK(contract::contents(where / "file") == "contents");
  CHECK(where.entries() <= 2);
}

TEST_CASE("after an open file was replaced and closed, nothing is left of it") {
  const contract::directory where;
  contract::put(where / "file", "contents");
  {
    const holder open(where / "file", FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE);
    CHECK(qio::cached_file::open(where / "file", access::write, creation::always_new));
  }
  CHECK(where.entries() == 1);
  CHECK(contract::contents(where / "file").empty());
}

TEST_CASE("a replacement that others are in the way of for a moment is tried again") {
  const contract::directory where;
  for (const auto code : {ERROR_SHARING_VIOLATION, ERROR_ACCESS_DENIED}) {
    contract::put(where / "file", "contents");
    shim::now.sleeps = 0;
    shim::fail_next(shim::call::move, static_cast<DWORD>(code), 4);
    CHECK(qio::cached_file::open(where / "file", access::write, creation::always_new));
    CHECK(shim::now.sleeps >= 1);
    CHECK(contract::contents(where / "file").empty());
    CHECK(where.entries() == 1);
  }
}

TEST_CASE("a replacement that fails for another reason is not tried again") {
  const contract::directory where;
  contract::put(where / "file", "contents");
  shim::now.sleeps = 0;
  shim::fail_next(shim::call::move, ERROR_DISK_FULL);
  CHECK(qio::cached_file::open(where / "file", access::write, creation::always_new).error() ==
        std::errc::no_space_on_device);
  CHECK(shim::now.sleeps == 0);
  CHECK(where.entries() == 1);
}
