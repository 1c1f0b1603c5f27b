// Untorn writes on a drive that has them, and on file systems above it. The kernel refuses the flag wherever it would
// not keep its promise, so what it accepts is within the limits that it reports.
#include "catch.hpp"
#include <qio/qio.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

TEST_CASE("untorn writes work on a drive that has them since Linux 6.11, on ext4 and XFS on it since 6.13",
          "[untorn]") {
  const char* const path = std::getenv("QIO_TEST_UNTORN");
  REQUIRE(path != nullptr);
  auto context = qio::context::create().value();
  auto file = qio::direct_file::open(context, path, qio::access::read_write, qio::creation::if_needed).value();
  const qio::atomic_write_limits limits = file.atomic_write_limits();
  std::printf("%s: untorn writes of %u to %u bytes, %u optimal\n", path, limits.smallest, limits.largest,
              limits.optimal);
  const bool is_drive = std::string_view(path).starts_with("/dev/");
  CHECK((limits.largest == 0) == qio::platform::kernel_is_older_than(6, is_drive ? 11 : 13));
  auto memory = qio::aligned_buffer::allocate(limits.largest + 4096).value();
  for (std::size_t bytes = limits.smallest; bytes != 0 && bytes <= limits.largest; bytes *= 2)
    for (const bool durable : {false, true}) {
      INFO(bytes << " bytes");
      const auto piece = memory.view(0, bytes);
      CHECK(context.run(file.async_write_at(bytes, piece, {.durable = durable, .untorn = true})).value() == bytes);
      CHECK(file.write_at(0, piece, {.durable = durable, .untorn = true}).value() == bytes);
    }
}
