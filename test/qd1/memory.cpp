// Memory that is enough, short, or full.
#include "memory/memory.hpp"

#include "failure.hpp"
#include "findings/steps.hpp"
#include "measure/offsets.hpp"
#include "memory/binding.hpp"
#include "output/shortage.hpp"
#include "platform/file.hpp"
#include "pressure/ballast.hpp"
#include "pressure/pressure.hpp"
#include "program.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

constexpr std::uint64_t mebibyte = std::uint64_t(1) << 20;

// A step of one worker that always waits for one transfer, as the figures say.
qd1::series step(qd1::operation what, double median_us, double mean_us) {
  qd1::series made;
  made.work.mode = qd1::mode::cached;
  made.work.operation = what;
  made.latency.samples = 100'000;
  made.latency.mean.value = mean_us * 1000;
  made.latency.percentiles = {{0.5, 6, qd1::estimate{median_us * 1000, {}}}};
  made.iops = 1e6 / mean_us;
  made.cpu_ns = mean_us * 100;  // a tenth of the time
  made.verification.application_operations = 100'000;
  made.verification.device_operations = 100'000;
  made.shortage.emplace();
  return made;
}

TEST_CASE("shuffled offsets are all blocks, each once, in another order for each seed") {
  for (const std::uint64_t blocks : {1u, 2u, 3u, 1000u, 1024u}) {
    const auto drawn = [&](std::uint64_t seed) {
      auto next = qd1::shuffled_offsets(seed, blocks * 8192, 8192);
      std::vector<std::uint64_t> offsets;
      for (std::uint64_t each = 0; each < blocks; ++each) offsets.push_back(next());
      return offsets;
    };
    const auto once = drawn(1);
    const std::set<std::uint64_t> different(once.begin(), once.end());
    CHECK(different.size() == blocks);
    CHECK(*different.rbegin() == (blocks - 1) * 8192);
    if (blocks < 1000) continue;
    CHECK(once != drawn(2));
    std::size_t neighbors = 0;
    for (std::size_t each = 1; each < once.size(); ++each)
      if (once[each] == once[each - 1] + 8192) ++neighbors;
    CHECK(neighbors < blocks / 20);
  }
}

TEST_CASE("ballast is taken until only so much is left") {
  std::uint64_t available = 64 * mebibyte;
  const qd1::ballast taken(16 * mebibyte, [&]() -> std::optional<std::uint64_t> {
    available -= 4 * mebibyte;
    return available;
  });
  CHECK(available == 16 * mebibyte);
  CHECK(taken.bytes() == 44 * mebibyte);
  CHECK(qd1::ballast(0, [] { return std::optional<std::uint64_t>(); }).bytes() == 0);
}

TEST_CASE("the figures of a step show what bound it") {
  using enum qd1::operation;
  using enum qd1::bound;
  qd1::series cold = step(read, 60, 62);
  CHECK(qd1::binding_of(cold).bound == by_latency);
  CHECK_THAT(qd1::binding_of(cold).evidence, Contains("90 % of the time asleep, 10 % computing"));
  cold.verification.device_operations = 12;
  CHECK(qd1::binding_of(cold).bound == by_nothing);
  cold.verification.device_operations = 100'000;  // by others, while this had nothing read
  cold.verification.fetched_bytes = 0;
  CHECK(qd1::binding_of(cold).bound == by_nothing);
  cold.verification.fetched_bytes = 100'000 * cold.work.block;
  CHECK(qd1::binding_of(cold).bound == by_latency);
  cold.verification.fetched_bytes.reset();
  cold.verification.device_operations.reset();
  CHECK(qd1::binding_of(cold).bound == unknown);
  cold.verification.device_operations = 100'000;
  // A transfer is always in flight in a closed loop: what counts is what the worker did meanwhile.
  cold.cpu_ns = 60'000 * 0.9;
  CHECK(qd1::binding_of(cold).bound == by_processor);
  cold.cpu_ns = 6'000;
  cold.rounds = {{0, {}, 1, 100'000, 62'000, {}, {0.6, {}, {}, {}, {}}}};
  CHECK(qd1::binding_of(cold).bound == unknown);
  CHECK_THAT(qd1::binding_of(cold).evidence, Contains("60 % waiting for a CPU"));
  cold.cpu_ns.reset();
  CHECK(qd1::binding_of(cold).bound == unknown);
}

