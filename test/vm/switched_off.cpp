// io_uring disabled by the administrator. Runs in the emulated machine, because the sysctl affects the whole system.
#include "catch.hpp"
#include <qio/qio.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>

#if QIO_HAS_URING
TEST_CASE("if io_uring is disabled, the context falls back, and explain() names the sysctl", "[switched_off]") {
  std::ofstream("/proc/sys/kernel/io_uring_disabled") << 2;

  const auto ring = qio::context::create({.engine = qio::engine_kind::ring});
  REQUIRE(!ring);
  CHECK(ring.error() == std::errc::operation_not_permitted);

  const qio::explanation facts = qio::context::create().value().explain();
  REQUIRE(facts.find("engine") != nullptr);
  CHECK(facts.find("engine")->value == "aio");
  REQUIRE(facts.find("fallback") != nullptr);
  CHECK(facts.find("fallback")->reason.find("sysctl kernel.io_uring_disabled is 2") != std::string::npos);
}

TEST_CASE("if the system has no room for Linux AIO either, workers take over, and explain() names the limit",
          "[switched_off]") {
  std::ofstream("/proc/sys/kernel/io_uring_disabled") << 2;
  const std::string limit = "/proc/sys/fs/aio-max-nr";
  std::uint64_t before = 0;
  std::ifstream(limit) >> before;

  std::ofstream(limit) << 40;
  const auto smaller = qio::context::create({.queue_depth = 256}).value().explain();
  CHECK(smaller.find("requests in the kernel")->value == "at most 32");

  std::ofstream(limit) << 4;
  CHECK(qio::context::create({.engine = qio::engine_kind::aio}).error() == std::errc::resource_unavailable_try_again);
  const auto none = qio::context::create().value().explain();
  CHECK(none.find("engine")->value == "pool");
  CHECK(none.text().find("fs.aio-max-nr") != std::string::npos);
  std::ofstream(limit) << before;
}
#endif
