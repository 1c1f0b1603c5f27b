// SPDX-License-Identifier: BSL-1.0
// qd1 watch: what it prints, what it refuses, and that it harms nobody's files.
#include "catch.hpp"
#include "output/watched.hpp"
#include "platform/file.hpp"
#include "program.hpp"

#include <array>
#include <fstream>
#include <regex>
#include <string>

namespace {

using qio_test::Contains;
using namespace qd1_test;

const std::string quickly = " --interval 1ms --file-size 1M ";

// The numbers of the transfers that were printed, with a space after each.
std::string numbers(const std::string& printed) {
  static const std::regex line(
      " *([0-9]+)  [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{3})?Z +[0-9]+[.]?[0-9]* µs(  outlier: .*)?");
  std::istringstream lines(printed);
  std::string found;
  for (std::string each; std::getline(lines, each);)
    if (std::smatch match; std::regex_match(each, match, line)) found += match[1].str() + ' ';
  return found;
}

TEST_CASE("a watch prints a line for each transfer, then all of them together, and leaves nothing behind") {
  const directory here;
  const outcome found = run_qd1(here, "watch --modes cached --count 12" + quickly);
  INFO(found.out << found.err);
  CHECK(found.status == 0);
  CHECK(numbers(found.out) == "1 2 3 4 5 6 7 8 9 10 11 12 ");
  CHECK_THAT(found.out, Contains("cached read of 4 KiB, warm every 0.001 s") && Contains("within 1 MiB of"));
  CHECK_THAT(found.out, Contains("12 transfers in ") && Contains("min ") && Contains(", p50 ") && Contains(", mean ") &&
                            Contains("max ") && Contains(" IOPS, "));
  CHECK_THAT(unbroken(found.out), Contains("p99 n/a (needs 368)"));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("a watch prints no percentile without the samples for it") {
  const directory here;
  CHECK_THAT(run_qd1(here, "watch --modes cached --count 5" + quickly).out, Contains("p50 n/a (needs 6)"));
}

TEST_CASE("a watch of direct reads prints whether they reached the device") {
  const directory here;
  const outcome found = run_qd1(here, "watch --count 3" + quickly);
  if (found.status == 2 && found.err.find("direct is not available") != std::string::npos) QIO_SKIP("no direct I/O");
  INFO(found.out << found.err);
  CHECK_THAT(unbroken(found.out), Contains("direct read of 4 KiB every") && Contains("app 3"));
}

TEST_CASE("a watch reads a stranger's file, and writes to it only if that is permitted") {
  const directory here;
  std::ofstream(here.path / "precious") << std::string(1 << 20, 's');
  const std::string before = contents(here.path / "precious");
  CHECK(run_qd1(here, "watch precious --modes cached --count 3 --interval 1ms").status == 0);
  CHECK(contents(here.path / "precious") == before);
  for (const char* each : {"cached", "direct", "mapped", "uncached"}) {
    const outcome refused =
        run_qd1(here, "watch precious --ops write --count 3 --interval 1ms --modes " + std::string(each));
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, Contains("precious exists and was not made by qd1") && Contains("--overwrite"));
    CHECK(refused.out.empty());
    CHECK(contents(here.path / "precious") == before);
  }
  CHECK(run_qd1(here, "watch precious --ops write --overwrite --modes cached --count 3 --interval 1ms").status == 0);
  CHECK(contents(here.path / "precious") != before);
}

TEST_CASE("a watch keeps and uses again a file that it made") {
  const directory here;
  CHECK(run_qd1(here, "watch ./data --modes cached --count 1" + quickly).status == 0);
  const std::string path = (here.path / "data").string();
  CHECK(fs::file_size(path) == 1 << 20);
  if (!qd1::platform::is_made_by_qd1(path)) QIO_SKIP("the file system keeps no marks");
  const std::string before = contents(path);
  for (const char* each : {"accepted", "flushed"}) {
    const outcome found =
        run_qd1(here, "watch data --modes cached --ops write --count 3 --interval 1ms --writes " + std::string(each));
    INFO(found.out << found.err);
    CHECK(found.status == 0);
    CHECK_THAT(found.out, Contains(std::string("cached write of 4 KiB, ") + each) && Contains("3 transfers"));
    CHECK(contents(path) != before);
    CHECK(qd1::platform::is_made_by_qd1(path));
  }
}

TEST_CASE("a watch refuses what it cannot do before it writes or prints anything") {
  const directory here;
  struct refused {
    const char* arguments;
    const char* because;
  };
  for (const auto& [arguments, because] : std::array<refused, 9>{
           {{"--modes fast", "'fast'"},
            {"--modes direct,cached", "'direct,cached'"},
            {"--ops trim", "'trim'"},
            {"--interval 0", "'0'"},
            {"--count 0", "'0'"},
            {"--file-size 10000", "10000 is not a multiple of the block"},
            {"--file-size 1M --modes mapped --ops write --writes through", "cannot be written through"},
            {"--file-size 1M --modes mapped --reads cold", "--modes cached"},
            {"dpeth", "did you mean the command depth?"}}}) {
    const outcome found = run_qd1(here, std::string("watch ") + arguments);
    INFO(arguments << '\n' << found.out << found.err);
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains(because));
    CHECK(found.out.empty());
    CHECK(fs::is_empty(here.path));
  }
}

TEST_CASE("a transfer is an outlier by the median of those before it, once there are enough") {
  constexpr std::uint64_t usual = 100'000'000, slow = 6 * usual;  // picoseconds
  qd1::watched all;
  CHECK_FALSE(qd1::record(all, usual).times_usual);
  CHECK_FALSE(qd1::record(all, slow).times_usual);
  while (all.latencies.samples() < qd1::enough_for_outliers) qd1::record(all, usual);
  CHECK_FALSE(qd1::record(all, 4 * usual).times_usual);
  const qd1::watched_transfer seen = qd1::record(all, slow);
  REQUIRE(seen.times_usual);
  CHECK(*seen.times_usual > 5.9);
  CHECK(*seen.times_usual < 6.1);
  CHECK(seen.number == 12);
  CHECK(all.outliers == 1);
  CHECK_THAT(qd1::line_of(seen, 0, 1), Contains("00:00:00Z       600.0 µs  outlier: 6 x median"));
  CHECK_THAT(qd1::line_of(seen, 1'200, 0.2), Contains("00:00:01.200Z       600.0 µs"));
  CHECK_THAT(qd1::summary_text(all), Contains("1 outlier: longer than 5 x"));
}

TEST_CASE("a watch prints that a drive may sleep between transfers, unless it may not") {
  qd1::watch_subject of;
  of.machine.devices.emplace_back().name = "nvme0n1";
  CHECK_THAT(qd1::heading(of), !Contains("save power"));
  of.machine.devices[0].wake_up_limit = "100000";
  CHECK_THAT(unbroken(qd1::heading(of)), Contains("nvme0n1 may save power") && Contains("up to 100000 µs"));
  of.machine.devices[0].wake_up_limit = "any";
  CHECK_THAT(unbroken(qd1::heading(of)), Contains("waking it up may take any time"));
  of.machine.devices[0].wake_up_limit = "0";
  CHECK_THAT(qd1::heading(of), !Contains("save power"));
}

TEST_CASE("intervals that passed without a transfer are reported") {
  qd1::watched all;
  qd1::record(all, 1000);
  CHECK_THAT(qd1::summary_text(all), !Contains("without a transfer"));
  all.missed = 3;
  CHECK_THAT(qd1::summary_text(all), Contains("3 intervals without a transfer"));
}

}  // namespace
