// Direct files: the source of their alignment, and that no call reaches Windows that it would refuse.
#include "catch.hpp"
#include "world.hpp"

using namespace contract;

namespace {

struct windows_minds_sectors {
  windows_minds_sectors() { shim::now.minds_sectors = true; }
  windows_minds_sectors(const windows_minds_sectors&) = delete;
  windows_minds_sectors& operator=(const windows_minds_sectors&) = delete;
  ~windows_minds_sectors() { shim::now.minds_sectors = false; }
};

}  // namespace

TEST_CASE("the alignment is the device's if it reports one, otherwise the volume's") {
  const directory where;
  const auto source_of = [&] {
    auto file = qio::direct_file::open(where / "file", access::read_write, creation::always_new).value();
    CHECK(file.is_direct());
    CHECK(file.alignment() == qio::alignment{512, 512, 512});
    return file.explain().find("alignment")->reason;
  };
  CHECK(source_of() == "sector size of the volume");
  const windows_minds_sectors strict;
  CHECK(source_of() == "FileStorageInfo");
}

TEST_CASE("misaligned transfers are refused before Windows would, and aligned ones are not") {
  const windows_minds_sectors strict;
  const directory where;
  auto file = qio::direct_file::open(where / "file", access::read_write, creation::always_new).value();
  memory buffer(8192);
  shim::now.refused = 0;
  CHECK(file.write_at(512, buffer.all()).value() == 8192);
  CHECK(file.read_at(512, buffer.part(512, 512)).value() == 512);
  CHECK(file.read_at(100, buffer.all()).error() == errc::misaligned_offset);
  CHECK(file.read_at(0, buffer.part(0, 100)).error() == errc::misaligned_length);
  CHECK(file.read_at(0, buffer.part(4, 512)).error() == errc::misaligned_buffer);
  REQUIRE(file.resize(1000));
  CHECK(file.read_at(512, buffer.all()).value() == 488);
  CHECK(file.read_at(1024, buffer.all()).value() == 0);
  CHECK(shim::now.refused == 0);

  OVERLAPPED overlapped{};
  CHECK(qio::platform::calls::ReadFile(file.native_handle(), buffer.data(), 100, nullptr, &overlapped) == 0);
  CHECK(shim::now.refused == 1);  // the shim would have reported it
}

TEST_CASE("a direct open on a file system that requires its cache fails, or falls back if that is allowed") {
  const directory where;
  shim::fail_next(shim::call::create_file, ERROR_INVALID_PARAMETER);
  CHECK(qio::direct_file::open(where / "file", access::read_write, creation::if_needed).error() ==
        errc::direct_not_supported);
  CHECK(where.entries() == 0);
  shim::fail_next(shim::call::create_file, ERROR_INVALID_PARAMETER);
  auto file = qio::direct_file::open(where / "file", access::read_write, creation::if_needed,
                                     {.fallback = qio::if_unavailable::use_cache});
  REQUIRE(file);
  CHECK(!file.value().is_direct());
  memory buffer(4096);
  CHECK(file.value().write_at(0, buffer.all()).value() == 4096);
  CHECK(file.value().write_at(512, buffer.all()).error() == errc::misaligned_offset);
}

TEST_CASE("ERROR_INVALID_PARAMETER means the end of the file past it, and is an error before it") {
  const directory where;
  auto file = qio::direct_file::open(where / "file", access::read_write, creation::always_new).value();
  memory buffer(4096);
  REQUIRE(file.write_at(0, buffer.all()).value() == 4096);
  shim::fail_next(shim::call::transfer, ERROR_INVALID_PARAMETER);
  CHECK(file.read_at(4096, buffer.all()).value() == 0);
  shim::fail_next(shim::call::transfer, ERROR_INVALID_PARAMETER, 2);  // the read is repeated, as if the file had grown
  CHECK(file.read_at(0, buffer.all()).error() == std::errc::invalid_argument);
  for (const auto code : {ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_MORE_DATA, ERROR_OPERATION_ABORTED}) {
    shim::fail_next(shim::call::transfer, DWORD(code));
    const auto answer = file.read_at(4096, buffer.all());
    REQUIRE(!answer);
    CHECK(answer.error().code().value() == static_cast<int>(code));
  }
}

TEST_CASE("a file that may use a cache is not direct: compressed, encrypted, in memory, on a share") {
  const directory where;
  const auto open = [&](qio::if_unavailable fallback) {
    return qio::direct_file::open(where / "file", access::read_write, creation::if_needed, {.fallback = fallback});
  };
  const auto check = [&](errc reason) {
    CHECK(open(qio::if_unavailable::fail).error() == reason);
    auto file = open(qio::if_unavailable::use_cache);
    REQUIRE(file);
    CHECK(!file.value().is_direct());
    CHECK(file.value().explain().find("direct")->value == "off");
    CHECK(file.value().alignment() == qio::alignment{4096, 4096, 4096});  // the handle itself has no cache
  };
  for (const auto attribute : {FILE_ATTRIBUTE_COMPRESSED, FILE_ATTRIBUTE_ENCRYPTED}) {
    shim::now.attributes = static_cast<DWORD>(attribute);
    check(errc::direct_not_supported);
  }
  shim::now.attributes = FILE_ATTRIBUTE_SPARSE_FILE;
  CHECK(open(qio::if_unavailable::fail).value().is_direct());
  shim::now.attributes = 0;
  shim::now.volume_flags = 0x20000000;  // FILE_DAX_VOLUME
  check(errc::direct_not_supported);
  shim::now.volume_flags = 0;
  shim::now.is_remote = true;
  check(errc::direct_unknown);
  shim::now.is_remote = false;
  shim::now.hides_device = true;  // perhaps remote
  check(errc::direct_unknown);
  shim::now.hides_device = false;
  CHECK(open(qio::if_unavailable::fail).value().is_direct());
}

TEST_CASE("the size of a volume or a disk is the length that its device reports") {
  const directory where;
  auto file = qio::cached_file::open(where / "file", access::read_write, creation::if_needed).value();
  shim::now.device_bytes = 123'456'512;
  const auto size = file.size();
  shim::now.device_bytes = -1;
  CHECK(size.value() == 123'456'512);
  CHECK(file.size().value() == 0);
}
