// SPDX-License-Identifier: BSL-1.0
#include "units.hpp"

#include "catch.hpp"
#include "failure.hpp"

#include <string>

namespace {

TEST_CASE("sizes are read as people write them") {
  CHECK(qd1::parse_size("--block", "4096") == 4096);
  CHECK(qd1::parse_size("--block", "4k") == 4096);
  CHECK(qd1::parse_size("--block", "4K") == 4096);
  CHECK(qd1::parse_size("--block", "4KiB") == 4096);
  CHECK(qd1::parse_size("--block", "4kB") == 4000);
  CHECK(qd1::parse_size("--block", "512B") == 512);
  CHECK(qd1::parse_size("--block", "1.5M") == 1'572'864);
  CHECK(qd1::parse_size("--block", "1GiB") == 1'073'741'824);
  CHECK(qd1::parse_size("--block", "2T") == 2'199'023'255'552);
}

TEST_CASE("what is no size is named, with what would be one") {
  for (const char* text : {"", "k", "4x", "-4k", "0", "4 k", "4kb", "0.3", "1e30", "nan", "99999999T"}) {
    INFO(text);
    CHECK_THROWS_AS(qd1::parse_size("--block", text), qd1::usage_error);
  }
  CHECK_THROWS_WITH(qd1::parse_size("--block", "4x"), qio_test::Contains("--block: '4x'") && qio_test::Contains("4k"));
}

TEST_CASE("times are read as people write them") {
  CHECK(qd1::parse_seconds("--time", "2") == 2);
  CHECK(qd1::parse_seconds("--time", "500ms") == 0.5);
  CHECK(qd1::parse_seconds("--time", "1.5s") == 1.5);
  CHECK(qd1::parse_seconds("--time", "2m") == 120);
  const std::string endless = std::string(308, '9') + 'h', nothing = "0." + std::string(322, '0') + "5ms";
  for (const std::string& text : {std::string(), std::string("0"), std::string("-1"), std::string("soon"),
                                  std::string("2 s"), std::string("inf"), endless, nothing})
    CHECK_THROWS_AS(qd1::parse_seconds("--time", text), qd1::usage_error);
}

TEST_CASE("numbers are written as people read them") {
  CHECK(qd1::size_text(4096) == "4 KiB");
  CHECK(qd1::size_text(1000) == "1000 B");
  CHECK(qd1::size_text(3ull << 30) == "3 GiB");
  CHECK(qd1::grouped(368'887) == "368 887");
  CHECK(qd1::grouped(1'000'000) == "1 000 000");
  CHECK(qd1::grouped(12) == "12");
  CHECK(qd1::percentile_name(0.99999) == "p99.999");
  CHECK(qd1::percentile_name(0.5) == "p50");
}

}  // namespace
