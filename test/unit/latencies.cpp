// Histograms of latencies: what their numbers are, and as text.
#include "catch.hpp"
#include <qio/latencies.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using qio::detail::latency_bins;
using std::chrono::nanoseconds;

qio::latency_histogram of(const std::vector<std::uint64_t>& times) {
  const auto counts = std::make_unique<qio::detail::latency_counts>();
  for (const std::uint64_t ns : times) counts->record(ns);
  return qio::latency_histogram(*counts);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has_line(const std::string& text, const std::string& wanted) {
  for (const std::string& line : lines_of(text))
    if (line == wanted) return true;
  return false;
}

}  // namespace

TEST_CASE("each duration has one bin, which is less than 1/32 wider than its lower end") {
  for (std::size_t bin = 0; bin + 1 < latency_bins::count; ++bin) {
    const std::uint64_t low = latency_bins::lower_end(bin), next = latency_bins::lower_end(bin + 1);
    REQUIRE(next > low);
    REQUIRE(latency_bins::index_of(low) == bin);
    REQUIRE(latency_bins::index_of(next - 1) == bin);
    REQUIRE((next - 1 - low) * 32 <= low);
  }
  CHECK(latency_bins::index_of(~std::uint64_t(0)) == latency_bins::count - 1);
}

TEST_CASE("percentiles of a histogram are bins that have the durations") {
  std::vector<std::uint64_t> times;
  for (std::uint64_t each = 1; each <= 1000; ++each) times.push_back(each * 1000);
  const qio::latency_histogram found = of(times);
  CHECK(found.count() == 1000);
  CHECK(found.sum() == 500'500us);
  CHECK(found.mean() == 500'500ns);
  const auto contains = [](const qio::latency_histogram::range& range, nanoseconds time) {
    return range.low <= time && time <= range.high;
  };
  CHECK(contains(found.percentile(50), 500us));
  CHECK(contains(found.percentile(99), 990us));
  CHECK(contains(found.percentile(99.9), 999us));
  CHECK(contains(found.percentile(0), 1us));
  CHECK(contains(found.percentile(-1), 1us));
  CHECK(contains(found.percentile(100), 1ms));
  CHECK(contains(found.percentile(200), 1ms));
}

TEST_CASE("a histogram of nothing has no percentiles") {
  const qio::latency_histogram none;
  CHECK(none.count() == 0);
  CHECK(none.mean() == 0ns);
  CHECK(none.percentile(99).high == 0ns);
  CHECK(none.hgrm().find("Total count    =            0") != std::string::npos);
}

TEST_CASE("histograms add and subtract without loss") {
  qio::latency_histogram both = of({1000, 2000});
  both += of({2000, 50'000'000});
  CHECK(both.count() == 4);
  CHECK(both.sum() == 50'005us);
  both -= of({1000, 2000});
  CHECK(both.count() == 2);
  CHECK(both.sum() == 50'002us);
  unsigned bins = 0;
  both.for_each([&](const qio::latency_histogram::range& bin, std::uint64_t count) {
    ++bins;
    CHECK(count == 1);
    CHECK(bin.low <= bin.high);
  });
  CHECK(bins == 2);
}

TEST_CASE("a histogram counts what took at most as long as a limit") {
  const qio::latency_histogram found = of({10, 20, 30, 1'000'000});
  CHECK(found.count_up_to(9ns) == 0);
  CHECK(found.count_up_to(10ns) == 1);
  CHECK(found.count_up_to(29ns) == 2);
  CHECK(found.count_up_to(1s) == 4);
}

TEST_CASE("a histogram as hgrm text has the shares of all bins, the mean and the largest") {
  const std::vector<std::string> lines = lines_of(of({10, 10, 10, 50}).hgrm());
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "       Value     Percentile TotalCount 1/(1-Percentile)");
  CHECK(lines[1].empty());
  CHECK(lines[2] == "       0.010 0.750000000000          3           4.00");
  CHECK(lines[3] == "       0.050 1.000000000000          4");
  CHECK(lines[4] == "#[Mean    =        0.020, StdDeviation   =        0.017]");
  CHECK(lines[5] == "#[Max     =        0.050, Total count    =            4]");
}

TEST_CASE("statistics as Prometheus's text have a line for each bucket, the sum and the count") {
  qio::latency_statistics statistics;
  statistics.took[0][1] = of({900, 1500, 3'000'000'000});
  statistics.queued[0] = of({0, 0, 5000});
  statistics.failed[0] = 2;
  const std::string text = statistics.prometheus("disk=\"data\"", "db");
  const std::string labels = "{operation=\"read\",path=\"ring\",disk=\"data\"";
  CHECK(has_line(text, "# TYPE db_operation_seconds histogram"));
  CHECK(has_line(text, "db_operation_seconds_bucket" + labels + ",le=\"0.000001\"} 1"));
  CHECK(has_line(text, "db_operation_seconds_bucket" + labels + ",le=\"0.000002\"} 2"));
  CHECK(has_line(text, "db_operation_seconds_bucket" + labels + ",le=\"2.097152\"} 2"));
  CHECK(has_line(text, "db_operation_seconds_bucket" + labels + ",le=\"4.194304\"} 3"));
  CHECK(has_line(text, "db_operation_seconds_bucket" + labels + ",le=\"+Inf\"} 3"));
  CHECK(has_line(text, "db_operation_seconds_sum" + labels + "} 3.000002400"));
  CHECK(has_line(text, "db_operation_seconds_count" + labels + "} 3"));
  CHECK(has_line(text, "db_queued_seconds_count{operation=\"read\",disk=\"data\"} 3"));
  CHECK(has_line(text, "db_failed_operations_total{operation=\"read\",disk=\"data\"} 2"));
  CHECK(text.find("write") == std::string::npos);  // which never happened
  for (const std::string& line : lines_of(text)) CHECK((line.starts_with("# ") || line.starts_with("db_")));

  CHECK(has_line(statistics.prometheus(), "qio_operation_seconds_count{operation=\"read\",path=\"ring\"} 3"));
}

TEST_CASE("the message of a slow operation says what it was, how long it took, and what became of it") {
  qio::slow_operation slow;
  slow.kind = qio::operation_kind::durable_write;
  slow.path = qio::operation_path::ring;
  slow.file = "data.bin";
  slow.offset = 8192;
  slow.bytes = 4096;
  slow.took = 12'345us;
  slow.queued = 100us;
  CHECK(slow.message() ==
        "durable write of 4096 bytes at 8192 of data.bin took 12.345 ms, 0.100 ms of it in queues, by the ring");
  slow.kind = qio::operation_kind::sync;
  slow.path = qio::operation_path::worker;
  slow.bytes = 0;
  slow.queued = 0us;
  slow.file = "a\nb";
  slow.failure = std::make_error_code(std::errc::io_error);
  CHECK(slow.message() == "sync of a\\x0ab took 12.345 ms, by a worker, and failed: " + slow.failure.message());
}
