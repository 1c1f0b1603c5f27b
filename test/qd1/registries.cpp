// SPDX-License-Identifier: BSL-1.0
// What comes from the tables of qd1: options, formats, figures, modes.
#include "catch.hpp"
#include "commands/commands.hpp"
#include "commands/exporters.hpp"
#include "figures.hpp"
#include "measure/with_mode.hpp"
#include "options/documents.hpp"
#include "options/parse.hpp"
#include "output/closing.hpp"
#include "output/color.hpp"
#include "program.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

std::vector<qd1::command> all_commands() {
  std::vector<qd1::command> all;
  all.reserve(32);
  qd1::add_all_commands(all);
  return all;
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

TEST_CASE("an option means the same in every command that has it") {
  const std::vector<qd1::command> all = all_commands();
  std::set<std::string> seen;
  for (const char* name : {"--block", "--file-size", "--seed", "--overwrite", "--rounds", "--percentiles", "--engine",
                           "--order", "--zipf-theta", "--json", "--html", "--gate", "--gate-vs", "--repeat"}) {
    const qd1::option* first = nullptr;
    for (const qd1::command& command : all)
      for (const qd1::option& each : command.options.all()) {
        if (each.name != name || command.name == "reproduce" || command.name == "env" || command.name == "selftest" ||
            command.name == "compare")
          continue;
        if (first == nullptr) first = &each;
        INFO(command.name << ' ' << name);
        CHECK(each.value == first->value);
        CHECK(each.help == first->help);
        seen.insert(name);
      }
  }
  CHECK(seen.size() == 14);
}

TEST_CASE("an empty list is refused, with the option's name") {
  std::size_t lists = 0;
  for (const qd1::command& command : all_commands())
    for (const qd1::option& each : command.options.all()) {
      if (!each.value.ends_with(",...")) continue;
      ++lists;
      INFO(command.name << ' ' << each.name);
      CHECK_THROWS_WITH(each.take({""}), Contains(each.name + ": the list is empty"));
    }
  CHECK(lists >= 10);
}

TEST_CASE("every command that makes a report has gates and all formats") {
  for (const qd1::command& command : all_commands()) {
    if (command.name != "run" && command.name != "depth" && command.name != "memory" && command.name != "merge")
      continue;
    const auto has = [&](const std::string& name) {
      return std::ranges::any_of(command.options.all(), [&](const qd1::option& each) { return each.name == name; });
    };
    INFO(command.name);
    CHECK(has("--gate"));
    CHECK(has("--gate-vs"));
    CHECK(qd1::exporters().size() >= 5);
    for (const qd1::exporter& each : qd1::exporters()) CHECK(has(each.option));
  }
}

TEST_CASE("help fits a terminal of 80 columns, and names every option") {
  const std::vector<qd1::command> all = all_commands();
  CHECK(widest(qd1::help_text(all)) <= 80);
  for (const qd1::command& command : all) {
    const std::string help = qd1::help_text(command);
    CHECK(widest(help) <= 80);
    CHECK_FALSE(command.options.all().empty());
    for (const qd1::option& each : command.options.all()) CHECK_THAT(help, Contains("  " + each.name));
  }
}

TEST_CASE("the manual page and the completions name every command and option") {
  const std::vector<qd1::command> all = all_commands();
  const std::string page = qd1::manual_page(all);
  CHECK_THAT(page, Contains(".TH QD1 1") && Contains(".SS depth"));
  for (const std::string& text : {qd1::bash_completion(all), qd1::zsh_completion(all), qd1::fish_completion(all)})
    for (const qd1::command& command : all) {
      CHECK_THAT(text, Contains(command.name));
      for (const qd1::option& each : command.options.all())
        if (!each.is_argument()) CHECK_THAT(text, Contains(each.name.substr(2)));
    }
}

TEST_CASE("what cannot be written is refused before anything is measured") {
  const directory here;
  for (const char* option : {"--json nowhere/x", "--html nowhere/x", "--csv nowhere/x", "--hgrm nowhere/x"}) {
    // An hour: it would be noticed.
    const outcome found = run_qd1(here, std::string("run --time 1h --rounds 1 --file-size 1M ") + option);
    INFO(option << '\n' << found.out);
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains("nowhere/x") && Contains("cannot be written"));
    CHECK(found.out.empty());
  }
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("a run that fails leaves no empty report behind, and an older one as it was") {
  const directory here;
  std::ofstream(here.path / "old.json") << "precious";
  CHECK(run_qd1(here, "run nowhere/data --json old.json --html new.html").status == 2);
  CHECK(contents(here.path / "old.json") == "precious");
  CHECK_FALSE(fs::exists(here.path / "new.html"));
}

TEST_CASE("percentiles are for the user to choose", "[nightly]") {
  const directory here;
  const outcome found = run_qd1(
      here, "run --modes cached --ops read --percentiles 90,p99,10 --json report.json --repeat 1 --gate \"p90<=1s\"" +
                counted);
  INFO(found.out << found.err);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("p10 ") && Contains("p50 ") && Contains("p90 ") && !Contains("\np99.9"));
  CHECK_THAT(found.out, Contains("pass p90<=1s"));
  const auto series = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series").at(0);
  const auto& percentiles = series.at("latency").at("percentiles");
  REQUIRE(percentiles.size() == 4);
  CHECK(percentiles.at(0).at("fraction") == 0.1);
  CHECK(percentiles.at(3).at("fraction") == 0.99);
  const outcome compared = run_qd1(here, "compare report.json report.json");
  CHECK_THAT(compared.out, Contains("    p10 ") && Contains("    p90 ") && !Contains("p99.9 "));
  CHECK(run_qd1(here, "run --percentiles 90 --gate \"p95<=1s\"" + small).status == 2);
  CHECK(run_qd1(here, "run --percentiles 100" + small).status == 2);
}

