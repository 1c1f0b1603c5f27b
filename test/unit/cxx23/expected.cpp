#include "catch.hpp"
#include <qio/expected.hpp>

#include <expected>
#include <memory>
#include <utility>

TEST_CASE("a result becomes a std::expected, and the other way, with the numbers of its error") {
  const qio::error failure(qio::errc::beyond_end, 20, 10);

  const qio::result<int> seven(7);
  CHECK(qio::to_expected(seven) == 7);
  CHECK(qio::to_result<int>(7).value() == 7);

  const std::expected<int, qio::error> failed = qio::to_expected(qio::result<int>(failure));
  REQUIRE(!failed.has_value());
  CHECK(failed.error() == qio::errc::beyond_end);
  CHECK(failed.error().given() == 20);
  CHECK(qio::to_result(failed).error().message() == failure.message());

  CHECK(qio::to_expected(qio::result<void>(qio::success())).has_value());
  CHECK(qio::to_expected(qio::result<void>(failure)).error().needed() == 10);
  CHECK(qio::to_result(std::expected<void, qio::error>()).has_value());
  CHECK(qio::to_result(std::expected<void, qio::error>(std::unexpect, failure)).error() == failure);
}

TEST_CASE("the value of a result moves into a std::expected") {
  qio::result<std::unique_ptr<int>> owner(std::make_unique<int>(3));
  std::expected<std::unique_ptr<int>, qio::error> taken = qio::to_expected(std::move(owner));
  CHECK(*taken.value() == 3);
  CHECK(*qio::to_result(std::move(taken)).value() == 3);
}
