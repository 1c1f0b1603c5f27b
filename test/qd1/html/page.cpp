// SPDX-License-Identifier: BSL-1.0
// The page as a whole: one file that any browser shows, and that hides nothing.
#include "catch.hpp"
#include "synthetic.hpp"

#include <fmt/format.h>
#include <qd1/html/digest.hpp>
#include <qd1/html/html.hpp>
#include <qd1/html/markup.hpp>

#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

namespace {

using qd1::html::named_report;
using qd1::html::render;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// What is between the tags, without the style sheet and the script.
std::string words(std::string page) {
  page.erase(0, page.find("<body"));
  page.erase(page.find("<script"));
  page = std::regex_replace(page, std::regex("<[^>]*>"), "");
  return std::regex_replace(page, std::regex("\u00a0"), " ");
}

// Whether each tag that is opened is closed, in order, attributes are quoted and none comes twice: what a strict parser
// asks for, as far as to_string() could get it wrong.
std::string malformed(const std::string& page) {
  static const std::regex attribute(R"rx(\s+([\w:-]+)="([^"<]*)")rx");
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) return "a tag without end";
    std::string tag = page.substr(at + 1, end - at - 1);
    if (tag.starts_with("!DOCTYPE")) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected <" + tag + ">";
      open.pop_back();
      continue;
    }
    const bool leaf = tag.ends_with('/');
    if (leaf) tag.pop_back();
    const std::string name = tag.substr(0, tag.find_first_of(" \n"));
    std::vector<std::string> names;
    std::string rest = tag.substr(name.size());
    for (std::smatch match; std::regex_search(rest, match, attribute, std::regex_constants::match_continuous);
         rest = match.suffix()) {
      for (const std::string& other : names)
        if (other == match[1]) return "<" + name + "> has " + other + " twice";
      names.push_back(match[1]);
    }
    if (!rest.empty()) return "<" + name + ">: " + rest;
    if (!leaf) open.push_back(name);
    if (name == "style" || name == "script") {
      const std::size_t close = page.find("</" + name + ">", end);
      if (page.substr(end + 1, close - end - 1).find_first_of("<&") != std::string::npos) return name + " has < or &";
      at = end;
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

// Everything a report can have wrong with it at once.
qd1::report troubled() {
  qd1::report run = qd1_test::synthetic_report(3'000);
  run.series[1].invalid = {"device ops 12 / app 3,000: served from memory", "second <reason> & more"};
  qd1::verification& facts = run.series[1].verification;
  facts.result = qd1::verification::verdict::refuted;
  facts.text = "REFUTED";
  facts.device_operations = 12;
  facts.application_operations = 3000;
  facts.cached_pages_before = 0;
  facts.cached_pages_after = 700;
  run.series[3].not_available = "io_uring is forbidden here";
  run.series[3].latency = {};
  run.series[5].complete = false;
  run.series[7].latency.bins.clear();
  run.complete = false;
  run.trusted_fraction = 0.9;
  run.notes = {"Governor is powersave"};
  return run;
}

// With everything that a page of it can show.
qd1::reproduction repeated() {
  qd1::reproduction found;
  found.about = {"name", "A question", "Somebody, 2017", "a machine", "Withdrawn."};
  found.started = "2026-01-02T03:04:05Z";
  found.tables = {
      {"Figures", {"p50"}, {{"read", qd1::origin::withdrawn, {"0.66"}}, {"read", qd1::origin::here, {"70"}}}}};
  found.shapes = {{"reads are fast", qd1::shape::verdict::held, "70 µs", 84, 21.5},
                  {"drives add up", qd1::shape::verdict::not_told, "there is one", 0.957},
                  {"writes wait", qd1::shape::verdict::not_held, "they do not"}};
  found.incomparable = {"Drives < here"};
  found.parts.push_back({"latencies", "all of them", qd1_test::synthetic_report(20'000)});
  found.parts.push_back({.name = "polled", .purpose = "the most", .found = {}, .not_measured = "no queues"});
  return found;
}

// As of qd1 run "a <data>" b --detect 2%: one work is decided, one is open, and of one there is no verdict.
qd1::report detected() {
  qd1::report found = qd1_test::synthetic_report(3'000);
  for (std::size_t each = 0; each < 3; ++each) {
    qd1::detection& added = found.detections.emplace_back();
    added.work = found.series[each].work;
    added.base = "a <data>";
    added.now = "b";
    added.effect = 0.02;
    added.seconds = 12.5;
    added.ratio = {1.21, qd1::interval{1.15, 1.3}};
    for (int pair = 0; pair < 11; ++pair) added.pairs.push_back({100'000, 121'000, pair % 2 == 0});
  }
  found.detections[0].verdict = qd1::detected::slower;
  found.detections[1].notes = {"a note on b"};
  found.detections[2].not_decidable = "a series is invalid";
  return found;
}

std::vector<std::string> pages() {
  const qd1::report good = qd1_test::synthetic_report(20'000), other = qd1_test::synthetic_report(20'000, 1.2, 70),
                    bad = troubled();
  const named_report runs[] = {{"base", &good}, {"6.18", &other}, {"bad", &bad}};
  return {render(good), render(bad), render(runs), render(qd1::report()), render(repeated()), render(detected())};
}

}  // namespace

TEST_CASE("a page shows what --detect decided, before the figures") {
  const std::string page = render(detected()), text = words(page);
  const auto verdict = text.find("SLOWER by 21.0 % (15.0 … 30.0)");
  REQUIRE(verdict != std::string::npos);
  CHECK(verdict < text.find("Dot: median, with its 95 % interval"));
  CHECK(contains(page, "p50 of a &lt;data&gt;"));
  CHECK(contains(text, "100 µs\n121 µs\n11\n12.5 s"));
  CHECK(contains(text, "undecided after 11 pairs: 21.0 % (15.0 … 30.0)\n100 µs\n121 µs"));
  CHECK(contains(text, "no verdict: a series is invalid\n–\n–"));
  CHECK(contains(text, "The other figures of this page are those of a &lt;data&gt;."));
  CHECK(contains(text, "b, " + qd1::title(detected().series[1].work) + ": a note on b"));
  CHECK_FALSE(contains(words(render(qd1_test::synthetic_report(3'000))), "compared"));
}

TEST_CASE("pages are well-formed") {
  for (const std::string& page : pages()) CHECK(malformed(page) == "");
}

TEST_CASE("a page of an experiment says what repeats, what does not, and what was not measured") {
  const std::string text = words(render(repeated()));
  for (const char* each : {"A question", "Withdrawn.", "held", "did not hold", "cannot be told", "withdrawn", "0.66",
                           "Not measured: no queues", "What cannot be compared here"})
    CHECK(contains(text, each));
  // It opens with the claims that are factors, where both are known.
  CHECK(text.find("Published and measured here") < text.find("What repeats"));
  CHECK(contains(text, "published 84×, here 22×"));
  CHECK_FALSE(contains(text, "published 0.96×"));
  qd1::reproduction cut = repeated();
  cut.complete = false;
  CHECK(contains(words(render(cut)), "INCOMPLETE"));
}

TEST_CASE("the first screen says what the figures are of") {
  qd1::report run = qd1_test::synthetic_report(2'000);
  qd1::device_facts disk, part;
  disk.name = "nvme0n1";
  disk.kind = "disk";
  disk.transport = "nvme";
  disk.model = "A drive";
  part.name = "nvme0n1p2";
  part.kind = "partition";
  part.over = {"nvme0n1"};
  run.machine.devices = {part, disk};
  run.machine.filesystem.type = "xfs";
  run.machine.host.cpu.model = "A processor";
  run.machine.host.kernel = "Linux 6.12";
  const auto header = [&] {
    const std::string text = render(run);
    return words(text.substr(0, text.find("</header>")) + "<script");
  };
  CHECK(contains(header(), "A drive, nvme · xfs · A processor · Linux 6.12"));
  run.machine.devices.clear();
  run.machine.filesystem.type = "tmpfs";
  CHECK(contains(header(), "tmpfs keeps its files in memory · tmpfs"));
}

TEST_CASE("a ladder of depths has the line of proportional throughput") {
  qd1::report run = qd1_test::synthetic_report(2'000);
  run.kind = qd1::report_kind::depth;
  run.series.resize(3);
  for (std::size_t each = 0; each < 3; ++each) {
    run.series[each] = run.series[0];
    run.series[each].work.load.depth = std::uint64_t(1) << each;
    run.series[each].iops = 1000. * static_cast<double>(each + 1);
  }
  const std::string page = render(run);
  CHECK(contains(page, "class=\"line ideal\""));
  CHECK(contains(words(page), "in proportion to depth"));
}

TEST_CASE("a strict XML parser reads pages") {
  if (std::system("command -v xmllint >/dev/null 2>&1") != 0) QIO_SKIP("xmllint is not installed");
  for (const std::string& page : pages()) {
    std::FILE* parser = popen("xmllint --noout --nonet - 2>&1", "w");
    REQUIRE(parser);
    CHECK(std::fwrite(page.data(), 1, page.size(), parser) == page.size());
    CHECK(pclose(parser) == 0);
  }
}

TEST_CASE("a page needs nothing from elsewhere") {
  const std::regex space_name(R"rx(\sxmlns="http://www.w3.org/[\w/]*")rx");
  for (const std::string& page : pages()) {
    const std::string rest = std::regex_replace(page, space_name, "");
    for (const char* reference : {"http:", "https:", "//www", "src=", "href=", "url(", "@import", "fetch(", "XMLHttp"})
      CHECK_FALSE(contains(rest, reference));
  }
}

TEST_CASE("a digest is what browsers compare a script with") {
  using qd1::html::digest;
  CHECK(digest("") == "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
  CHECK(digest("abc") == "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  CHECK(digest(std::string(1'000'000, 'a')) == "sha256-zcduXJkU+5KBocfihNc+Z/GAmkiklyAOBG05zMcRLNA=");
}

TEST_CASE("a page allows its own script and style and nothing else") {
  const qd1::report run = qd1_test::synthetic_report(3'000);
  const named_report runs[] = {{"base", &run}, {"other", &run}};
  for (const std::string& page : {render(run), render(runs)}) {
    const auto between = [&](const std::string& tag) {
      const auto begin = page.find('<' + tag + '>') + tag.size() + 2;
      return page.substr(begin, page.find("</" + tag + '>') - begin);
    };
    const auto policy = page.find("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;;");
    REQUIRE(policy != std::string::npos);
    CHECK(policy < page.find("<style>"));
    CHECK(contains(page, "script-src &#39;" + qd1::html::digest(between("script")) + "&#39;"));
    CHECK(contains(page, "style-src &#39;" + qd1::html::digest(between("style")) + "&#39;"));
    CHECK(count(page, "<script") == 1);
    CHECK_FALSE(contains(page, "unsafe-inline"));
    CHECK_FALSE(contains(page, " style=\""));
  }
}

TEST_CASE("hostile texts stay texts") {
  const std::string hostile = "</script><script>alert('x')</script><img src=x onerror=\"y\">&amp;\x01\xff";
  qd1::report run = troubled();
  run.version = run.started = run.command_line = hostile;
  run.settings.path = run.settings.engine = hostile;
  run.clock.source = run.clock.reason = hostile;
  run.notes = {hostile};
  for (qd1::series& each : run.series) {
    each.notes = {hostile};
    each.service.engine = each.service.reason = hostile;
    each.verification.text = hostile;
  }
  run.series[1].invalid = {hostile};
  run.series[3].not_available = hostile;
  const named_report runs[] = {{hostile, &run}, {hostile + "2", &run}};
  for (const std::string& page : {render(run), render(runs)}) {
    CHECK(malformed(page) == "");
    CHECK(count(page, "<script>") == 1);
    CHECK_FALSE(contains(page, "<img"));
    CHECK(contains(page, "&lt;img src=x onerror=&quot;y&quot;&gt;&amp;amp;"));
  }
}

TEST_CASE("a page states which path served, and does not call Linux AIO a ring") {
  qd1::report run = qd1_test::synthetic_report(3'000);
  const auto served_by = [&](const std::string& engine) {
    for (qd1::series& each : run.series) each.service = {.engine = engine, .reason = {}, .by_ring = 9, .by_worker = 1};
    return words(render(run));
  };
  CHECK(contains(served_by("io_uring"), "io_uring: 9 through the ring, 1 on worker threads"));
  CHECK(contains(served_by("aio"), "aio: 9 by Linux AIO, 1 on worker threads"));
}

TEST_CASE("a percentile without the samples for it says how many it takes") {
  const std::string text = words(render(qd1_test::synthetic_report(3'000)));
  CHECK(contains(text, "n/aneeds 368,887"));
  CHECK(contains(text, "n/aneeds 3,688"));
}

TEST_CASE("an invalid run cannot be overlooked, and its figures are withheld") {
  qd1::report run = qd1_test::synthetic_report(3'000);
  for (qd1::series& each : run.series)
    if (each.work.mode == qd1::mode::direct) each.invalid = {"misaligned offsets fail at once"};
  const std::string page = render(run), text = words(page);
  CHECK(contains(page, "<title>INVALID"));
  CHECK(contains(page, "<body class=\"invalid\">"));
  CHECK(contains(text, "4 of 12 series must not be believed"));
  CHECK(contains(text, "misaligned offsets fail at once"));
  CHECK(contains(text, "INVALID: not shown"));
  CHECK_FALSE(contains(page, "data-name=\"direct"));
  const double p50 = run.series[0].latency.percentiles[0].value->value;
  CHECK_FALSE(contains(text, std::to_string(p50 / 1000).substr(0, 4) + " µs"));
}

TEST_CASE("runs of different things are shown, but no verdict is given") {
  const qd1::report base = qd1_test::synthetic_report(3'000);
  qd1::report other = base;
  for (qd1::series& each : other.series)
    if (each.work.mode == qd1::mode::direct) each.verification.result = qd1::verification::verdict::unknown;
  const named_report runs[] = {{"base", &base}, {"other", &other}};
  CHECK(contains(words(render(runs)), "other is not compared: only one of the two is verified to be direct."));
}

TEST_CASE("where runs are compared, the bars claim nothing that the sentence does not") {
  const qd1::report both = qd1_test::synthetic_report(20'000);
  qd1::report cached = both;
  std::erase_if(cached.series, [](const qd1::series& each) { return each.work.mode != qd1::mode::cached; });
  const std::vector<named_report> runs = {{"a", &both}, {"b", &cached}};
  const std::string page = render(runs);
  CHECK(page.find("Nothing to compare: the same work was not measured in both.") != std::string::npos);
  CHECK(page.find("fastest") == std::string::npos);
  CHECK(render(both).find("fastest") != std::string::npos);
}

TEST_CASE("the mark of validity counts the series that are not steady") {
  qd1::report run = qd1_test::synthetic_report(3'000);
  CHECK(contains(words(render(run)), "✓ 12 of 12 series valid"));
  run.series[1].steady = false;
  CHECK(contains(words(render(run)), "? 12 of 12 series valid, 1 not steady"));
}

TEST_CASE("an interrupted run says so") {
  qd1::report run = qd1_test::synthetic_report(3'000);
  CHECK_FALSE(contains(render(run), "<title>INCOMPLETE"));
  run.complete = false;
  CHECK(contains(render(run), "<title>INCOMPLETE"));
  CHECK(contains(words(render(run)), "The run was interrupted"));
}

TEST_CASE("a page of several reports has a row for each series and report, with values to sort by") {
  const qd1::report base = qd1_test::synthetic_report(3'000);
  qd1::report other = qd1_test::synthetic_report(3'000, 1.2, 70), bad = troubled();
  other.series.pop_back();
  const named_report runs[] = {{"base", &base}, {"<other>", &other}, {"bad", &bad}};
  const std::string page = render(runs);
  const auto begin = page.find("<table class=\"sortable\"");
  REQUIRE(begin != std::string::npos);
  const std::string table = page.substr(begin, page.find("</table>", begin) - begin);
  CHECK(count(table, "<tr") == 1 + base.series.size() + other.series.size() + bad.series.size());
  CHECK(count(table, "data-sort=\"text\"") == 2);
  CHECK(count(table, "data-sort=\"number\"") == base.series.front().latency.percentiles.size() + 8);
  CHECK(count(table, "&lt;other&gt;") == other.series.size());
  for (const qd1::series& each : base.series) {
    CHECK(count(table, qd1::html::escaped(qd1::title(each.work))) >= 2);
    CHECK(contains(table, fmt::format("data-value=\"{}\"", each.latency.percentiles[0].value->value)));
    CHECK(contains(table, fmt::format("data-value=\"{}\"", each.iops)));
  }
  // Series of the same work are one below the other.
  const std::string first = qd1::html::escaped(qd1::title(base.series[0].work));
  CHECK(table.find(qd1::html::escaped(qd1::title(base.series[1].work))) > table.rfind(first));
}

TEST_CASE("the table of all series withholds what must not be believed, and says why") {
  const qd1::report base = qd1_test::synthetic_report(3'000, 1.2, 70), bad = troubled();
  const named_report runs[] = {{"base", &base}, {"bad", &bad}};
  const std::string page = render(runs);
  const auto begin = page.find("<table class=\"sortable\"");
  const std::string table = page.substr(begin, page.find("</table>", begin) - begin);
  CHECK(contains(table, "INVALID: device ops 12 / app 3,000: served from memory; second &lt;reason&gt; &amp; more"));
  CHECK(contains(table, "Not available: io_uring is forbidden here"));
  CHECK_FALSE(contains(table, fmt::format("data-value=\"{}\"", bad.series[1].latency.mean.value)));
}

TEST_CASE("the table of all series marks percentiles that the host disturbs") {
  qd1::report run = qd1_test::synthetic_report(20'000);
  const named_report runs[] = {{"base", &run}, {"other", &run}};
  const auto marks = [&](double up_to) {
    run.trusted_fraction = up_to;
    const std::string page = render(runs);
    const auto begin = page.find("<tbody", page.find("<table class=\"sortable\""));
    return count(page.substr(begin, page.find("</table>", begin) - begin), "†");
  };
  CHECK(marks(1) == 0);
  CHECK(marks(0.99) == 2 * 2 * run.series.size());  // p99.9 and the maximum, in both reports
}

TEST_CASE("the script sorts tables by buttons that a keyboard reaches, and says the order") {
  const qd1::report base = qd1_test::synthetic_report(3'000);
  const named_report runs[] = {{"base", &base}, {"other", &base}};
  const std::string page = render(runs);
  const std::string script = page.substr(page.find("<script>"));
  for (const char* each : {"table.sortable", "createElement('button')", "'aria-sort'", "'ascending' : 'descending'"})
    CHECK(contains(script, each));
  // Without the script there are no buttons that do nothing.
  CHECK_FALSE(contains(page, "<button"));
  CHECK_FALSE(contains(render(base), "\"sortable\""));
}

TEST_CASE("what is not available says why") {
  CHECK(contains(words(render(troubled())), "Not available here: io_uring is forbidden here"));
}

TEST_CASE("percentiles that the host disturbs are marked") {
  qd1::report run = qd1_test::synthetic_report(20'000);
  run.trusted_fraction = 0.99;
  const std::string text = words(render(run));
  CHECK(contains(text, "beyond p99, the furthest of these series: may be the host’s noise"));
  CHECK(contains(text, "µs†"));
  run.trusted_fraction.reset();
  CHECK_FALSE(contains(words(render(run)), "†"));
}

TEST_CASE("warm and cold reads are panels of their own, and direct ones are in both") {
  qd1::report run = qd1_test::synthetic_report(3'000);
  for (const qd1::series& each : std::vector(run.series))
    if (each.work.mode != qd1::mode::direct && each.work.operation == qd1::operation::read) {
      run.series.push_back(each);
      run.series.back().work.temperature = qd1::temperature::cold;
    }
  const std::string page = render(run);
  CHECK(count(page, "<h2>Warm reads</h2>") == 2);  // the answer, and its details
  CHECK(count(page, "<h2>Cold reads</h2>") == 2);
  CHECK(count(page, "<h2>Accepted writes</h2>") == 2);
  CHECK(count(page, "data-name=\"direct\"") == count(page, "data-name=\"cached\""));
}

TEST_CASE("pictures have words for who cannot see them, tables their roles") {
  const std::string page = render(qd1_test::synthetic_report(3'000));
  CHECK(count(page, "class=\"chart\"") == 4);
  CHECK(count(page, "<desc>") == 4);
  CHECK(count(page, "role=\"table\"") == count(page, "<table"));
  CHECK(count(page, "<caption>") == count(page, "<table"));
  CHECK(contains(page, "mapped, blocking: p50 0.380"));
}

TEST_CASE("a page is small, however many bins there are") {
  const qd1::report run = qd1_test::synthetic_report(60'000);
  std::size_t bins = 0;
  for (const qd1::series& each : run.series) bins += each.latency.bins.size();
  CHECK(bins > 5'000);
  const qd1::report other = qd1_test::synthetic_report(60'000, 1.1, 40);
  const named_report runs[] = {{"base", &run}, {"other", &other}};
  CHECK(render(run).size() < 150'000);
  CHECK(render(runs).size() < 300'000);
}

TEST_CASE("the same run makes the same page") {
  CHECK(render(qd1_test::synthetic_report(2'000)) == render(qd1_test::synthetic_report(2'000)));
}
