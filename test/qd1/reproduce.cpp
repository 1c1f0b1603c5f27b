// Published experiments, repeated.
#include "figures.hpp"
#include "machine/counters.hpp"
#include "machine/find.hpp"
#include "output/reproduction.hpp"
#include "program.hpp"
#include "reproduce/experiment.hpp"
#include "reproduce/judging.hpp"
#include "reproduce/loads.hpp"
#include <qio/qio.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using verdict = qd1::shape::verdict;

const std::string quick = " --time 200ms --file-size 4M ";

nlohmann::json repeated(const directory& here, const std::string& arguments) {
  const outcome found = run_qd1(here, "reproduce --json report.json " + arguments + quick);
  INFO(found.out << found.err);
  REQUIRE(found.status == 0);
  CHECK_THAT(found.out, Contains("What repeats:") && Contains("What cannot be compared here:"));
  return nlohmann::json::parse(contents(here.path / "report.json")).at("qio_experiment");
}

// By the words of its claim.
nlohmann::json shape_of(const nlohmann::json& experiment, const std::string& claim) {
  for (const auto& each : experiment.at("shapes"))
    if (each.at("claim").get<std::string>().find(claim) != std::string::npos) return each;
  FAIL("no shape says: " << claim);
  return {};
}

std::vector<std::string> origins(const nlohmann::json& table) {
  std::vector<std::string> found;
  for (const auto& row : table.at("rows")) found.push_back(row.at("origin"));
  return found;
}

bool has_direct(const directory& here) {
  return run_qd1(here, "run --modes direct --reads warm --time 10ms --rounds 1 --file-size 1M").status == 0;
}

TEST_CASE("the figures of 2017 stand beside true ones, and its mistake is refused", "[nightly]") {
  const directory here;
  if (!has_direct(here)) QIO_SKIP("no direct I/O here");
  const auto found = repeated(here, "afio-2017 --html report.html");
  CHECK_THAT(found.at("warning").get<std::string>(), Contains("withdrawn"));
  const auto latencies = origins(found.at("tables").at(0));
  CHECK(std::vector(latencies.begin(), latencies.begin() + 3) ==
        std::vector<std::string>{"withdrawn", "corrected", "here"});
  const auto mistake = shape_of(found, "they fail at once");
  CHECK(mistake.at("verdict") == "held");
  CHECK_THAT(mistake.at("evidence").get<std::string>(), Contains("is not a multiple of"));
  CHECK(shape_of(found, "qd1 refuses to measure them").at("verdict") == "held");
  const auto& part = found.at("parts").at(1);
  CHECK(part.at("unchecked").at("failed").get<double>() > part.at("unchecked").at("calls").get<double>() / 2);
  CHECK(part.at("report").at("qio").at("valid") == false);
  const std::string page = contents(here.path / "report.html");
  CHECK_THAT(page, Contains("What repeats") && Contains("withdrawn") && Contains("Measurements"));
}

TEST_CASE("loads on one drive are compared with the device's own counts", "[nightly]") {
  const directory here;
  if (!has_direct(here)) QIO_SKIP("no direct I/O here");
  if (qd1::count(qd1::find_machine(here.path.string())).devices.empty())
    QIO_SKIP("no device under it counts operations");
  for (const std::string name : {"11m-iops", "two-kernels"}) {
    const auto found = repeated(here, name);
    CHECK(shape_of(found, "what the application counts").at("verdict") == "held");
    CHECK(shape_of(found, "drives add up").at("verdict") == "cannot be told");
    CHECK(found.at("parts").size() >= 2);
  }
}

TEST_CASE("drives that are one drive do not add up, and what they share is named", "[nightly]") {
  const directory here;
  if (!has_direct(here)) QIO_SKIP("no direct I/O here");
  const auto found = repeated(here, "20m-iops");
  CHECK(found.at("parts").at(0).at("report").at("qio").at("settings").at("targets").size() == 2);
  CHECK_THAT(shape_of(found, "the sum of each alone").at("evidence").get<std::string>(),
             Contains("scaling efficiency"));
}

TEST_CASE("reads of what fits into memory, and of what does not, are compared with the published ones", "[nightly]") {
  const directory here;
  const outcome done = run_qd1(here, "reproduce buffered-memory --time 300ms --file-size 96M --json report.json");
  INFO(done.out << done.err);
  if (done.status == 2) QIO_SKIP("memory cannot be made short here: " + done.out);
  const auto found = nlohmann::json::parse(contents(here.path / "report.json")).at("qio_experiment");
  CHECK(shape_of(found, "again at memory's speed").at("verdict") != "cannot be told");
  CHECK(shape_of(found, "throttled once it is short").at("verdict") != "cannot be told");
  CHECK(found.at("tables").at(0).at("rows").size() == 18);
}

