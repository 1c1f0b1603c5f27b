// io_uring disabled by the administrator. Runs in the emulated machine, because the sysctl affects the whole system.
#include "catch.hpp"
#include <qio/qio.hpp>

#include <fstream>
#include <string>

#if QIO_HAS_URING
TEST_CASE("if io_uring is disabled, the context falls back, and explain() names the sysctl", "[switched_off]") {
  std::ofstream("/proc/sys/kernel/io_uring_disabled") << 2;

  const auto ring = qio::context::create({.engine = qio::engine_kind::ring});
  REQUIRE(!ring);
  CHECK(ring.error() == std::errc::operation_not_permitted);

  const qio::explanation facts = qio::context::create().value().explain();
  REQUIRE(facts.find("engine") != nullptr);
  CHECK(facts.find("engine")->value == "pool");
  REQUIRE(facts.find("fallback") != nullptr);
  CHECK(facts.find("fallback")->reason.find("sysctl kernel.io_uring_disabled is 2") != std::string::npos);
}
#endif
