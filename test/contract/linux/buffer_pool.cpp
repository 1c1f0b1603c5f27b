// Where the memory of a pool of buffers is from.
#include "../world.hpp"
#include <qio/buffer_pool.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <string>

namespace contract {

TEST_CASE("buffer_pool: memory of a NUMA node that does not exist is refused") {
  CHECK(qio::buffer_pool::allocate({.numa_node = 5000}).error() == std::errc::invalid_argument);
  CHECK(qio::buffer_pool::allocate({.numa_node = 1000}).error() == std::errc::invalid_argument);
  const auto here = qio::buffer_pool::allocate({.numa_node = 0});
  if (!here) QIO_SKIP("no NUMA nodes here: " + here.error().message());
}

TEST_CASE("buffer_pool: all memory is present after allocate()") {
  if (qio::platform::kernel_is_older_than(5, 14)) QIO_SKIP("memory is populated since Linux 5.14");
  constexpr std::size_t pages = 64;
  auto pool = qio::buffer_pool::allocate({.buffers = 1, .buffer_bytes = pages * 4096}).value();
  auto whole = pool.take().value();
  std::array<unsigned char, pages> states{};
  REQUIRE(::mincore(whole.data(), whole.size(), states.data()) == 0);
  CHECK(std::ranges::all_of(states, [](unsigned char each) { return (each & 1u) != 0; }));
}

TEST_CASE("buffer_pool: huge pages are used where they are preferred, and where they are required and reserved") {
  const auto kibibytes_of = [](const char* what, const char* path) {
    std::ifstream text(path);
    std::string word;
    unsigned long number = 0, sum = 0;
    while (text >> word)
      if (word == what && text >> number) sum += number;
    return sum;
  };
  constexpr std::size_t mebibyte = std::size_t(1) << 20;
  const unsigned long before = kibibytes_of("AnonHugePages:", "/proc/self/smaps_rollup");
  const qio::buffer_pool_options preferred{
      .buffers = 8, .buffer_bytes = mebibyte, .huge_pages = qio::huge_pages::preferred};
  auto pool = qio::buffer_pool::allocate(preferred).value();
  std::string setting;
  std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled") >> setting;
  if (setting.empty()) QIO_SKIP("this kernel has no transparent huge pages");
  const auto required =
      qio::buffer_pool::allocate({.buffers = 2, .buffer_bytes = mebibyte, .huge_pages = qio::huge_pages::required});
  const unsigned long reserved = kibibytes_of("HugePages_Free:", "/proc/meminfo");
  CHECK(required.has_value() == (reserved != 0 || kibibytes_of("HugePages_Total:", "/proc/meminfo") != 0));
  if (std::ifstream all("/sys/kernel/mm/transparent_hugepage/enabled"); true) {
    std::string line;
    std::getline(all, line);
    if (line.find("[never]") != line.npos) QIO_SKIP("transparent huge pages are off");
  }
  CHECK(kibibytes_of("AnonHugePages:", "/proc/self/smaps_rollup") > before);
}

}  // namespace contract
