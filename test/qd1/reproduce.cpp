// Published experiments, repeated.
#include "program.hpp"
#include "reproduce/experiment.hpp"
#include "reproduce/judging.hpp"
#include "reproduce/loads.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace {

using Catch::Matchers::Contains;
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

TEST_CASE("the figures of 2017 stand beside true ones, and its mistake is refused") {
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

TEST_CASE("loads on one drive are held against the device's own counts") {
  const directory here;
  if (!has_direct(here)) QIO_SKIP("no direct I/O here");
  for (const std::string name : {"11m-iops", "two-kernels"}) {
    const auto found = repeated(here, name);
    CHECK(shape_of(found, "what the application counts").at("verdict") != "did not hold");
    CHECK(shape_of(found, "drives add up").at("verdict") == "cannot be told");
    CHECK(found.at("parts").size() >= 2);
  }
}

TEST_CASE("drives that are one drive do not add up, and what they share is named") {
  const directory here;
  if (!has_direct(here)) QIO_SKIP("no direct I/O here");
  const auto found = repeated(here, "20m-iops");
  CHECK(found.at("parts").at(0).at("report").at("qio").at("settings").at("targets").size() == 2);
  CHECK_THAT(shape_of(found, "the sum of each alone").at("evidence").get<std::string>(),
             Contains("scaling efficiency"));
}

TEST_CASE("reads of what fits into memory, and of what does not, are held against the published ones") {
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

TEST_CASE("buffered reads that lose when memory is full are told from those that do not") {
  qd1::reproduction of;
  of.parts.push_back({std::string(qd1::buffered), "", {}});
  of.parts.front().found.series.push_back(measured(1000));
  std::vector<qd1::slice>& course = of.parts.front().found.series.front().slices;
  for (const std::uint64_t pages : {100u, 200u, 250u, 300u, 300u, 300u}) {
    course.emplace_back();
    course.back().seconds = 1;
    course.back().operations = pages < 300 ? 1000 : 400;
    course.back().cached_pages = pages;
  }
  CHECK(qd1::decayed(of, "").result == verdict::held);
  for (qd1::slice& each : course) each.operations = 1000;
  CHECK(qd1::decayed(of, "").result == verdict::not_held);
  course.erase(course.begin(), course.begin() + 2);  // nearly full from the first second on
  CHECK(qd1::decayed(of, "").result == verdict::not_told);
}

TEST_CASE("what would be done is said, and not done") {
  const directory here;
  for (const qd1::experiment* each : qd1::experiments()) {
    const outcome found = run_qd1(here, "reproduce --dry-run --file-size 8M " + std::string(each->about.name));
    CHECK(found.status == 0);
    CHECK_THAT(found.out, Contains(", about ") && Contains("Written: 8 MiB of data"));
  }
  CHECK(fs::is_empty(here.path));
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
  const auto found = nlohmann::json::parse([&] {
                       const outcome done =
                           run_qd1(here, "reproduce two-kernels --time 100ms --file-size 1M --json - . .");
                       REQUIRE(done.status == 0);
                       return done.out;
                     }())
                         .at("qio_experiment");
  CHECK(found.at("parts").size() == 4);  // a file of 1 MiB has one block of 1 MiB
}

TEST_CASE("a shape holds within its bounds, and cannot be told of what was not measured") {
  CHECK(qd1::held_within("", 1.5, 1, 2, "").result == verdict::held);
  CHECK(qd1::held_within("", 2.5, 1, 2, "").result == verdict::not_held);
  CHECK(qd1::held_within("", std::nullopt, 1, 2, "").result == verdict::not_told);
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
  facts.result = qd1::verification::verdict::refuted;
  facts.text = "NOT direct";
  const qd1::shape found = qd1::reconciled(of);
  CHECK(found.result == verdict::not_held);
  CHECK_THAT(found.evidence, Contains("NOT direct"));
}

}  // namespace
