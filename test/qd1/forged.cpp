// SPDX-License-Identifier: BSL-1.0
// Reports that somebody else has written, to do harm.
#include "compare/comparison.hpp"
#include "compare/pair_test.hpp"
#include "failure.hpp"
#include "html/html.hpp"
#include "merge/merge.hpp"
#include "output/json.hpp"
#include "output/table.hpp"
#include "output/text_file.hpp"
#include "program.hpp"
#include "statistics/order_statistics.hpp"
#include "text/printable.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;
using nlohmann::json;

const json& recorded() {
  static const json read = json::parse(contents(fs::path(QD1_REPORTS) / "linux.json"));
  return read;
}

qd1::report read(const json& report) { return qd1::read_json(report.dump(), "forged.json"); }

/// Why a report is refused in which the first series is as `edit` makes it; empty if it is not.
template <class Edit>
std::string why_refused(Edit edit) {
  json forged = recorded();
  edit(forged.at("qio").at("series").at(0));
  try {
    static_cast<void>(read(forged));
    return {};
  } catch (const qd1::usage_error& failure) {
    return failure.what();
  }
}

bool commands_a_terminal(std::string_view text) {
  while (!text.empty()) {
    const qd1::character next = qd1::first_character(text);
    if (next.bytes == 0 || (qd1::is_command(next.code) && next.code != '\n' && next.code != '\t')) return true;
    text.remove_prefix(next.bytes);
  }
  return false;
}

// Sets the color, the title and the clipboard; C1; text from right to left; invalid UTF-8; a line of its own.
const std::string hostile =
    "\x1b[31m\x1b]0;title\x07\x1b]52;c;cm0gLXJm\x07\xc2\x9b"
    "31m\xe2\x80\xae"
    "txt\xe2\x81\xa6\x7f\r\nVERIFIED direct";

void collect_texts(json& from, std::vector<json*>& to) {
  for (json& each : from) {
    if (each.is_string()) to.push_back(&each);
    if (each.is_structured()) collect_texts(each, to);
  }
}

}  // namespace

TEST_CASE("what would command a terminal is shown instead") {
  CHECK(qd1::printable("µs −log₁₀ 日本 😀\tx\n") == "µs −log₁₀ 日本 😀\tx\n");
  CHECK(qd1::printable("\x1b[31m\r\x7f") == "\\u001b[31m\\u000d\\u007f");
  CHECK(qd1::printable("\xc2\x9b") == "\\u009b");
  CHECK(qd1::printable("\xe2\x80\xae\xe2\x81\xa9\xef\xbb\xbf") == "\\u202e\\u2069\\ufeff");
  CHECK(qd1::printable("\xf3\xa0\x81\x81") == "\\udb40\\udc41");  // a tag, which nobody sees
  CHECK(qd1::printable("\xe1\x85\x9f\xef\xb8\x8f\xf0\x9b\xb2\xa0") == "\\u115f\\ufe0f\\ud82f\\udca0");  // nor these
  CHECK(qd1::printable("\xe2\xa0\x80\xf0\x9d\x85\x99") == "\\u2800\\ud834\\udd59");  // nor blank symbols
  CHECK(qd1::printable("\xff\xc0\xaf") == "\\xff\\xc0\\xaf");
  CHECK(qd1::printable(std::string("\0", 1)) == "\\u0000");
  CHECK(qd1::printable_line("a\nb\tc") == "a\\u000ab\\u0009c");
  const json text = "\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81";
  CHECK(json::parse(qd1::printable(text.dump())) == text);
}

TEST_CASE("no text of a report commands a terminal or makes lines of its own") {
  std::size_t accepted = 0;
  json forged = recorded();
  std::vector<json*> texts;
  collect_texts(forged.at("qio"), texts);
  for (json* each : texts) {
    const json before = *each;
    *each = hostile;
    try {
      const qd1::report found = qd1::read_json(forged.dump(-1, ' ', false, json::error_handler_t::replace), "f");
      const std::string table = qd1::table(found);
      CHECK_FALSE(commands_a_terminal(table));
      CHECK_THAT(table, !Contains("\nVERIFIED direct"));
      CHECK_FALSE(commands_a_terminal(qd1::compare(read(recorded()), found).text));
      CHECK_FALSE(commands_a_terminal(qd1::html::render(found)));
      ++accepted;
    } catch (const qd1::usage_error&) {
      // A name of something that there is not.
    }
    *each = before;
  }
  CHECK(accepted >= 20);
}

