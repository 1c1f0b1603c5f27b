// SPDX-License-Identifier: BSL-1.0
// qd1 env, as its users call it.
#include "../program.hpp"

#include <nlohmann/json.hpp>
#include <qd1/machine/json.hpp>

#include <fstream>
#include <string>

using qio_test::Contains;
using namespace qd1_test;

TEST_CASE("env prints the machine and leaves nothing behind") {
  const directory here;
  const outcome found = run_qd1(here, "env .");
  CHECK(found.status == 0);
  CHECK_THAT(found.out,
             Contains("System\n") && Contains("Processor\n") && Contains("Memory\n") && Contains("File system\n"));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("env prints nothing but JSON when JSON goes there") {
  const directory here;
  const auto found = nlohmann::json::parse(run_qd1(here, "env --json -").out);
  CHECK(found.at("machine").get<qd1::machine_facts>().host.kernel);
  CHECK(found.at("advice").is_array());
}

TEST_CASE("env writes a file, or says that it cannot") {
  const directory here;
  CHECK_THAT(run_qd1(here, "env --json machine.json").out, Contains("Processor\n"));
  CHECK(nlohmann::json::parse(std::ifstream(here.path / "machine.json")).contains("machine"));
  const outcome failed = run_qd1(here, "env --json nowhere/at/all.json");
  CHECK(failed.status == 2);
  CHECK_THAT(failed.err, Contains("nowhere/at/all.json: cannot be written"));
}
