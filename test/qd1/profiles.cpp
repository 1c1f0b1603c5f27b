// SPDX-License-Identifier: BSL-1.0
// Profiles: what CrystalDiskMark and KDiskMark measure.
#include "depth/profiles.hpp"

#include "compare/gate.hpp"
#include "figures.hpp"
#include "findings/profile_rows.hpp"
#include "html/html.hpp"
#include "output/closing.hpp"
#include "output/profile.hpp"
#include "program.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

const std::string short_profile = " --file-size 16M --time 100ms --rounds 2 ";

// "SEQ1M Q8T1 100": name, and how many per cent read.
std::vector<std::string> loads_of(const char* name) {
  std::vector<std::string> found;
  for (const qd1::planned_load& each : qd1::loads_of(*qd1::profile_named(name))) {
    CHECK(each.work.mode == qd1::mode::direct);
    CHECK(each.work.form == qd1::form::asynchronous);
    found.push_back(qd1::mark_name(each.work) + " " + std::to_string(static_cast<int>(each.reads * 100)));
  }
  return found;
}

TEST_CASE("the profiles have the rows of the tools that they are from") {
  CHECK(loads_of("default") == std::vector<std::string>{"SEQ1M Q8T1 100", "SEQ1M Q1T1 100", "RND4K Q32T1 100",
                                                        "RND4K Q1T1 100", "SEQ1M Q8T1 0", "SEQ1M Q1T1 0",
                                                        "RND4K Q32T1 0", "RND4K Q1T1 0"});
  const auto mix = loads_of("mix");
  REQUIRE(mix.size() == 12);
  CHECK(std::equal(mix.begin(), mix.begin() + 8, loads_of("default").begin()));
  CHECK(std::vector(mix.begin() + 8, mix.end()) ==
        std::vector<std::string>{"SEQ1M Q8T1 70", "SEQ1M Q1T1 70", "RND4K Q32T1 70", "RND4K Q1T1 70"});
}

TEST_CASE("rows are named by order, block, depth and threads") {
  qd1::work work;
  CHECK(qd1::mark_name(work) == "RND4K Q1T1");
  work.block = 128 << 10;
  work.load.depth = 32;
  work.load.workers = 16;
  work.load.order = qd1::order::sequential;
  CHECK(qd1::mark_name(work) == "SEQ128K Q32T16");
  work.block = 512;
  work.load.order = qd1::order::zipf;
  CHECK(qd1::mark_name(work) == "ZIPF512B Q32T16");
}

// As if it had been measured: the n-th series has n * 100 MB/s.
qd1::report made_report(const char* profile) {
  qd1::report made;
  made.settings.profile = profile;
  const auto add = [&](qd1::work work, qd1::operation what, double share) {
    work.operation = what;
    work.load.share = share;
    work.working_set = 1 << 30;
    qd1::series& added = made.series.emplace_back();
    added.work = work;
    added.bytes_per_second = static_cast<double>(made.series.size()) * 100e6;
    added.iops = added.bytes_per_second / static_cast<double>(work.block);
    added.latency.samples = 1'000;
    added.latency.min = added.latency.max = 1e5;
    added.latency.bins = {{1e5, 1'000}};
    added.latency.mean = {1e5, {}};
    for (const double each : {0.5, 0.99}) added.latency.percentiles.push_back({each, 100, qd1::estimate{1e5, {}}});
  };
  for (const qd1::planned_load& each : qd1::loads_of(*qd1::profile_named(profile))) {
    if (each.reads > 0) add(each.work, qd1::operation::read, each.reads);
    if (each.reads < 1) add(each.work, qd1::operation::write, 1 - each.reads);
  }
  return made;
}

TEST_CASE("the rows of a profile stand in groups of what reads, what writes and what does both") {
  const qd1::report run = made_report("mix");
  const auto groups = qd1::profile_groups(run);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].title == "Read");
  CHECK(groups[1].title == "Write");
  CHECK(groups[2].title == "Mix, 70 % reads");
  for (const auto& each : groups) {
    REQUIRE(each.rows.size() == 4);
    CHECK(each.rows[2].name == "RND4K Q32T1");
    for (const auto& row : each.rows) CHECK(row.parts.size() == (&each == &groups[2] ? 2 : 1));
  }
}