TEST_CASE("the program prints no text of a report, nor a name of a file, as it is") {
  const directory here;
  json forged = recorded();
  forged.at("qio").at("command_line") = hostile;
  forged.at("qio").at("settings").at("path") = hostile;
  forged.at("qio").at("notes") = {hostile};
  for (json& each : forged.at("qio").at("series")) each.at("notes") = {hostile};
  std::ofstream(here.path / "a.json") << forged.dump();
  std::ofstream(here.path / "b.json") << recorded().dump();
  for (const char* arguments : {"compare a.json b.json", "merge a.json b.json", "merge a.json b.json --json -"}) {
    const outcome found = run_qd1(here, arguments);
    INFO(arguments << found.err);
    CHECK(!found.out.empty());
    CHECK_FALSE(commands_a_terminal(found.out));
  }
  std::ofstream(here.path / "c.json") << '"' << hostile << '"';
  std::ofstream(here.path / "d.json") << '"' << std::string(1 << 20, 'x');
  for (const char* arguments : {"compare c.json b.json", "compare d.json b.json"}) {
    const outcome refused = run_qd1(here, arguments);
    CHECK(refused.status == 2);
    CHECK_FALSE(commands_a_terminal(refused.err));
    CHECK(std::ranges::count(refused.err, '\n') == 1);
    CHECK(refused.err.size() < 2000);
  }
}

TEST_CASE("bins that cannot be are refused") {
  const auto with_bins = [](json bins) {
    return why_refused([&](json& series) { series["latency"]["bins_ns"] = std::move(bins); });
  };
  CHECK(with_bins(recorded()["qio"]["series"][0]["latency"]["bins_ns"]).empty());
  CHECK(with_bins(json::array()).empty());  // not all reports have them
  CHECK_THAT(with_bins({{1.0, std::uint64_t(1) << 63}}), Contains("bins_ns") && Contains("9223372036854775808"));
  CHECK_THAT(with_bins({{1.0, std::uint64_t(1) << 49}, {2.0, std::uint64_t(3) << 49}}), Contains("bins_ns"));
  CHECK_THAT(with_bins({{1.0, 199}}), Contains("bins_ns: they hold 199 samples of 200"));
  CHECK_THAT(with_bins({{2.0, 100}, {1.0, 100}}), Contains("ascending"));
  CHECK_THAT(with_bins({{-1.0, 200}}), Contains("bins_ns"));
  CHECK_THAT(with_bins({{1e300, 200}}), Contains("bins_ns"));
}

TEST_CASE("a report that was edited is refused") {
  qd1::report run = read(recorded());
  run.runs = {"0123456789abcdef"};
  const json written = json::parse(qd1::json(run));
  CHECK(qd1::read_json(written.dump(), "f").runs == run.runs);  // in another order and layout
  for (const char* each : {"/qio/command_line", "/qio/series/0/latency/mean_ns/value", "/qio/series/0/rounds/0/mean_ns",
                           "/qio/settings/seed", "/qio/runs/0"}) {
    json forged = written;
    json& value = forged.at(json::json_pointer(each));
    value = value.is_string() ? json("x") : json(value.get<double>() + 1);
    INFO(each);
    CHECK_THROWS_WITH(read(forged), Contains("checksum") && Contains("the report was changed"));
  }
  json forged = written;
  forged["qio"].erase("checksum");
  CHECK_THROWS_WITH(read(forged), Contains("checksum"));
  forged["qio"].erase("runs");
  CHECK_THROWS_WITH(read(forged), Contains("checksum"));
}

TEST_CASE("bins, percentiles and rounds that disagree are refused, checksum or not") {
  CHECK(why_refused([](json&) {}).empty());
  CHECK_THAT(why_refused([](json& s) {
               s["latency"]["percentiles"][0]["ns"] = {{"value", 1.0}, {"interval", nullptr}};
             }),
             Contains("p50") && Contains("by the bins"));
  CHECK_THAT(why_refused([](json& s) {
               s["latency"]["percentiles"][0]["ns"]["interval"] = {1.0, 2.0};
             }),
             Contains("its interval does not contain it"));
  CHECK_THAT(why_refused([](json& s) {
               s["latency"]["mean_ns"] = {{"value", 1.0}, {"interval", nullptr}};
             }),
             Contains("mean_ns"));
  CHECK_THAT(why_refused([](json& s) { s["rounds"][0]["samples"] = 1; }), Contains("rounds: they have"));
  CHECK_THAT(why_refused([](json& s) { s["rounds"][0]["quantiles"][0]["ns"] = 1.0; }), Contains("rounds: quantiles"));
  CHECK_THAT(why_refused([](json& s) { s["rounds"].erase(0); }), Contains("rounds: they have"));
  CHECK_THAT(why_refused([](json& s) { s["latency"]["shares"] = {0.5, 1.0}; }), Contains("shares"));
  CHECK_THAT(why_refused([](json& s) { s["latency"]["min_ns"] = s["latency"]["max_ns"]; }), Contains("bins_ns"));
}

