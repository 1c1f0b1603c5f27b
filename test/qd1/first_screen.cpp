// SPDX-License-Identifier: BSL-1.0
// What a person sees of qd1 first: help, corrections of typing errors, progress, and a table that fits the screen.
#include "measure/progress.hpp"
#include "measure/rounds.hpp"
#include "output/closing.hpp"
#include "output/summary.hpp"
#include "output/table.hpp"
#include "output/watched.hpp"
#include "output/wording.hpp"
#include "program.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

struct columns {
  explicit columns(const char* wanted) { os::set_environment("COLUMNS", wanted); }
  columns(const columns&) = delete;
  columns& operator=(const columns&) = delete;
  ~columns() { os::set_environment("COLUMNS", "100"); }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  return found;
}

// Columns of the widest line: bytes that continue a character have none.
std::size_t width_of(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string& line : lines_of(text)) {
    const auto continuation = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
    const auto bytes = static_cast<std::size_t>(std::ranges::count_if(line, continuation));
    widest = std::max(widest, line.size() - bytes);
  }
  return widest;
}

qd1::series series_of(qd1::mode mode, qd1::form form, qd1::operation operation, qd1::durability durability) {
  qd1::series made;
  made.work.mode = mode;
  made.work.form = form;
  made.work.operation = operation;
  made.work.durability = durability;
  made.work.working_set = std::uint64_t(1) << 30;
  made.latency.samples = 1'000'000;
  made.latency.percentiles = {{0.5, 6, qd1::estimate{50'620, {}}}, {0.99, 368, qd1::estimate{1'234'567, {}}}};
  made.iops = 10'000;
  made.steady = true;
  return made;
}

// The usual eighteen series.
qd1::report usual_report() {
  using qd1::durability, qd1::operation;
  qd1::report made;
  for (const qd1::mode mode : {qd1::mode::direct, qd1::mode::cached, qd1::mode::mapped})
    for (const auto& [what, until] :
         {std::pair{operation::read, durability::accepted}, std::pair{operation::write, durability::accepted},
          std::pair{operation::write, durability::flushed}})
      for (const qd1::form form : {qd1::form::blocking, qd1::form::asynchronous})
        made.series.push_back(series_of(mode, form, what, until));
  return made;
}

// The same with something to say of each.
qd1::report troubled_report() {
  qd1::report made = usual_report();
  for (int each = 0; each < 12; ++each)
    made.advice.push_back({each < 3 ? qd1::severity::severe : qd1::severity::warning,
                           "a setting of this machine affects the results, number " + std::to_string(each),
                           "why",
                           {}});
  for (std::size_t each = 0; each < made.series.size(); ++each) {
    qd1::series& one = made.series[each];
    one.steady = false;
    one.unsettled =
        "its median rose by " + std::to_string(each) + " % during the run, which is more than chance explains";
    one.verification.result = qd1::verification::verdict::unknown;
    one.verification.text = "direct could not be verified: other I/O on vda, or the file system's own: written " +
                            std::to_string(each * 1'000) + " bytes for 1,000 of this process; device ops 1 / app 2";
    one.notes = {"NOT WARM: " + std::to_string(each) + " bytes were read from devices, which is too many of them",
                 "another remark: of each series, with text enough to fill more than one line of any terminal"};
  }
  made.notes = {"reads only: a file exists and was not made by qd1; writing to it needs --overwrite"};
  return made;
}

TEST_CASE("the usual run prints one table that fits a screen of 80 columns and 24 lines, with the prompt") {
  const columns as_wide("80");
  for (const qd1::report& each : {usual_report(), troubled_report()}) {
    const std::string text = qd1::summary(each);
    INFO(text);
    CHECK(lines_of(text).size() <= 23);
    CHECK(width_of(text) <= 80);
  }
}

TEST_CASE("reads, writes and flushed writes stand side by side, a row for each mode and form") {
  const columns as_wide("80");
  const std::string text = qd1::summary(usual_report());
  INFO(text);
  CHECK_THAT(text, Contains("Random 4 KiB, queue depth 1, within 1 GiB [µs]\n"));
  CHECK_THAT(unbroken(text), Contains(" reads writes flushed writes p50 p99 p50 p99 p50 p99 "));
  for (const char* mode : {"direct", "cached", "mapped"})
    for (const char* form : {"blocking", "async"})
      CHECK_THAT(unbroken(text), Contains(std::string(mode) + ' ' + form + " 50.62 1235 50.62 1235 50.62 1235 "));
  CHECK_THAT(text, Contains("A blocking read takes, at the median: ") && Contains("All 18 series are valid."));
  CHECK_THAT(text, !Contains("not steady") && !Contains("not verified"));
}

TEST_CASE("what is not steady or not verified is marked, and what is invalid has no figure") {
  const columns as_wide("80");
  qd1::report report = usual_report();
  report.series[0].steady = false;
  report.series[1].verification.result = qd1::verification::verdict::unknown;
  report.series[4].notes = {"durable could not be verified: vda completed 3 flushes for 1,000 flushed writes"};
  report.series[6].invalid = {"65 536 bytes are holes"};
  const std::string text = unbroken(qd1::summary(report));
  INFO(text);
  CHECK_THAT(text, Contains("direct blocking 50.62~ 1235 50.62 1235 50.62? 1235 "));
  CHECK_THAT(text, Contains("direct async 50.62? 1235"));
  CHECK_THAT(text, Contains("cached blocking INVALID 50.62 1235"));
  CHECK_THAT(text, Contains("~ not steady ? not verified"));
  CHECK_THAT(text, Contains("- cached read, blocking, 1 GiB: INVALID: 65 536 bytes are holes"));
}

TEST_CASE("at most five notes are printed, those that say the same of several series as one") {
  const columns as_wide("100");
  const std::string text = qd1::summary(troubled_report());
  INFO(text);
  const std::vector<std::string> lines = lines_of(text);
  CHECK(std::ranges::count_if(lines, [](const std::string& each) { return each.starts_with("- "); }) <= 5);
  CHECK_THAT(text, Contains("- 18 series: direct could not be verified: ") && Contains("- severe: a setting"));
  CHECK_THAT(text, Contains(" more notes, intervals, other percentiles: --details\n"));
  qd1::report quiet = usual_report();
  CHECK_THAT(qd1::summary(quiet), !Contains("\n- ") && Contains("--details\n"));
}

TEST_CASE("on a narrow terminal the kinds of work stand below each other") {
  const columns as_wide("60");
  for (const qd1::report& each : {usual_report(), troubled_report()}) {
    const std::string text = qd1::summary(each);
    INFO(text);
    CHECK(width_of(text) <= 60);
    CHECK_THAT(text, Contains("reads") && Contains("flushed writes"));
    CHECK(width_of(qd1::table(each)) <= 60);
    CHECK(width_of(qd1::provisional_table(1, 20, each.series)) <= 60);
  }
}

TEST_CASE("60 columns hold for what is printed") {
  const columns as_wide("60");
  const directory here;
  const std::string some = " --file-size 1M --time 50ms --rounds 2 ";
  for (const std::string& each :
       {"run --modes cached,mapped --json a" + some, "run --details --modes cached --json b" + some,
        "depth --modes cached --depths 1,2" + some, "run --profile mix" + some, std::string("merge a b"),
        std::string("watch --modes cached --count 30 --interval 1ms --file-size 1M"), std::string("--help"),
        std::string("run --help"), std::string("help depth")}) {
    const outcome found = run_qd1(here, each);
    INFO(each << '\n' << found.out << found.err);
    CHECK(width_of(found.out) <= 60);
  }
}

// Commands that users copy stay whole.
std::size_t width_but_of_commands(const std::string& text) {
  std::string others;
  for (const std::string& each : lines_of(text))
    if (each.find(" $ ") == std::string::npos) others += each + '\n';
  return width_of(others);
}

TEST_CASE("60 columns hold for env, compare, reproduce, memory and run --detect", "[nightly]") {
  const columns as_wide("60");
  const directory here;
  const std::string some = " --file-size 1M --time 50ms ";
  for (const char* each : {"a", "b"})
    REQUIRE(run_qd1(here, "run --modes cached --rounds 8 --json " + std::string(each) + some).status == 0);
  for (const std::string& each :
       {std::string("env"), std::string("compare a b"), "reproduce afio-2017" + some,
        std::string("reproduce afio-2017 --dry-run"), std::string("memory --memory 64M --modes cached --time 50ms"),
        "run ./c ./d --detect 50% --modes cached --ops read --rounds 3" + some}) {
    const outcome found = run_qd1(here, each);
    INFO(each << '\n' << found.out << found.err);
    if (!each.starts_with("memory") || found.status != 2) CHECK_FALSE(found.out.empty());
    CHECK(width_but_of_commands(found.out) <= 60);
  }
}

TEST_CASE("lines that are too long are broken between words, and keep their columns") {
  const columns as_wide("60");
  const std::string figures = "    p50         47.134 ->     44.903 µs    ";
  CHECK(qd1::narrowed(figures + "inconclusive\n\nshort\n") == figures + "inconclusive\n\nshort\n");
  CHECK(qd1::narrowed(figures + "inconclusive: 3 of 8 lack it\n") ==
        figures + "inconclusive: 3\n        of 8 lack it\n");
  const std::string one_word(80, 'w');
  CHECK(qd1::narrowed("  " + one_word + " and\n") == "  " + one_word + "\n      and\n");
}

TEST_CASE("a run prints the summary, and all of each series with --details") {
  const directory here;
  const std::string ask = "run --modes cached --ops read --file-size 1M --time 50ms --rounds 2";
  const outcome brief = run_qd1(here, ask), full = run_qd1(here, ask + " --details");
  CHECK(brief.status == 0);
  CHECK_THAT(brief.out, Contains("cached   blocking") && Contains("cached   async") && !Contains("p99.999"));
  CHECK_THAT(full.out, Contains("IOPS") && Contains("engine") && Contains("p99.999"));
}

TEST_CASE("a mistyped option gets a suggestion, as a mistyped command does") {
  const directory here;
  for (const auto& [typed, expected] : std::array<std::pair<const char*, const char*>, 6>{
           {{"run --mods cached", "qd1 run has no option --mods; did you mean --modes? See qd1 run --help"},
            {"run -modes cached", "qd1 run has no option -modes; did you mean --modes?"},
            {"depth --detph=4", "qd1 depth has no option --detph; did you mean --depths?"},
            {"compare a b --hmtl x", "qd1 compare has no option --hmtl; did you mean --html?"},
            {"run --nothing-like-it", "qd1 run has no option --nothing-like-it. See qd1 run --help"},
            {"--verison", "qd1 has no option --verison; did you mean --version? See qd1 --help"}}}) {
    const outcome found = run_qd1(here, typed);
    INFO(typed << '\n' << found.out << found.err);
    CHECK(found.status == 2);
    CHECK(found.out.empty());
    CHECK_THAT(found.err, Contains(expected));
  }
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("qd1 help is qd1 --help, also of a command") {
  const directory here;
  for (const auto& [typed, same] :
       std::array<std::pair<const char*, const char*>, 2>{{{"help", "--help"}, {"help depth", "depth --help"}}}) {
    const outcome found = run_qd1(here, typed);
    CHECK(found.status == 0);
    CHECK(found.out == run_qd1(here, same).out);
  }
  CHECK_THAT(run_qd1(here, "help dpeth").err, Contains("did you mean the command depth?"));
}

TEST_CASE("first figures come after ten seconds, if no round is complete by then") {
  qd1::showing slow;
  CHECK_FALSE(slow.is_due_within(0, 9.9));
  CHECK(slow.is_due_within(0, 10.1));
  CHECK_FALSE(slow.is_due_within(0, 20));
  CHECK(slow.is_due_after(1));
  CHECK(slow.is_due_after(2));
  CHECK_FALSE(slow.is_due_after(3));
  CHECK(slow.is_due_after(4));
  qd1::showing fast;
  CHECK(fast.is_due_after(1));
  CHECK_FALSE(fast.is_due_within(1, 11));
  CHECK_THAT(qd1::provisional_table(0, 20, usual_report().series),
             Contains("Provisional, within the first of 20 rounds [µs]"));
}

TEST_CASE("progress has the time that is left, and fits the line that it replaces") {
  CHECK(qd1::progress::part_text("writing 1 GiB of data", 0, 100, 0) == "writing 1 GiB of data: 0 %");
  CHECK(qd1::progress::part_text("writing 1 GiB of data", 25, 100, 2) == "writing 1 GiB of data: 25 %, 6 s left");
  CHECK(qd1::progress::fitting("12 µs left", 4) == "12 µ");
  CHECK(qd1::progress::fitting("12 µs", 5) == "12 µs");
  CHECK(qd1::progress::fitting("12 µs", 80) == "12 µs");
}

TEST_CASE("transfers that are watched several times a second have times that differ") {
  qd1::watched_transfer seen;
  seen.number = 3;
  seen.ns = 50'620;
  CHECK(qd1::line_of(seen, 1'000, 0.2) == "    3  00:00:01.000Z       50.62 µs\n");
  CHECK(qd1::line_of(seen, 1'200, 0.2) == "    3  00:00:01.200Z       50.62 µs\n");
  CHECK(qd1::line_of(seen, 1'200, 1) == "    3  00:00:01Z       50.62 µs\n");
}

}  // namespace
