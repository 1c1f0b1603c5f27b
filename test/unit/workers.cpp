// How many workers a context may request.
#include "catch.hpp"
#include <qio/qio.hpp>

#include <string>
#include <system_error>

TEST_CASE("create() refuses too many workers, and the message contains both numbers") {
  const auto engine = GENERATE(qio::engine_kind::any, qio::engine_kind::workers);
  const auto created = qio::context::create({.engine = engine, .workers = 4'000'000'000});
  REQUIRE(!created);
  CHECK(created.error() == qio::errc::too_many_workers);
  CHECK(created.error() == std::errc::invalid_argument);
  CHECK(created.error().message() == "4000000000 workers were requested, but a context may have at most 4096");
  CHECK_FALSE(qio::context::create({.engine = engine, .workers = 4097}).has_value());
}

TEST_CASE("create() accepts the largest number of workers") {
  const auto engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::workers);
  const auto created = qio::context::create({.engine = engine, .workers = 4096});
  if (!created) QIO_SKIP("not available here: " + created.error().message());
  CHECK(created.value().explain().find("engine") != nullptr);
}

#if QIO_LACKS_LIBURING
TEST_CASE("a build without io_uring has workers, says why, and refuses a context that must have a ring") {
  CHECK(qio::context::create({.engine = qio::engine_kind::ring}).error() == std::errc::function_not_supported);
  const qio::explanation facts = qio::context::create().value().explain();
  CHECK(facts.find("engine")->value == "pool");
  REQUIRE(facts.find("fallback") != nullptr);
  CHECK(facts.find("fallback")->reason == "built without liburing");
  const auto chosen = qio::context::create({.engine = qio::engine_kind::workers}).value();
  CHECK(chosen.explain().find("fallback") == nullptr);
}
#endif