TEST_CASE("detections that do not follow from their pairs are refused") {
  qd1::report run = read(recorded());
  qd1::detection found;
  found.work = run.series.front().work;
  found.base = "a";
  found.now = "b";
  found.effect = 0.02;
  found.error = 0.05;
  qd1::pair_test test(found.effect, found.error);
  for (int pair = 0; pair < 20; ++pair) {
    found.pairs.push_back({100.0 + pair % 3, 105, pair % 2 == 0});
    test.add(found.pairs.back().base, found.pairs.back().now);
  }
  found.ratio = test.ratio();
  found.verdict = qd1::detected::slower;
  const auto read_back = [&](auto edit) {
    run.detections = {found};
    edit(run.detections.front());
    return read(json::parse(qd1::json(run))).detections.front();
  };
  const qd1::detection same = read_back([](qd1::detection&) {});
  CHECK(same.verdict == qd1::detected::slower);
  CHECK(same.pairs == found.pairs);
  CHECK_THROWS_WITH(read_back([](auto& of) { of.verdict = qd1::detected::none; }), Contains("verdict"));
  CHECK_THROWS_WITH(read_back([](auto& of) { of.not_decidable = "so"; }), Contains("verdict"));
  CHECK_THROWS_WITH(read_back([](auto& of) { of.ratio.value = 1; }), Contains("ratio"));
  CHECK_THROWS_WITH(read_back([](auto& of) { of.pairs.front().base = 0; }), Contains("pairs"));
  CHECK_THROWS_WITH(read_back([](auto& of) { of.error = 0; }), Contains("error"));
}

TEST_CASE("numbers that no run can have are refused by name") {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK_THAT(why_refused([&](json& s) { s["latency"]["samples"] = most; }), Contains("samples"));
  CHECK_THAT(why_refused([&](json& s) { s["latency"]["max_ns"] = 1e300; }), Contains("max_ns"));
  CHECK_THAT(why_refused([&](json& s) { s["iops"] = -1; }), Contains("iops"));
  CHECK_THAT(why_refused([&](json& s) { s["seconds"] = 1e300; }), Contains("seconds"));
  CHECK_THAT(why_refused([&](json& s) { s["work"]["block"] = most; }), Contains("block"));
  CHECK_THAT(why_refused([&](json& s) { s["rounds"][0]["start"] = -1e300; }), Contains("rounds: start"));
  CHECK_THAT(why_refused([&](json& s) { s["slices"][0]["mean_ns"] = 1e300; }), Contains("slices: mean_ns"));
}

TEST_CASE("percentiles that no run can support are refused") {
  for (const double fraction : {0.0, 1e-300, 1e-6, 0.9999999, 1.0}) {
    CAPTURE(fraction);
    CHECK_THAT(why_refused([&](json& s) { s["latency"]["percentiles"][0]["fraction"] = fraction; }),
               Contains("it must be a number from 1e-05 to 0.999999"));
    CHECK_THAT(why_refused([&](json& s) { s["rounds"][0]["quantiles"][0]["fraction"] = fraction; }),
               Contains("it must be a number from 1e-05 to 0.999999"));
  }
}