TEST_CASE("the figures of writes show what they waited for") {
  using enum qd1::operation;
  using enum qd1::bound;
  qd1::series fast = step(write, 3, 4);
  CHECK(qd1::binding_of(fast).bound == by_nothing);  // written back meanwhile, and not waited for

  qd1::series idle = step(write, 3, 40);
  idle.verification.device_operations = 12;
  CHECK(qd1::binding_of(idle).bound == unknown);  // it waited, but not for the device

  qd1::series slow = step(write, 3, 40);
  CHECK(qd1::binding_of(slow).bound == by_latency);
  slow.shortage->limit_hits = 1234;
  CHECK(qd1::binding_of(slow).bound == by_reclaim);
  CHECK_THAT(qd1::binding_of(slow).evidence, Contains("92 % of the time") && Contains("full 1,234 times"));
  slow.shortage->dirty_limit = 20 * mebibyte;
  slow.shortage->dirty_background_limit = 10 * mebibyte;
  slow.shortage->dirty_limit_source = "20% of something";
  slow.shortage->dirty_most = 12 * mebibyte;
  CHECK(qd1::binding_of(slow).bound == by_reclaim);
  slow.shortage->dirty_most = 15 * mebibyte;
  CHECK(qd1::binding_of(slow).bound == by_dirty_limit);
  CHECK_THAT(qd1::binding_of(slow).evidence,
             Contains("15 MiB were dirty, waits begin between 10 MiB and 20 MiB (20% of something)"));
}

TEST_CASE("a step is named by what tells it from the others") {
  qd1::report run;
  for (const std::uint64_t memory : {256u, 64u}) {
    run.series.push_back(step(qd1::operation::read, 1, 1));
    run.series.back().work.memory = memory;
  }
  CHECK(qd1::circumstances(run.series[0].work, run) == ", again");
  run.series[1].work.temperature = qd1::temperature::cold;
  CHECK(qd1::circumstances(run.series[1].work, run) == ", cold, with ballast");
  run.series[1].work.operation = qd1::operation::write;
  CHECK(qd1::circumstances(run.series[1].work, run) == ", with ballast");
}

TEST_CASE("how memory was made short is reported once, with ballast and without") {
  qd1::report run;
  const auto add = [&](std::uint64_t memory, const std::string& how) {
    run.series.push_back(step(qd1::operation::write, 3, 4));
    run.series.back().work.memory = memory;
    run.series.back().shortage->how = how;
  };
  add(64, "800 MiB of touched memory");
  add(64, "800 MiB of touched memory");
  add(16, "1600 MiB of touched memory");
  add(64, "600 MiB of touched memory");
  CHECK_THAT(unbroken(qd1::shortage_block(run)),
             Contains("Memory was made short by: 800 MiB of touched memory; with ballast: 1600 MiB "
                      "of touched memory; 600 MiB of touched memory."));
}

