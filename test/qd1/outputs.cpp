// SPDX-License-Identifier: BSL-1.0
// No output of qd1 destroys what it measures, what it reads, or another output.
#include "program.hpp"

#include <array>
#include <fstream>
#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;

const std::string reads = "--modes cached --ops read" + brief;

void make_data(const fs::path& path) { std::ofstream(path) << std::string(1 << 20, 'd'); }

// What qd1 prints when it refuses, with exit status 2; or else that it did not.
std::string refusal(const directory& here, const std::string& arguments) {
  const outcome found = run_qd1(here, arguments);
  return found.status == 2 && found.out.empty() ? found.err : "exit status " + std::to_string(found.status);
}

TEST_CASE("no report replaces the file that is measured, by whatever name") {
  const directory here;
  make_data(here.path / "data");
  const std::string before = contents(here.path / "data");
  fs::create_hard_link(here.path / "data", here.path / "second");
  std::error_code failed;
  fs::create_symlink("data", here.path / "link", failed);
  for (const std::string output : {"--json data", "--html ./data", "--csv second", "--json link"}) {
    if (failed && output.ends_with("link")) continue;
    for (const std::string& command :
         {"run data " + reads, std::string("depth data --time 50ms --depths 1 "),
          std::string("memory data --memory 64M --time 50ms "), std::string("reproduce afio-2017 data --time 20ms "),
          std::string("env data ")}) {
      if ((command.starts_with("env") && !output.starts_with("--json")) ||
          (command.starts_with("reproduce") && output.starts_with("--csv")))
        continue;  // which they do not have
      INFO(command << output);
      CHECK_THAT(refusal(here, command + output), Contains("would replace what PATH names (data)"));
    }
  }
  if (!failed) CHECK_THAT(refusal(here, "run link --json data " + reads), Contains("would replace what PATH names"));
  CHECK(contents(here.path / "data") == before);
  CHECK_THAT(refusal(here, "run ./new --json new " + reads), Contains("would replace what PATH names (./new)"));
  CHECK_FALSE(fs::exists(here.path / "new"));
}

TEST_CASE("no output replaces another, nor an input") {
  const directory here;
  CHECK_THAT(refusal(here, "run --json o --html o " + reads),
             Contains("--json: o would replace what --html names (o)"));
  CHECK_THAT(refusal(here, "run --json - --html - " + reads),
             Contains("--json: - would replace what --html names (-)"));
  CHECK_THAT(refusal(here, "run --json o --turns o " + reads), Contains("would replace what --turns names"));
  CHECK_THAT(refusal(here, "run --hgrm p --json p-x.hgrm " + reads), Contains("--hgrm: p would replace what --json"));
  fs::create_directories(here.path / "d/s");
  CHECK_THAT(refusal(here, "run --fio d --json d/s/fio.json " + reads), Contains("--fio: d would replace what --json"));
  fs::remove_all(here.path / "d");
  CHECK(fs::is_empty(here.path));

  REQUIRE(run_qd1(here, "run --json a --csv table " + reads).status == 0);
  REQUIRE(run_qd1(here, "run --json b " + reads).status == 0);
  const std::string before = contents(here.path / "a");
  CHECK_THAT(refusal(here, "compare a b --html a"), Contains("--html: a would replace what REPORT names (a)"));
  CHECK_THAT(refusal(here, "merge a b --json ./b"), Contains("--json: ./b would replace what REPORT names (b)"));
  CHECK_THAT(refusal(here, "run --gate-vs a \"p50<=9x\" --json a " + reads), Contains("what --gate-vs names (a)"));
  CHECK(contents(here.path / "a") == before);
  CHECK(run_qd1(here, "compare a b --html page").status != 2);
}

TEST_CASE("an empty name is refused, not taken for the current directory") {
  const directory here;
  for (const char* each : {"run \"\" ", "depth \"\" ", "watch \"\" --count 1 ", "memory \"\" ", "env \"\" "}) {
    INFO(each);
    CHECK_THAT(refusal(here, each), Contains("PATH: the name is empty; for the current directory, write ."));
  }
  CHECK_THAT(refusal(here, "run --json \"\" " + reads), Contains("--json: the name is empty"));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("what is refused leaves nothing behind") {
  const directory here;
  for (const char* each : {"mapped.p50<=1s", "p51<=1s"}) {
    INFO(each);
    CHECK(run_qd1(here, "run --fio out/deep --gate \"" + std::string(each) + "\" " + reads).status == 2);
    CHECK(fs::is_empty(here.path));
  }
  CHECK(run_qd1(here, "run --fio out/deep " + reads).status == 0);
  CHECK(fs::is_directory(here.path / "out/deep"));
  std::ofstream(here.path / "file") << 'x';
  CHECK_THAT(refusal(here, "run --fio file/deep " + reads), Contains("file/deep: "));
}

}  // namespace