qd1::series measured(double iops) {
  qd1::series made;
  made.work.load.depth = 32;
  made.latency.samples = 1000;
  made.iops = iops;
  made.verification.application_operations = 1000;
  return made;
}

// Of a file of 1 GiB, so of 256 MiB of memory.
qd1::reproduction read_through(const std::vector<double>& mebibytes_in_memory) {
  qd1::reproduction of;
  of.parts.push_back({std::string(qd1::buffered), "", {}});
  of.parts.front().found.series.push_back(measured(1000));
  qd1::series& series = of.parts.front().found.series.front();
  series.work.working_set = std::uint64_t(1) << 30;
  for (const double mebibytes : mebibytes_in_memory) {
    qd1::slice& next = series.slices.emplace_back();
    next.seconds = 1;
    next.operations = mebibytes < 250 ? 1000 : 400;
    next.cached_pages =
        static_cast<std::uint64_t>(mebibytes * 0x1p20 / static_cast<double>(qio::platform::page_size()));
  }
  return of;
}

TEST_CASE("buffered reads that slow down when memory is full are distinguished from those that do not") {
  qd1::reproduction of = read_through({60, 120, 180, 250, 250});
  CHECK(qd1::decayed(of, "").result == verdict::held);
  for (qd1::slice& each : of.parts.front().found.series.front().slices) each.operations = 1000;
  CHECK(qd1::decayed(of, "").result == verdict::not_held);
  CHECK(qd1::decayed(read_through({60, 120, 180, 190}), "").result == verdict::not_told);  // never full
  CHECK(qd1::decayed(read_through({180, 250, 250}), "").result == verdict::not_told);      // at once
  CHECK(qd1::decayed(qd1::reproduction(), "").result == verdict::not_told);
}

// The judgment of 11m-iops on buffered reads with the read-ahead of the device, and without.
qd1::shape read_ahead_judged(const std::vector<std::pair<std::string_view, double>>& bytes_per_second, bool allowed,
                             std::uint64_t read_ahead_kib = 128) {
  qd1::resources with;
  with.allow_tuning = allowed;
  with.machines.emplace_back().devices.emplace_back().name = "nvme0n1";
  with.machines.front().devices.front().read_ahead_kib = read_ahead_kib;
  qd1::reproduction of;
  for (const auto& [name, speed] : bytes_per_second) {
    of.parts.push_back({std::string(name), "", {}});
    of.parts.back().found.series.push_back(measured(1000));
    of.parts.back().found.series.back().bytes_per_second = speed;
  }
  qd1::experiment_named("11m-iops").judge(with, of);
  for (const qd1::shape& each : of.shapes)
    if (each.claim.starts_with("without read-ahead")) return each;
  FAIL("no shape is about read-ahead");
  return {};
}

TEST_CASE("buffered reads without read-ahead are judged by what they have with it") {
  CHECK(read_ahead_judged({{qd1::buffered, 6e9}, {qd1::without_read_ahead, 4e9}}, true).result == verdict::held);
  CHECK(read_ahead_judged({{qd1::buffered, 6e9}, {qd1::without_read_ahead, 7e9}}, true).result == verdict::not_held);
  const qd1::shape half = read_ahead_judged({{qd1::buffered, 6e9}}, true);
  CHECK(half.result == verdict::not_told);
  CHECK_THAT(half.evidence, Contains("not both of them were measured"));
  const qd1::shape not_asked = read_ahead_judged({{qd1::buffered, 6e9}}, false);
  CHECK(not_asked.result == verdict::not_told);
  CHECK_THAT(not_asked.evidence, Contains("nvme0n1 reads 128 KiB ahead") && Contains("--allow-tuning") &&
                                     Contains("echo 0 > /sys/block/nvme0n1/queue/read_ahead_kb"));
  CHECK_THAT(read_ahead_judged({}, true, 0).evidence, Contains("nothing is read ahead here"));
}