TEST_CASE("the table of short memory has the percentiles that were asked for") {
  qd1::report report;
  report.kind = qd1::report_kind::memory;
  report.settings.percentiles = {0.5, 0.75};
  report.series = {step(qd1::operation::read, 90, 100)};
  report.series.front().latency.percentiles.push_back({0.75, 6, qd1::estimate{123'400, {}}});
  const std::string table = qd1::shortage_block(report);
  CHECK_THAT(table, Contains("p75") && Contains("123.4"));
  CHECK_THAT(table, !Contains("p99"));
  report.settings.percentiles.clear();
  CHECK_THAT(qd1::shortage_block(report), Contains("p99") && !Contains("p75"));
}

TEST_CASE("in a narrow table of short memory, percentiles that were asked for stay longest") {
  qd1::report report;
  report.kind = qd1::report_kind::memory;
  report.settings.percentiles = {0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8};
  report.series = {step(qd1::operation::read, 90, 100)};
  const std::string table = qd1::shortage_block(report);
  for (const char* each : {"p50", "p55", "p60", "p65", "p70", "p75", "p80"}) CHECK_THAT(table, Contains(each));
  CHECK_THAT(table, !Contains("mean"));
}

TEST_CASE("the memory of a run is a power of two, within what there is") {
  const std::uint64_t memory = qd1::default_memory();
  CHECK((memory & (memory - 1)) == 0);
  CHECK(memory >= 64 * mebibyte);
  CHECK(memory <= 1024 * mebibyte);
}

const std::string quick = " --memory 64M --time 300ms ";

struct measured : directory {
  outcome found = run_qd1(*this, "memory ./data --json report.json --html report.html" + quick);

  // No memory to be made short: not root, or on Windows.
  bool refused() const { return found.status == 2; }
  nlohmann::json series() const { return nlohmann::json::parse(contents(path / "report.json")).at("qio").at("series"); }
};

TEST_CASE("each step with short memory has its figures, and says what bound it", "[nightly]") {
  const measured here;
  INFO(here.found.out << here.found.err);
  if (here.refused()) QIO_SKIP(here.found.err);
  REQUIRE(here.found.status == 0);
  const auto series = here.series();
  REQUIRE(series.size() == 10);
  for (const auto& each : series) {
    CHECK(each.at("latency").at("samples") > 0);
    CHECK(each.at("work").at("form") == "blocking");
    CHECK(each.at("work").at("block") == 8192);
    CHECK(each.at("service").at("by_call") > 0);
    CHECK(each.at("slices").size() == 1);
    for (const char* pages : {"cached_pages_before", "cached_pages_after"})  // no more than there are
      CHECK(each.at("verification").at(pages) <= each.at("work").at("working_set").get<std::uint64_t>() / 4096);
    CHECK_THAT(each.at("shortage").at("how").get<std::string>(), Contains("control group limit of"));
  }
  CHECK(series.at(0).at("work").at("memory") == 64 * mebibyte);
  CHECK(series.at(4).at("work").at("memory") == 16 * mebibyte);
  CHECK(series.at(2).at("work").at("working_set") == 96 * mebibyte);
  CHECK_THAT(here.found.out, Contains("read 32 MiB, cold") && Contains("read 96 MiB, again") &&
                                 Contains("read 32 MiB, again, with ballast") && Contains("write 8 MiB, with ballast"));
}

TEST_CASE("what fits into memory is served from there, and what does not is not", "[nightly]") {
  const measured here;
  INFO(here.found.out << here.found.err);
  if (here.refused()) QIO_SKIP(here.found.err);
  const auto series = here.series();
  const std::uint64_t pages = 32 * mebibyte / 4096;
  const auto pages_after = [&](std::size_t of) -> std::uint64_t {
    return series.at(of).at("verification").at("cached_pages_after");
  };
  const std::uint64_t cached = series.at(1).at("verification").at("cached_pages_before");
  CHECK(cached <= pages);  // not what was read ahead beyond
  CHECK(cached >= pages - pages / 100);
  CHECK(pages_after(3) < 64 * mebibyte / 4096);  // of 96 MiB
  CHECK(pages_after(5) < 16 * mebibyte / 4096);  // of 32 MiB, with ballast
  for (const std::size_t cold : {0u, 2u, 4u})
    CHECK(series.at(cold).at("verification").at("cached_pages_before") <= 96 * mebibyte / 4096 / 100);
  if (series.at(0).at("verification").at("device_operations").is_null()) QIO_SKIP("no device is counted here");
  CHECK(series.at(1).at("shortage").at("bound") == "served from memory");
  // By what else, the machine and its load decide.
  for (const std::size_t larger : {3u, 5u}) {
    CHECK(series.at(larger).at("shortage").at("bound") != "served from memory");
    CHECK_THAT(series.at(larger).at("notes").dump(), Contains("% of the time asleep, "));
  }
}

TEST_CASE("cold steps read no block twice, and end when all have been read", "[nightly]") {
  const directory here;
  const outcome found = run_qd1(here, "memory ./data --block 1M --json report.json" + quick);
  INFO(found.out << found.err);
  if (found.status == 2) QIO_SKIP(found.err);
  const auto series = nlohmann::json::parse(contents(here.path / "report.json")).at("qio").at("series");
  const auto check = [&](std::size_t cold, std::uint64_t blocks) {
    const std::uint64_t reads = series.at(cold).at("verification").at("application_operations");
    const double seconds = series.at(cold).at("seconds");
    CHECK(reads <= blocks);
    if (reads < blocks) CHECK(seconds > 0.29);  // a busy machine may not read all in that time
  };
  check(0, 32);
  check(2, 96);
}

TEST_CASE("the pages of short memory show its steps, and reports are compared", "[nightly]") {
  const measured here;
  if (here.refused()) QIO_SKIP(here.found.err);
  const std::string page = contents(here.path / "report.html");
  CHECK_THAT(page, Contains("How fast file I/O is when memory is short"));
  const std::string bound = here.series().at(1).at("shortage").at("bound");
  if (bound != "unknown") CHECK_THAT(page, Contains(bound));  // without a device to count there is nothing to tell
  const outcome compared = run_qd1(here, "compare report.json report.json");
  INFO(compared.out << compared.err);
  CHECK(compared.status == 0);
  CHECK_THAT(unbroken(compared.out), Contains("cached read, blocking, cold, 8 KiB blocks, 32 MiB, memory 64 MiB"));
}

TEST_CASE("pressure ends with its object, and leaves no group behind") {
  const auto group = [] { return contents("/proc/self/cgroup"); };
  const std::string before = group();
  std::optional<qd1::memory_pressure> pressure;
  try {
    pressure.emplace(64 * mebibyte);
  } catch (const qd1::usage_error& refused) {
    QIO_SKIP(refused.what());
  }
  CHECK(pressure->how() == "control group limit of 64 MiB");
  const std::string during = group();
  CHECK(during != before);
  CHECK_THAT(during, Contains("qd1-"));
  {
    const qd1::memory_pressure more(32 * mebibyte);  // within
    CHECK(group() != during);
  }
  CHECK(group() == during);
  pressure.reset();
  CHECK(group() == before);
}

TEST_CASE("memory that cannot be is refused with what could") {
  if (!qd1::platform::tells_cached_pages()) QIO_SKIP("refused altogether here");
  const directory here;
  const auto refused = [&](const std::string& arguments, const std::string& with) {
    const outcome found = run_qd1(here, "memory " + arguments);
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains(with));
  };
  refused("--memory 1M", "at least 64 MiB is needed");
  refused("--memory 64M --block 8M", "at most 1 MiB");
  refused("--memory lots", "is not a size");
  refused("--memory 1024T", " TiB is more than the ");
}

TEST_CASE("memory beyond the limit of the group that qd1 is in is refused") {
  const directory here;
  std::optional<qd1::memory_pressure> pressure;
  try {
    pressure.emplace(128 * mebibyte);
  } catch (const qd1::usage_error& refused) {
    QIO_SKIP(refused.what());
  }
  const outcome found = run_qd1(here, "memory ./data --memory 256M");
  CHECK(found.status == 2);
  CHECK_THAT(found.err, Contains("--memory: 256 MiB is more than the 128 MiB that are available here"));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("what cannot be made short is refused before anything is measured, with the reason") {
  if (!qd1::platform::tells_cached_pages()) QIO_SKIP("refused altogether here");
  const directory here;
  try {
    qd1::memory_pressure::require(16 * mebibyte);
  } catch (const qd1::usage_error& refused) {
    CHECK_THAT(refused.what(), Contains("memory cannot be made short"));
    const outcome found = run_qd1(here, "memory ./data --memory 64M");
    CHECK(found.status == 2);
    CHECK_THAT(found.err, Contains("--memory: of 64 MiB, ballast leaves 16 MiB"));
    CHECK(fs::is_empty(here.path));
    return;
  }
  QIO_SKIP("it can be made short here");
}

}  // namespace