TEST_CASE("of a mix the table has what both kinds do together, and each") {
  const std::string text = unbroken(qd1::profile_block(made_report("mix")));
  CHECK_THAT(text, Contains("Profile mix: direct, within 1 GiB"));
  // The first row that mixes has the ninth and the tenth series.
  CHECK_THAT(text, Contains("SEQ1M Q8T1 1900 1812 reads 900.0 858 ") && Contains(" writes 1000 954 "));
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto continuation = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
    most =
        std::max(most, line.size() - static_cast<std::size_t>(std::count_if(line.begin(), line.end(), continuation)));
  }
  return most;
}

TEST_CASE("throughput and operations per second stay in a profile's table however narrow it is") {
  const qd1::report run = made_report("mix");
  for (const std::size_t columns : {60u, 80u, 100u}) {
    os::set_environment("COLUMNS", std::to_string(columns));
    const std::string text = qd1::profile_block(run);
    os::set_environment("COLUMNS", "");
    CHECK(widest(text) <= columns);
    CHECK_THAT(text, Contains("MB/s") && Contains("IOPS") && Contains("p50") && Contains("p99"));
  }
}

TEST_CASE("a profile ends with the most that its rows reach") {
  const std::string text = unbroken(qd1::verdict_text(made_report("default")));
  CHECK_THAT(text, Contains("Reads reach 400.0 MB/s (RND4K Q1T1) and 97656 operations per second (RND4K Q1T1)"));
  CHECK_THAT(text, Contains("writes reach 800.0 MB/s (RND4K Q1T1)") && Contains("All 8 series are valid."));
}

TEST_CASE("the page of a profile has its rows by name, with MB/s") {
  const std::string page = qd1::html::render(made_report("mix"));
  CHECK_THAT(page, Contains("What this storage reads and writes per second") && Contains("profile mix"));
  CHECK_THAT(page, Contains("SEQ1M Q8T1") && Contains("RND4K Q32T1, writes") && Contains("Mix, 70 % reads"));
  CHECK_THAT(page, Contains("data-label=\"MB/s\"") && Contains("<b>1900</b>"));
}

TEST_CASE("the page of a profile has the columns that the registry of figures gives to loads") {
  qd1::report run = made_report("default");
  std::string page = qd1::html::render(run);
  for (const qd1::figure& each : qd1::figures_of_series())
    if (each.in_loads == qd1::visibility::always && each.on_page == qd1::page_table::figures)
      CHECK_THAT(page, Contains(fmt::format("data-label=\"{}\"", each.label)));
  CHECK_THAT(page, Contains("data-label=\"p99.9\"") && !Contains("data-label=\"p95\""));
  // Other percentiles if they were asked for.
  run.settings.percentiles = {0.5, 0.95};
  page = qd1::html::render(run);
  CHECK_THAT(page, Contains("data-label=\"p95\"") && !Contains("data-label=\"p99.9\""));
}

TEST_CASE("a profile is measured by one command, with every format", "[nightly]") {
  const directory here;
  const outcome found = run_qd1(here, "run --profile mix --json report.json --html report.html --csv report.csv" +
                                          short_profile + "--gate \"SEQ1M.Q8T1.read.MB/s>=0\"");
  INFO(found.out << found.err);
  const auto report = nlohmann::json::parse(contents(here.path / "report.json")).at("qio");
  const auto& series = report.at("series");
  CHECK(report.at("settings").at("profile") == "mix");
  REQUIRE(series.size() == 16);
  CHECK(series.at(0).at("work").at("block") == 1 << 20);
  CHECK(series.at(0).at("work").at("load").at("depth") == 8);
  CHECK(series.at(0).at("work").at("load").at("order") == "sequential");
  CHECK(series.at(2).at("work").at("block") == 4096);
  CHECK(series.at(2).at("work").at("load").at("depth") == 32);
  CHECK(series.at(8).at("work").at("load").at("share") == 0.7);
  std::set<std::string> lines;
  std::istringstream table(contents(here.path / "report.csv"));
  for (std::string line; std::getline(table, line);) lines.insert(line.substr(0, line.find('"', 1)));
  CHECK(lines.size() == 17);
  CHECK_THAT(found.out, Contains("SEQ1M Q8T1") && Contains("RND4K Q32T1") && Contains("Mix, 70 % reads"));
  CHECK_THAT(contents(here.path / "report.html"), Contains("RND4K Q32T1"));
  if (const std::string why = series.at(0).at("not_available"); !why.empty()) QIO_SKIP("no direct I/O here: " + why);
  CHECK_THAT(found.out, Contains(" SEQ1M.Q8T1.read.MB/s>=0: "));
  const outcome compared = run_qd1(here, "compare report.json report.json");
  CHECK_THAT(compared.out, Contains("1 MiB blocks") && Contains("depth 32"));
}

