// SPDX-License-Identifier: BSL-1.0
// Reports of different systems beside each other. Those in reports/ were made by one machine, on Linux and under Wine,
// and are shortened: no jobs of fio, the name of the kernel.
#include "compare/comparison.hpp"
#include "output/json.hpp"
#include "reported.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;

qd1::report report_in(const std::string& file) { return qd1::read_json(contents(fs::path(QD1_REPORTS) / file), file); }

// The same measurements, as if Windows had been there in Wine's place.
qd1::report as_if_by_windows() {
  qd1::report made = report_in("wine.json");
  made.machine.host.virtualization.emulator.reset();
  return made;
}

TEST_CASE("a report that Wine made is no report of Windows") {
  const qd1::comparison found = qd1::compare(report_in("linux.json"), report_in("wine.json"));
  CHECK(found.status == qd1::exit_invalid);
  CHECK_THAT(found.text, Contains("Emulator of the system: none against Wine 8.0 on Linux (makes ratios meaningless)"));
  CHECK_THAT(found.text, Contains("no verdict: the environments differ too much"));
  CHECK_THAT(found.text, !Contains(" -> "));
  CHECK(qd1::compare(report_in("wine.json"), report_in("wine.json")).status == qd1::exit_pass);
}

TEST_CASE("that it is Wine that answers is said before all else") {
  const auto advice = qd1::advise(report_in("wine.json").machine);
  REQUIRE_FALSE(advice.empty());
  CHECK(advice.front().finding == "this is Wine 8.0 on Linux, not Windows");
  CHECK(advice.front().severity == qd1::severity::severe);
  for (const auto& each : qd1::advise(as_if_by_windows().machine)) CHECK_THAT(each.finding, !Contains("Wine"));
}

TEST_CASE("a power plan that saves power is advised against") {
  const auto advice_on = [](const char* plan) {
    qd1::report run = as_if_by_windows();
    run.machine.host.cpu.power_plan = plan;
    std::string findings;
    for (const auto& each : qd1::advise(run.machine)) findings += each.finding + '\n';
    return findings;
  };
  CHECK_THAT(advice_on("balanced"), Contains("the power plan is balanced"));
  CHECK_THAT(advice_on("power saver"), Contains("the power plan is power saver"));
  CHECK_THAT(advice_on("high performance"), !Contains("power plan"));
}

TEST_CASE("of reports of two systems it is said what differs, then what is comparable") {
  const std::string text = qd1::compare(report_in("linux.json"), as_if_by_windows()).text;
  const auto at = [&](const char* part) {
    INFO(part);
    CHECK_THAT(text, Contains(part));
    return text.find(part);
  };
  const std::size_t first_series = at("direct read, blocking");
  CHECK(at("System, kernel: Linux") < first_series);
  CHECK(at("against Windows NT 10.0.") < first_series);
  CHECK(at("File system, type: ext4 against NTFS") < first_series);
  CHECK(at("engine of asynchronous operations: io_uring against iocp") < first_series);
  CHECK_THAT(text, Contains("direct read, blocking, 1 MiB: no verdict: direct was verified in only one of the runs"));
  CHECK_THAT(text, Contains("cached read, blocking, 1 MiB: ") && !Contains("cached read, blocking, 1 MiB: no verdict"));
  CHECK_THAT(text, Contains("served by io_uring against iocp"));
}

TEST_CASE("a report of this system is compared with one of another") {
  const reported here;
  const fs::path reports = QD1_REPORTS;
  const std::string own = contents(here.path / "report.json");
  const bool by_linux =
      nlohmann::json::parse(own).at("qio").at("machine").at("host").at("kernel").get<std::string>().starts_with(
          "Linux");
  fs::copy_file(reports / (by_linux ? "wine.json" : "linux.json"), here.path / "other.json");
  const outcome found = run_qd1(here, "compare other.json report.json --html both.html");
  CHECK_THAT(found.out, Contains("Differences between the environments") && Contains("System, kernel: "));
  CHECK_THAT(found.out, Contains("engine of asynchronous operations: "));
  CHECK_THAT(contents(here.path / "both.html"), Contains("<svg"));
}

}  // namespace
