// Where the memory of a reader's blocks is from.
#include "../world.hpp"
#include "mapping_flags.hpp"
#include <qio/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>

namespace contract {

namespace {

bool asks_for_huge_pages(const std::byte* at) { return qio_test::has_flag(qio_test::flags_of_mapping(at), "hg"); }

bool reads_into_huge_pages(qio::direct_file& file, std::uint64_t from) {
  auto reader = qio::reader<qio::direct_file>::create(file, {.offset = from}).value();
  const auto bytes = reader.next().value();
  REQUIRE(holds_only(bytes, std::byte{0}));
  return asks_for_huge_pages(bytes.data());
}

}  // namespace

PROMISE(reader_in_huge_pages, direct_only,
        "a reader of a direct file asks for huge pages if it has 16 MiB or more to read") {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
    QIO_SKIP("this kernel has no transparent huge pages");
  constexpr std::uint64_t enough = 16 * 1024 * 1024;
  auto file = w.with(0);
  REQUIRE(file.resize(enough + 4096));
  CHECK(reads_into_huge_pages(file, 0));
  CHECK(reads_into_huge_pages(file, 4096));
  CHECK(!reads_into_huge_pages(file, 8192));
  auto limited = qio::reader<qio::direct_file>::create(file, {.limit = enough - 1}).value();
  CHECK(!asks_for_huge_pages(limited.next().value().data()));
}

}  // namespace contract
