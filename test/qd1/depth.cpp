// Loads: many transfers in flight.
#include "depth/findings.hpp"
#include "depth/ledger.hpp"
#include "findings/ladders.hpp"
#include "html/html.hpp"
#include "measure/clock.hpp"
#include "output/json.hpp"
#include "output/ladder.hpp"
#include "output/report_text.hpp"
#include "output/table.hpp"
#include "platform/hardware_cycles.hpp"
#include "program.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

qd1::series step(std::uint64_t workers, std::uint64_t depth, double iops) {
  qd1::series made;
  made.work.form = qd1::form::asynchronous;
  made.work.load.workers = workers;
  made.work.load.depth = depth;
  made.latency.samples = 1'000'000;
  made.latency.mean.value = static_cast<double>(workers * depth) / iops * 1e9;
  made.latency.bins = {{made.latency.mean.value, 1'000'000}};
  made.iops = iops;
  return made;
}

const std::string quick = " --file-size 1M --time 200ms --rounds 2 ";

nlohmann::json series_of(const directory& here, const std::string& arguments) {
  const outcome found = run_qd1(here, "depth --json report.json " + arguments);
  INFO(found.out << found.err);
  REQUIRE(found.status == 0);
  return nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series");
}

TEST_CASE("the knee is the least depth with nine tenths of the most") {
  qd1::report run;
  run.series = {step(1, 4, 91'000), step(1, 1, 20'000), step(1, 16, 100'000),
                step(1, 2, 40'000), step(2, 1, 30'000), step(2, 2, 60'000)};
  const auto ladders = qd1::ladders_of(run);
  REQUIRE(ladders.size() == 1);
  CHECK(ladders.front().front()->work.load.depth == 1);  // in order, whatever theirs was
  const auto knees = qd1::knees_of(ladders.front());
  REQUIRE(knees.size() == 2);
  CHECK(knees[0].at->work.load.depth == 4);
  CHECK(knees[0].best->work.load.depth == 16);
  CHECK(knees[1].at == knees[1].best);
}

// As versions wrote it that did not store the kind, nor a checksum.
std::string of_an_earlier_version(const qd1::report& run) {
  auto written = nlohmann::json::parse(qd1::json(run));
  for (const char* each : {"kind", "checksum", "runs"}) written.at("qio").erase(each);
  return written.dump();
}

TEST_CASE("a report stores its kind, and one of an earlier version has that of its series") {
  qd1::report run;
  run.series.resize(2);
  run.series[1].work.operation = qd1::operation::write;  // no two are of the same work
  for (const qd1::report_kind each : qd1::all_values<qd1::report_kind>()) {
    run.kind = each;
    CHECK(qd1::read_json(qd1::json(run), "written").kind == each);
    CHECK(qd1::read_json(of_an_earlier_version(run), "old").kind == qd1::report_kind::run);
  }
  run.series[1].work.load.depth = 4;
  CHECK(qd1::read_json(of_an_earlier_version(run), "old").kind == qd1::report_kind::depth);
  run.series[0].work.memory = 1 << 26;
  CHECK(qd1::read_json(of_an_earlier_version(run), "old").kind == qd1::report_kind::memory);

  auto unknown = nlohmann::json::parse(of_an_earlier_version(run));
  unknown.at("qio")["kind"] = "flight";
  unknown.at("qio")["checksum"] = qd1::checksum_of(unknown.at("qio"));
  CHECK_THROWS_WITH(qd1::read_json(unknown.dump(), "new"), Contains("flight"));
}

TEST_CASE("a report without a series can be printed and drawn, whatever its kind") {
  for (const qd1::report_kind each : qd1::all_values<qd1::report_kind>()) {
    qd1::report run;
    run.kind = each;
    CHECK_THAT(qd1::table(run), Contains("Nothing could be measured."));
    CHECK_THAT(qd1::html::render(run), Contains("</html>"));
  }
}

TEST_CASE("a ladder of one step with one transfer in flight is a report of loads") {
  const directory here;
  const outcome found =
      run_qd1(here, "depth --modes cached --depths 1 --json report.json --html report.html --file-size 1M --time 50ms");
  INFO(found.out << found.err);
  CHECK(found.status == 0);
  CHECK(nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("kind") == "depth");
  CHECK_THAT(contents(here.path / "report.html"), Contains("File I/O with many operations in flight"));
}

TEST_CASE("targets together are compared with the sum of each alone") {
  qd1::report run;
  for (const std::uint64_t only : {0u, 1u}) {
    run.series.push_back(step(1, 8, 50'000));
    run.series.back().work.load.only = only;
  }
  run.series.push_back(step(1, 8, 60'000));
  run.series.back().work.load.targets = 2;
  CHECK(qd1::scaling_efficiency(run, run.series.back()) == 0.6);
  CHECK_FALSE(qd1::scaling_efficiency(run, run.series.front()));
  run.series.erase(run.series.begin());
  CHECK_FALSE(qd1::scaling_efficiency(run, run.series.back()));
}

TEST_CASE("figures that Little's law contradicts are named") {
  qd1::series sound = step(2, 16, 100'000);
  CHECK(qd1::contradiction({sound}).empty());
  sound.latency.mean.value *= 0.3;
  CHECK_THAT(qd1::contradiction({sound}), Contains("9.6 transfers were in flight, not 32"));
}

TEST_CASE("reads and writes of a mix are in flight together") {
  // As many of both, but a write takes three times as long: so three of four transfers in flight are writes.
  qd1::series reads = step(1, 8, 50'000), writes = reads;
  reads.latency.mean.value = 2 / 50'000. * 1e9;
  writes.latency.mean.value = 6 / 50'000. * 1e9;
  CHECK(qd1::contradiction({reads, writes}).empty());
  CHECK_FALSE(qd1::contradiction({reads, reads}).empty());
}

TEST_CASE("transfers that the kernel cuts are named with the limit that cut them") {
  qd1::machine_facts machine;
  machine.devices.emplace_back().name = "disk";
  machine.devices.back().largest_transfer_kib = 512;
  qd1::series large = step(1, 1, 1000);
  large.work.block = 1 << 20;
  large.verification.application_operations = 1000;
  large.verification.device_operations = 2000;
  CHECK_THAT(qd1::split(large, machine), Contains("1 MiB is more than 512 KiB") && Contains("2 device operations"));
  large.work.block = 512 << 10;
  CHECK(qd1::split(large, machine).empty());
}

TEST_CASE("a ledger counts what ends within the window") {
  const qd1::clock clock = qd1::clock::calibrated();
  qd1::window window(1);
  const std::uint64_t now = clock.after();
  qd1::ledger early(clock, window, true, 4096);
  window.open(now + clock.ticks(1000), now + clock.ticks(1001));
  early.begin();
  early.record(qd1::operation::read, 0, now, std::size_t(4096));
  CHECK(early.of(qd1::operation::read).started == 1);
  CHECK(early.of(qd1::operation::read).counted == 0);

  qd1::window wide(1);
  wide.open(now, now + clock.ticks(1000));
  qd1::ledger within(clock, wide, true, 4096);
  within.begin();
  within.record(qd1::operation::write, 0, now, std::size_t(4096));
  CHECK(within.of(qd1::operation::write).counted == 1);
  CHECK(within.of(qd1::operation::write).latencies.samples() == 1);
  CHECK(within.of(qd1::operation::write).seconds.size() == 1000);
  CHECK(within.goes_on());
  within.record(qd1::operation::read, 8192, now, std::size_t(100));
  CHECK_FALSE(within.goes_on());
  CHECK(within.failure() == "read at offset 8192 failed: 100 of 4096 bytes were transferred");
}

TEST_CASE("each step of a ladder has its throughput, its latencies and its timeline") {
  const directory here;
  const auto found = series_of(here, "--modes cached --depths 1,8 --workers 1,2" + quick);
  REQUIRE(found.size() == 4);
  for (const auto& each : found) {
    CHECK(each.at("iops") > 0);
    CHECK(each.at("latency").at("samples") > 0);
    CHECK(each.at("latency").at("min_ns") <= each.at("latency").at("max_ns"));
    CHECK(each.at("rounds").size() == 2);
    CHECK(each.at("slices").size() == 2);
    CHECK(each.at("slices").at(0).at("p50_ns") <= each.at("slices").at(0).at("p99_ns"));
  }
  CHECK(found.at(1).at("work").at("load").at("depth") == 8);
  CHECK(found.at(3).at("work").at("load").at("workers") == 2);
}

TEST_CASE("reads and writes of a mix have series of their own") {
  const directory here;
  const auto found = series_of(here, "--modes cached --depths 4 --mix 70" + quick);
  REQUIRE(found.size() == 2);
  const double reads = found.at(0).at("latency").at("samples"), writes = found.at(1).at("latency").at("samples");
  CHECK(found.at(0).at("work").at("operation") == "read");
  CHECK(found.at(1).at("work").at("operation") == "write");
  CHECK(found.at(0).at("work").at("load").at("share") == 0.7);
  CHECK(reads > writes);
  CHECK(writes > 0);
}

TEST_CASE("without the clock there is throughput, and no latency is claimed") {
  const directory here;
  const outcome found = run_qd1(
      here,
      "depth --modes cached --order sequential --depths 8 --no-clock --json report.json --html report.html" + quick);
  INFO(found.out << found.err);
  REQUIRE(found.status == 0);
  const auto series = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series").at(0);
  CHECK(series.at("iops") > 0);
  CHECK(series.at("latency").at("bins_ns").empty());
  for (const auto& each : series.at("latency").at("percentiles")) CHECK(each.at("ns").is_null());
  CHECK_THAT(found.out, Contains("n/a"));
  CHECK_THAT(contents(here.path / "report.html"), Contains("the clock was not read") && !Contains(">fastest<"));
}

TEST_CASE("several targets are used at once, and each alone") {
  const directory here;
  const outcome found =
      run_qd1(here, "depth one two --create --modes cached --depths 4 --alone --json report.json" + quick);
  INFO(found.out << found.err);
  REQUIRE(found.status == 0);
  const auto series = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series");
  REQUIRE(series.size() == 3);
  CHECK(series.at(0).at("work").at("load").at("only") == 0);
  CHECK(series.at(1).at("work").at("load").at("only") == 1);
  CHECK(series.at(2).at("work").at("load").at("targets") == 2);
  CHECK_THAT(found.out, Contains("of two alone") && Contains("scaling efficiency"));
}

TEST_CASE("the ways to wait, to place and to write are taken, and written down") {
  const directory here;
  const auto found =
      series_of(here, "--modes cached --depths 2 --mix 0 --writes through --wait spin --pin --polled" + quick);
  REQUIRE(found.size() == 1);
  CHECK(found.at(0).at("work").at("durability") == "written through");
  CHECK(found.at(0).at("latency").at("samples") > 0);
  const auto pooled = series_of(here, "--modes cached --depths 2 --engine pool --wait spin" + quick);
  CHECK(pooled.at(0).at("service").at("engine") == "pool");
}

TEST_CASE("what was asked for of the engine is had, or it is said why not") {
  const directory here;
  const outcome found =
      run_qd1(here, "depth --modes direct,cached --depths 2 --polled --registered --json report.json" + quick);
  INFO(found.out << found.err);
  const auto series = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series");
  const auto& cached = series.at(1).at("service");
  CHECK(cached.at("lacking").back() == "polled: only transfers of direct files can be");
  CHECK(cached.at("features").size() + cached.at("lacking").size() == 2);
  if (const std::string why = series.at(0).at("not_available"); !why.empty()) QIO_SKIP("no direct files here: " + why);
  const auto& direct = series.at(0).at("service");
  REQUIRE(direct.at("features").size() + direct.at("lacking").size() == 2);
  for (const std::string each : direct.at("features")) CHECK_THAT(found.out, Contains(", " + each));
  for (const std::string each : direct.at("lacking")) CHECK_THAT(found.out, Contains("not " + each.substr(0, 12)));
  const outcome compared = run_qd1(here, "compare report.json report.json");
  CHECK(compared.status == 0);
}

TEST_CASE("cold steps begin without pages, or say why they cannot") {
  const directory here;
  const outcome found = run_qd1(here, "depth --modes cached --depths 2 --reads cold --json report.json" + quick);
  const auto series = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series").at(0);
  if (const std::string why = series.at("not_available"); !why.empty())
    QIO_SKIP("cold reads are unavailable here: " + why);
  CHECK(found.status == 0);
  CHECK(series.at("work").at("temperature") == "cold");
  const std::uint64_t pages = 256;  // of the file
  CHECK(series.at("verification").at("cached_pages_before") <= pages / 100);
}

TEST_CASE("the processors' cycles are counted, also those of threads that are begun later") {
  const qd1::platform::hardware_cycles cycles;
  if (!cycles.why_not().empty()) {
    CHECK_FALSE(cycles.counted());
    QIO_SKIP(cycles.why_not());
  }
  if (!cycles.counted()) QIO_SKIP("the counter is shared with others");
  const std::uint64_t before = cycles.counted().value();
  constexpr int additions = 10'000'000;
  std::thread([] {
    for (volatile int each = 0; each < additions;) each = each + 1;
  }).join();
  const std::uint64_t spent = cycles.counted().value() - before;
  CHECK(spent > additions / 2);
  CHECK(spent < std::uint64_t(additions) * 1000);
}

TEST_CASE("of a ladder there are cycles of the processors, or the reason once") {
  const directory here;
  const outcome found = run_qd1(here, "depth --modes cached --depths 1,2 --json report.json" + quick);
  REQUIRE(found.status == 0);
  const auto report = nlohmann::json::parse(contents(here.path / "report.json")).at("qio");
  const qd1::platform::hardware_cycles cycles;
  const bool counted = cycles.why_not().empty();
  for (const auto& each : report.at("series")) {
    if (counted)
      CHECK(each.at("cycles_per_operation") > 100);
    else
      CHECK(each.at("cycles_per_operation").is_null());
  }
  const std::string text = unbroken(found.out), reason = "no cycles/op: " + cycles.why_not();
  const auto first = text.find(reason);
  CHECK((first == std::string::npos) == counted);
  if (!counted) CHECK(text.find("cycles/op", first + reason.size()) == std::string::npos);
  if (!counted) CHECK(text.find("cycles/op") == first + reason.find("cycles/op"));  // no column of nothing
}

TEST_CASE("cycles have a column where the processors count any") {
  qd1::report run;
  run.series = {step(1, 1, 20'000), step(1, 2, 40'000)};
  CHECK_THAT(qd1::ladder_blocks(run), !Contains("cycles/op"));
  CHECK_THAT(qd1::html::render(run), !Contains("cycles/op"));
  run.series.front().cycles = 8666.4;
  CHECK_THAT(qd1::ladder_blocks(run), Contains("cycles/op") && Contains(" 8666 "));
  CHECK_THAT(qd1::html::render(run), Contains("cycles/op") && Contains("8666"));
}

TEST_CASE("the pages of a ladder say where it bends") {
  const directory here;
  const outcome found =
      run_qd1(here, "depth --modes cached --depths 1,2,4 --html report.html --json report.json" + quick);
  REQUIRE(found.status == 0);
  CHECK_THAT(found.out, Contains("Knee"));
  const std::string page = contents(here.path / "report.html");
  CHECK_THAT(page, Contains("Throughput: what each further transfer in flight gains"));
  CHECK_THAT(page, Contains("class=\"verdict\">"));
  const outcome compared = run_qd1(here, "compare report.json report.json");
  CHECK(compared.status == 0);
  CHECK_THAT(compared.out, Contains("depth 4"));
}

TEST_CASE("loads that cannot be are refused with the number that could") {
  const directory here;
  const auto refused = [&](const std::string& arguments, const std::string& with) {
    const outcome found = run_qd1(here, "depth " + arguments);
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains(with));
  };
  refused("--alone" + quick, "there is only 1 target; name at least two");
  refused("--depths 4096 --block 1M" + quick, "at most 1024 fit");
  refused("--depths 0" + quick, "--depths");
  refused("--mix 101" + quick, "--mix");
  refused("--file-size 1000", "--file-size: 1000 is not a multiple of the block, 4096");
}

TEST_CASE("a report whose load cannot be is no report") {
  const directory here;
  auto report = nlohmann::json::parse(contents(fs::path(QD1_REPORTS) / "linux.json"));
  const auto compare_with = [&](const nlohmann::json& load) {
    for (auto& each : report.at("qio").at("series")) each.at("work")["load"] = load;
    std::ofstream(here.path / "edited.json") << report;
    return run_qd1(here, "compare edited.json edited.json");
  };
  nlohmann::json load = {{"workers", 1},    {"depth", 4},        {"targets", 1},
                         {"only", nullptr}, {"order", "random"}, {"share", 1.}};
  CHECK(compare_with(load).status == 0);
  load["depth"] = 0;
  CHECK_THAT(compare_with(load).err, Contains("depth: 0; at least 1 is needed"));
  load["depth"] = 4;
  load["share"] = 1.5;
  CHECK_THAT(compare_with(load).err, Contains("share: 1.5"));
}

}  // namespace
