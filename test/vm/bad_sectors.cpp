// Bad sectors in the middle of a device.
#include "catch.hpp"
#include <qio/qio.hpp>
#include <qio/salvage.hpp>

#include <cstdint>
#include <cstring>

namespace {

constexpr std::size_t sector = 512, bytes = std::size_t(2) << 20;

/// Writes its number at the start of each sector.
bool is_sector(const std::byte* memory, std::uint64_t number) {
  return std::memcmp(memory, &number, sizeof number) == 0;
}

/// See job/bad_sectors.
bool is_bad(std::uint64_t number) { return number == 1000 || number == 1001 || (number >= 2000 && number < 2016); }

}  // namespace

TEST_CASE("salvage reads all sectors of a device except the bad ones", "[bad_sectors]") {
  auto memory = qio::aligned_buffer::allocate(bytes).value();
  {
    for (std::uint64_t number = 0; number < bytes / sector; ++number)
      std::memcpy(&memory[number * sector], &number, sizeof number);
    auto whole = qio::direct_file::open("/dev/raw", qio::access::write).value();
    REQUIRE(whole.write_at(0, memory));
    REQUIRE(whole.sync());
  }
  const auto damaged = qio::direct_file::open("/dev/mapper/damaged").value();
  REQUIRE(damaged.alignment().read == sector);
  REQUIRE(damaged.read_at(0, memory).error() == std::errc::io_error);

  const qio::salvaged found = qio::salvage(damaged, 0, memory).value();
  CHECK(found.bytes == bytes);
  REQUIRE(found.lost.size() == 2);
  CHECK(found.lost[0].offset == 1000 * sector);
  CHECK(found.lost[0].bytes == 2 * sector);
  CHECK(found.lost[1].offset == 2000 * sector);
  CHECK(found.lost[1].bytes == 16 * sector);
  bool right = true;
  for (std::uint64_t number = 0; number < bytes / sector; ++number)
    right = right && is_sector(&memory[number * sector], is_bad(number) ? 0 : number);
  CHECK(right);
}