TEST_CASE("the verdict tells reads of different advice apart", "[nightly]") {
  const directory here;
  const outcome found =
      run_qd1(here, "run --modes direct,cached --ops read --advice normal,random,sequential" + counted);
  INFO(found.out << found.err);
  CHECK(found.status == 0);
  CHECK_THAT(unbroken(found.out), Contains("cached (advised random) ") && Contains("cached (advised sequential) ") &&
                                      !Contains("direct (advised"));
}

TEST_CASE("gates decide the exit status of loads, too") {
  const directory here;
  const std::string loads = "depth --modes cached --depths 2 --file-size 1M --time 100ms --rounds 2 --repeat 1 ";
  CHECK(run_qd1(here, loads + "--gate \"p50<=1000s\"").status == 0);
  CHECK(run_qd1(here, loads + "--gate \"iops>=1\"").status == 3);  // two rounds support no interval
  CHECK(run_qd1(here, loads + "--gate \"p50<=1ns\"").status == 1);
}

TEST_CASE("each series is a line of CSV") {
  const directory here;
  CHECK(run_qd1(here, "run --modes cached --csv all.csv" + small).status == 0);
  std::istringstream lines(contents(here.path / "all.csv"));
  std::string head, line;
  std::getline(lines, head);
  CHECK_THAT(head, Contains("series,mode,operation") && Contains(",p99,") && Contains(",iops,"));
  std::size_t count = 0;
  for (; std::getline(lines, line); ++count)
    CHECK(std::ranges::count(line, ',') - 2 * std::ranges::count(line, '"') < std::ranges::count(head, ',') + 1);
  CHECK(count == 6);
}

TEST_CASE("every mode has its type and is named alike") {
  for (const qd1::mode each : qd1::all_values<qd1::mode>()) {
    std::string found;
    qd1::with_mode(each, [&]<class Mode> { found = Mode::name; });
    CHECK(found == name(each));
  }
}

TEST_CASE("uncached reads and writes are measured beside the others") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes direct,uncached --json report.json" + small);
  INFO(found.out << found.err);
  REQUIRE(found.status == 0);
  const auto series = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series");
  std::size_t of_uncached = 0;
  for (const auto& each : series) {
    if (each.at("work").at("mode") != "uncached") continue;
    ++of_uncached;
    CHECK((each.contains("latency") || !each.at("not_available").get<std::string>().empty()));
    CHECK(each.at("work").at("temperature") == "warm");
  }
  CHECK(of_uncached == 6);
}

