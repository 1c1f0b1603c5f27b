#include "catch.hpp"
#include <qio/std_format.hpp>

#include <format>

TEST_CASE("std::format formats errors, alignments, explanations and results") {
  const qio::error failure(qio::errc::beyond_end, 20, 10);
  CHECK(std::format("{}", failure) == "the range ends at 20, but the file ends at 10 [qio 5]");
  CHECK(std::format("{}", qio::alignment{512, 512, 4096}) == "memory 512, read 512, write 4096");
  CHECK(std::format("{:>3}", qio::result<int>(7)) == "  7");
  CHECK(std::format("{}", qio::result<int>(failure)).find("error: the range ends at 20") == 0);
  qio::explanation facts;
  facts.add("engine", "pool", "no ring");
  CHECK(std::format("{}", facts) == facts.text());
}