TEST_CASE("a gate on a row is about it alone and in a mix, unless it names one of both") {
  const qd1::report run = made_report("mix");
  const auto count = [&](const char* gate) { return qd1::check(qd1::parse_gate(gate), run).size(); };
  CHECK(count("SEQ1M.Q8T1.MB/s>=0") == 4);
  CHECK(count("SEQ1M.Q8T1.read.MB/s>=0") == 2);
  CHECK(count("SEQ1M.Q8T1.read.mix.MB/s>=0") == 1);
  CHECK(count("SEQ1M.Q8T1.read.unmixed.MB/s>=0") == 1);
  CHECK(count("sequential.iops>=0") == 8);
}

TEST_CASE("a gate on a row that a profile does not have is refused before anything is measured") {
  const directory here;
  const auto refused = [&](const std::string& gate) {
    return run_qd1(here, "run --profile default --file-size 1M --time 1h --gate \"" + gate + "\"").status == 2;
  };
  CHECK(refused("RND8K.iops>=1"));
  CHECK(refused("Q9T1.iops>=1"));
  CHECK(refused("mix.iops>=1"));  // has none
  CHECK(refused("RND4K.Q8T1.iops>=1"));
  CHECK(refused("zipf.iops>=1"));
}

TEST_CASE("what contradicts a profile is refused by name") {
  const directory here;
  for (const std::string option :
       {"--modes cached", "--ops read", "--block 4k", "--order random", "--order zipf --zipf-theta 2", "--reads cold",
        "--writes flushed", "--advice random", "--working-set 1M", "--rate 10", "--rate 10 --poisson", "--samples 9"}) {
    const outcome found = run_qd1(here, "run --profile default --time 1h --file-size 1M " + option);
    INFO(option << '\n' << found.err);
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains(option.substr(0, option.find(' ')) +
                                   " cannot be given with --profile, which decides what is measured"));
    CHECK(found.out.empty());
  }
  CHECK_THAT(run_qd1(here, "run --profile fast").err, Contains("--profile: 'fast' is not one of default, mix"));
  CHECK_THAT(run_qd1(here, "run --profile default --file-size 1000000").err,
             Contains("1000000 is not a multiple of the block, 1048576"));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("a profile only reads a stranger's file") {
  const directory here;
  std::ofstream(here.path / "precious") << std::string(16 << 20, 's');
  const std::string before = contents(here.path / "precious");
  const outcome found = run_qd1(here, "run --profile default precious --json report.json --time 50ms --rounds 2");
  INFO(found.out << found.err);
  const auto series = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series");
  CHECK(series.size() == 4);
  for (const auto& each : series) CHECK(each.at("work").at("operation") == "read");
  CHECK_THAT(unbroken(found.out), Contains("reads only: precious exists and was not made by qd1"));
  CHECK(contents(here.path / "precious") == before);
}

TEST_CASE("a quick profile is labeled") {
  const directory here;
  const outcome found = run_qd1(here, "run --quick --profile default --time 20ms --rounds 1 --json report.json");
  CHECK_THAT(found.out, Contains("QUICK"));
  const auto settings = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("settings");
  CHECK(settings.at("file_size") == 64 << 20);
  CHECK(settings.at("block") == 0);
}

}  // namespace