TEST_CASE("numbers stay whole on 60 and 80 columns", "[nightly]") {
  const directory here;
  for (const int columns : {60, 80}) {
    os::set_environment("COLUMNS", std::to_string(columns));
    const outcome found = run_qd1(here, "run --ops read --advice normal,random" + small);
    const outcome loads = run_qd1(here, "depth --modes cached --depths 1,2 --file-size 1M --time 50ms --rounds 2");
    os::set_environment("COLUMNS", "");
    CHECK(found.status == 0);
    CHECK(widest(found.out) <= static_cast<std::size_t>(columns));
    CHECK(widest(loads.out) <= static_cast<std::size_t>(columns));
    CHECK_THAT(found.out, Contains("cached") && Contains("advised random") && Contains("p99.999"));
    CHECK_THAT(loads.out, Contains("IOPS"));
  }
}

TEST_CASE("a run ends with a verdict of two sentences and the path of its page") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes cached,mapped --html page.html" + small);
  const std::string line = unbroken(found.out);
  const auto verdict = line.find("A blocking read takes, at the median: ");
  REQUIRE(verdict != std::string::npos);
  // On a busy machine, series may be not steady.
  const bool is_judged = line.find("series are valid.", verdict) != std::string::npos ||
                         line.find(" not steady", verdict) != std::string::npos;
  CHECK(is_judged);
  CHECK(line.find("page.html", verdict) != std::string::npos);
}

TEST_CASE("the verdict counts the series that are invalid, not available or not steady") {
  qd1::report run;
  run.series.resize(3);
  const auto verdict = [&run] { return unbroken(qd1::verdict_text(run)); };
  CHECK_THAT(verdict(), Contains("All 3 series are valid."));
  run.series[0].invalid = {"text"};
  run.series[1].not_available = "text";
  CHECK_THAT(verdict(), Contains("Of 3 series: 1 INVALID, 1 not available."));
  run.series[2].latency.samples = 1;
  run.series[2].steady = true;
  CHECK_THAT(verdict(), Contains("Of 3 series: 1 INVALID, 1 not available."));
  run.series[2].steady = false;
  CHECK_THAT(verdict(), Contains("Of 3 series: 1 INVALID, 1 not available, 1 not steady."));
  run.series[2].verification.result = qd1::verification::verdict::unknown;
  run.complete = false;
  CHECK_THAT(verdict(), Contains("1 not steady, 1 with direct not verified, the run was interrupted."));
}

TEST_CASE("what several series share is said once") {
  qd1::report run;
  for (const qd1::mode each : {qd1::mode::cached, qd1::mode::mapped}) {
    qd1::series& added = run.series.emplace_back();
    added.work.mode = each;
    added.notes = {"a note of both", std::string("of ") + std::string(name(each))};
  }
  const std::string text = unbroken(qd1::shared_remarks(run));
  CHECK_THAT(text, Contains("a note of both (2 series: cached read") && Contains("mapped read"));
  CHECK_THAT(text, !Contains("of cached") && !Contains("of mapped"));
}

TEST_CASE("provisional results come after the first round, where they are asked for") {
  const directory here;
  const outcome found = run_qd1(here, "run --modes cached --ops read --progress" + small);
  CHECK(found.status == 0);
  CHECK_THAT(found.err, Contains("at most") && Contains("Provisional, after 1 of 5 rounds") &&
                            Contains("after 4 of 5 rounds") && Contains(" left: cached read, blocking"));
  CHECK_THAT(found.out, !Contains("Provisional"));
}

TEST_CASE("a quick run is labeled") {
  const directory here;
  const outcome found = run_qd1(here, "run --quick --modes cached --ops read --time 50ms --json report.json");
  CHECK_THAT(found.out, Contains("QUICK"));
  const auto settings = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("settings");
  CHECK(settings.at("rounds") == 10);
  CHECK(settings.at("seconds") == 0.05);
  CHECK(settings.at("file_size") == 64 << 20);
}

TEST_CASE("the words that matter have a color") {
  CHECK_THAT(qd1::with_colors("an INVALID series"), Contains("an \033[1;31mINVALID\033[0m series"));
}

TEST_CASE("figures are found by the names that gates use") {
  qd1::series of;
  of.iops = 1000;
  of.bytes_per_second = 4e6;
  CHECK(qd1::metric(of, "iops")->value == 1000);
  CHECK(qd1::metric(of, "MB/s")->value == 4);
  CHECK_FALSE(qd1::metric(of, "p50"));
  CHECK_THROWS_WITH(qd1::require_metric("p51"), Contains("p99.9") && Contains("iops"));
  qd1::require_metric("p51", {0.5, 0.51});
  for (const qd1::figure& each : qd1::figures_of_series()) CHECK(qd1::figure_named(each.name) == &each);
}

}  // namespace
