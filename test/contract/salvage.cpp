// salvage() without bad sectors. With bad sectors: test/fault/salvage.cpp.
#include "world.hpp"
#include <qio/salvage.hpp>

namespace contract {

PROMISE(salvaging, each_mode, "salvage reads all of an undamaged file, and reports no losses") {
  auto file = w.with(5 * 4096 + 100);
  memory buffer(4 * 4096);
  const auto found = qio::salvage(file, 4096, buffer.all());
  REQUIRE(found);
  CHECK(found.value().bytes == 4 * 4096);
  CHECK(found.value().lost.empty());
  CHECK(holds_pattern(buffer.all(), 4096));
  CHECK(qio::salvage(file, 4 * 4096, buffer.all()).value().bytes == 4096 + 100);
}

}  // namespace contract
