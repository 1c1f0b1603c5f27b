// SPDX-License-Identifier: BSL-1.0
// qd1 env, as its users call it.
#include "catch.hpp"
#include "fake_tree.hpp"

#include <nlohmann/json.hpp>
#include <qd1/machine/json.hpp>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

using Catch::Matchers::Contains;

namespace {

struct outcome {
  int status;
  std::string out;
};

outcome qd1_env(const std::string& arguments) {
  std::FILE* const pipe = ::popen(("'" QD1_PROGRAM "' env " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  std::array<char, 4096> part;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe)) out.append(part.data(), got);
  return {WEXITSTATUS(::pclose(pipe)), out};
}

}  // namespace

TEST_CASE("env prints the machine and leaves nothing behind") {
  const qd1_test::fake_tree here;
  const outcome found = qd1_env("'" + here.root() + "'");
  CHECK(found.status == 0);
  CHECK_THAT(found.out,
             Contains("System\n") && Contains("Processor\n") && Contains("Memory\n") && Contains("File system\n"));
  CHECK(std::filesystem::is_empty(here.root()));
}

TEST_CASE("env prints nothing but JSON when JSON goes there") {
  const auto found = nlohmann::json::parse(qd1_env("--json -").out);
  CHECK(found.at("machine").get<qd1::machine_facts>().host.kernel);
  CHECK(found.at("advice").is_array());
}

TEST_CASE("env writes a file, or says that it cannot") {
  const qd1_test::fake_tree here;
  const std::string file = here.root() + "/machine.json";
  CHECK_THAT(qd1_env("--json '" + file + "'").out, Contains("Processor\n"));
  CHECK(nlohmann::json::parse(std::ifstream(file)).contains("machine"));
  const outcome failed = qd1_env("--json /nowhere/at/all.json");
  CHECK(failed.status == 2);
  CHECK_THAT(failed.out, Contains("/nowhere/at/all.json: cannot be written"));
}