TEST_CASE("what would be done is said, and not done") {
  const directory here;
  for (const qd1::experiment* each : qd1::experiments()) {
    const outcome found = run_qd1(here, "reproduce --dry-run --file-size 96M " + std::string(each->about.name));
    CHECK(found.status == 0);
    CHECK_THAT(unbroken(found.out),
               Contains(" measurements, about ") && Contains(" MiB of data: each makes new files"));
  }
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("of an experiment that was interrupted at once there is a report with nothing in it") {
  const auto found = nlohmann::json::parse(qd1::json(qd1::reproduction())).at("qio_experiment");
  for (const char* each : {"plan", "incomparable", "tables", "shapes", "parts"}) CHECK(found.at(each).is_array());
}

TEST_CASE("an experiment that nobody published is refused with the names of those that are there") {
  const directory here;
  const outcome found = run_qd1(here, "reproduce nothing");
  CHECK(found.status == 2);
  CHECK_THAT(found.err, Contains("nothing: no such experiment; there are afio-2017, 11m-iops"));
}

TEST_CASE("a part that cannot be measured says why, and the others are measured") {
  const directory here;
  if (!has_direct(here)) QIO_SKIP("no direct I/O here");
  std::ofstream(here.path / "small", std::ios::binary) << std::string(512 * 1024, 'x');
  const outcome done = run_qd1(here, "reproduce two-kernels small --time 200ms --json report.json");
  INFO(done.out << done.err);
  CHECK(done.status == 0);
  const auto found = nlohmann::json::parse(contents(here.path / "report.json")).at("qio_experiment").at("parts");
  CHECK(found.at(0).at("not_measured") == "");
  CHECK(found.at(0).at("report").at("qio").at("series").size() >= 1);
  CHECK_THAT(found.at(1).at("not_measured").get<std::string>(),
             Contains("small: has 524288 bytes; 1048576 are needed"));
  CHECK(found.at(1).at("report").is_null());
  CHECK_THAT(done.out, Contains("one drive, 1 MiB: not measured: small: has 524288 bytes"));
}

TEST_CASE("a shape holds within its bounds, and cannot be told of what was not measured") {
  CHECK(qd1::held_within("", 1.5, 1, 2, "").result == verdict::held);
  CHECK(qd1::held_within("", 2.5, 1, 2, "").result == verdict::not_held);
  CHECK(qd1::held_within("", std::nullopt, 1, 2, "").result == verdict::not_told);
}

TEST_CASE("cycles are those that the processors count, else those of the time stamp counter, and it says so") {
  qd1::report run;
  run.clock.tick_ns = 0.5;
  qd1::series of = measured(1000);
  const auto cycles = [&] { return qd1::load_row("", &of, &run).cells.at(4); };
  CHECK(cycles() == "–");
  of.cpu_ns = 4000;
  CHECK(cycles() == "8000 (TSC)");
  run.clock.reason = "no counter";
  CHECK(cycles() == "–");
  of.cycles = 8666.4;
  CHECK(cycles() == "8666");
}

TEST_CASE("published figures stand in the columns of the same figures measured here") {
  qd1::report run;
  qd1::series of = measured(1000);
  of.cycles = 8666.4;
  const std::vector<std::string> columns = qd1::load_columns();
  const auto place = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
  };
  const auto told = qd1::told_row("", "1 × 32", {{"cycles", "8666"}, {"iops", "450000"}});
  const auto here = qd1::load_row("", &of, &run);
  REQUIRE(told.cells.size() == columns.size());
  REQUIRE(here.cells.size() == columns.size());
  CHECK(told.cells[0] == "1 × 32");
  CHECK(told.cells.at(place("cycles/op")) == "8666");
  CHECK(here.cells.at(place("cycles/op")) == "8666");
  CHECK(told.cells.at(place("IOPS")) == "450000");
  CHECK(told.cells.at(place("busy")).empty());
  for (const qd1::figure& each : qd1::figures_of_series())
    if (each.in_experiments)
      CHECK(std::ranges::any_of(columns, [&](const std::string& heading) { return heading.starts_with(each.label); }));
}

TEST_CASE("what the experiments tell is named as the registry of figures names it") {
  CHECK_THROWS_WITH(qd1::told_row("", "", {{"IOPS", "1"}}), Contains("'IOPS' has no column"));
}

TEST_CASE("a split is judged by max_sectors_kb") {
  qd1::reproduction of;
  of.parts.push_back({"large", "", {}});
  qd1::report& run = of.parts.front().found;
  run.series.push_back(measured(1000));
  run.series.front().work.block = 1 << 20;
  run.series.front().verification.device_operations = 2030;
  run.machine.devices.push_back({});
  run.machine.devices.front().largest_transfer_kib = 512;
  CHECK(qd1::split_at_most(of, "large").result == verdict::held);
  run.series.front().verification.device_operations = 1000;
  CHECK(qd1::split_at_most(of, "large").result == verdict::not_held);
  run.machine.devices.front().largest_transfer_kib = 1024;
  CHECK(qd1::split_at_most(of, "large").result == verdict::not_told);
}

TEST_CASE("figures that the device does not confirm are named") {
  qd1::reproduction of;
  CHECK(qd1::reconciled(of).result == verdict::not_told);
  of.parts.push_back({"small", "", {}});
  of.parts.front().found.series.push_back(measured(1000));
  qd1::verification& facts = of.parts.front().found.series.front().verification;
  facts.result = qd1::verification::verdict::verified;
  CHECK(qd1::reconciled(of).result == verdict::held);
  facts.result = qd1::verification::verdict::unknown;
  CHECK(qd1::reconciled(of).result == verdict::not_told);
  facts.result = qd1::verification::verdict::refuted;
  facts.text = "NOT direct";
  const qd1::shape found = qd1::reconciled(of);
  CHECK(found.result == verdict::not_held);
  CHECK_THAT(found.evidence, Contains("NOT direct"));
}

}  // namespace
