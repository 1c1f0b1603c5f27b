#include "catch.hpp"
#include <qio/format.hpp>

TEST_CASE("fmt formats errors, alignments, explanations and results") {
  const qio::error failure(qio::errc::beyond_end, 20, 10);
  CHECK(fmt::format("{}", failure) == "the range ends at 20, but the file ends at 10 [qio 5]");
  CHECK(fmt::format("{}", qio::alignment{512, 512, 4096}) == "memory 512, read 512, write 4096");
  CHECK(fmt::format("{}", qio::result<int>(7)) == "7");
  CHECK(fmt::format("{}", qio::result<int>(failure)).find("error: the range ends at 20") == 0);
  qio::explanation facts;
  facts.add("engine", "pool", "no ring");
  facts.add("workers", "4");
  CHECK(fmt::format("{}", facts) == facts.text());
  CHECK(facts.text() == "engine: pool (no ring)\nworkers: 4\n");
}