TEST_CASE("reports that are huge, deep or full of text are refused") {
  const auto refuses = [](const std::string& text, const char* because) {
    CHECK_THROWS_WITH(qd1::read_json(text, "forged.json"), Contains("forged.json") && Contains(because));
  };
  refuses(std::string(100'000, '['), "levels deep");
  json forged = recorded();
  forged["qio"]["command_line"] = std::string(100'000, 'x');
  refuses(forged.dump(), "bytes long");
  forged = recorded();
  forged["qio"]["first\nVERIFIED direct"] = 1;
  refuses(forged.dump(), "first\\u000aVERIFIED direct: is not the name of a member");
  std::string objects = "{\"qio\":[{}";
  for (int each = 0; each < 4'000'000; ++each) objects += ",{}";
  refuses(objects + "]}", "there are more than 4000000");

  const directory here;
  fs::resize_file((std::ofstream(here.path / "huge.json"), here.path / "huge.json"), std::uint64_t(1) << 32);
  CHECK_THROWS_WITH(qd1::read_file((here.path / "huge.json").string()), Contains("no report has more"));
  CHECK_THROWS_AS(qd1::read_file(here.path.string()), qd1::usage_error);
}

TEST_CASE("two series of the same work are refused") {
  json forged = recorded();
  json& all = forged["qio"]["series"];
  all.push_back(json(all[0]));
  CHECK_THROWS_WITH(read(forged),
                    Contains("series: two are of the same work, " + qd1::title(read(recorded()).series[0].work)));
}

TEST_CASE("lists that no run can have are refused by name") {
  const auto refuses = [](const char* member, const char* because, const json& value) {
    json forged = recorded();
    forged["qio"][json::json_pointer(member)] = value;
    INFO(member);
    CHECK_THROWS_WITH(read(forged), Contains(because));
  };
  const auto devices = [](const std::string& partition) {
    json found = json::array();
    for (int each = 0; each < 1001; ++each)
      found.push_back({{"name", partition}, {"over", {"disk"}}, {"start_bytes", 1}});
    return found;
  };
  refuses("/machine/devices", "machine: devices: 1001", devices("part"));
  refuses("/counters/devices", "counters: devices: 1001", json(std::vector<json>(1001, json::object())));
  refuses("/settings/targets", "settings: targets: 10001", json(std::vector<json>(10'001, "/dev/sda")));
  refuses("/notes", "notes: 1001; at most 1000", json(std::vector<json>(1001, "x")));
  for (const char* member : {"notes", "invalid"})
    refuses((std::string("/series/0/") + member).c_str(), "1001; at most 1000", json(std::vector<json>(1001, "x")));
  refuses("/settings/percentiles", "settings: percentiles: 101", json(std::vector<json>(101, 0.5)));
  refuses("/settings/percentiles", "settings: percentiles: 1e-300", json({0.5, 1e-300}));

  json forged = recorded();
  double fraction = 0.1;
  for (json& each : forged["qio"]["series"]) {
    json& percentiles = each["latency"]["percentiles"];
    percentiles = json::array();
    for (int one = 0; one < 30; ++one)
      percentiles.push_back({{"fraction", fraction += 0.001}, {"samples_needed", 1}, {"ns", nullptr}});
  }
  CHECK_THROWS_WITH(read(forged), Contains("percentiles, different ones: 120; at most 100"));
}

TEST_CASE("an object with many members is refused in linear time") {
  std::string text = "{\"qio\":{";
  for (int each = 0; each < 500'000; ++each) text += std::to_string(each).insert(0, each == 0 ? "\"" : ",\"") + "\":0";
  CHECK_THROWS_WITH(qd1::read_json(text + "}}", "forged.json"), Contains("report: '0' is not known"));
}

TEST_CASE("a series without the percentiles of those beside it is printed") {
  qd1::report run = read(recorded());
  qd1::series second = run.series[0];
  second.work.mode = second.work.mode == qd1::mode::cached ? qd1::mode::mapped : qd1::mode::cached;
  second.latency.percentiles.clear();
  run.series.resize(1);
  run.series.push_back(second);
  CHECK_THAT(qd1::table(run), Contains("p99 ") && Contains("n/a"));
}

TEST_CASE("steps that are verified without operations of a device are printed") {
  qd1::report run = read(recorded());
  run.series.resize(1);
  run.series[0].work.load.depth = 2;
  run.series[0].verification.result = qd1::verification::verdict::verified;
  run.series[0].verification.text = "VERIFIED by a forger";
  run.series[0].verification.device_operations.reset();
  CHECK_THAT(qd1::table(run), !Contains("all steps together"));
}

TEST_CASE("the axis of a timeline ends, wherever the last second lies") {
  qd1::report run = read(recorded());
  run.series.resize(1);
  qd1::series& only = run.series[0];
  only.rounds.resize(1);
  only.slices = {{0, 1, 10, 100, 100}, {0, 5e-324, 10, 100, 100}};
  for (qd1::slice& each : only.slices) each.cached_pages = 7;
  CHECK_FALSE(qd1::html::render(run).empty());
}

TEST_CASE("reports of many steps, percentiles and notes are printed in linear time") {
  const qd1::series step = read(recorded()).series[0];
  qd1::report run;
  for (std::uint64_t depth = 1; depth <= 600; ++depth) {
    run.series.push_back(step);
    qd1::series& added = run.series.back();
    added.work.load.depth = depth;
    added.rounds.clear();
    added.slices.clear();
    added.latency.bins.clear();
    for (int each = 0; each < 200; ++each) added.notes.push_back(std::to_string(each));
    for (int each = 1; each <= 95; ++each) added.latency.percentiles.push_back({each / 1000., 1, qd1::estimate{1}});
  }
  CHECK_THAT(qd1::table(run), Contains("199 (600 series: "));
  CHECK_FALSE(qd1::html::render(run).empty());
}

TEST_CASE("more samples than can be counted are not merged") {
  qd1::report one = read(recorded());
  qd1::latency& all = one.series.front().latency;
  all.samples = std::uint64_t(3) << 48;
  all.bins = {{all.min, all.samples}};
  CHECK_THROWS_AS(qd1::merged({{"a", one}, {"b", one}}), qd1::usage_error);
}

TEST_CASE("the ranks of a percentile are found for the most samples that a report may have") {
  const std::uint64_t most = std::uint64_t(1) << 50;
  const auto ranks = qd1::percentile_ranks(0.99, most);
  REQUIRE(ranks);
  CHECK(ranks->low < ranks->high);
  CHECK(static_cast<double>(ranks->low) == Approx(0.99 * static_cast<double>(most)));
}
