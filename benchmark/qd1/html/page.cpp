// SPDX-License-Identifier: BSL-1.0
// The page: what a reader has to know first comes first.
#include "cdf_chart.hpp"
#include "depth_chart.hpp"
#include "html.hpp"
#include "load_panel.hpp"
#include "machine.hpp"
#include "markup.hpp"
#include "overview.hpp"
#include "panel.hpp"
#include "percentile_chart.hpp"
#include "quantity.hpp"
#include "strip.hpp"
#include "table.hpp"
#include "validity.hpp"
#include "verdict.hpp"

#include <fmt/format.h>
#include <qd1/depth/rungs.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace qd1::html {
namespace {

constexpr std::string_view style =
#include "style.css"
    ;
constexpr std::string_view script =
#include "read_out.js"
    ;

using runs_shown = std::span<const named_report>;

// Runs that are compared show each step by itself.
bool shows_loads(runs_shown runs) { return runs.size() == 1 && has_loads(*runs.front().run); }

std::string_view sign_of(standing which) {
  switch (which) {
    case standing::sound: return "";
    case standing::incomplete: return "INCOMPLETE – ";
    case standing::invalid: break;
  }
  return "INVALID – ";
}

// "2026-01-02T03:04:05Z" as people write it.
std::string date_text(std::string iso) {
  if (const auto at = iso.find('T'); at != std::string::npos) iso[at] = ' ';
  if (iso.ends_with('Z')) iso.replace(iso.size() - 1, 1, " UTC");
  return iso;
}

std::string_view subject(runs_shown runs) {
  return has_loads(*runs.front().run) ? "under load" : "latency at queue depth 1";
}

std::string title(runs_shown runs) {
  std::string text(sign_of(worst_of(runs)));
  if (runs.size() == 1)
    return text + fmt::format("File I/O {}, {}", subject(runs), date_text(runs.front().run->started));
  text += fmt::format("File I/O {}:", subject(runs));
  for (const named_report& each : runs) text += (&each == &runs.front() ? " " : ", ") + each.name;
  return text;
}

node head(runs_shown runs) {
  return element("head", {},
                 {element("meta", {{"charset", "utf-8"}}),
                  element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}),
                  element("meta", {{"name", "color-scheme"}, {"content", "light dark"}}),
                  element("meta", {{"name", "generator"}, {"content", "qd1 " + runs.front().run->version}}),
                  element("title", {}, {title(runs)}), element("style", {}, {style})});
}

std::string subtitle(const report& run) {
  const settings& with = run.settings;
  return fmt::format("{} blocks, {} file, {} · {} · qd1 {}", size_text(with.block), size_text(with.file_size),
                     has_loads(run) ? "many operations in flight" : "queue depth 1, one operation after the other",
                     date_text(run.started), run.version);
}

node header(runs_shown runs) {
  node found = element("header");
  if (runs.size() == 1) {
    const report& run = *runs.front().run;
    found.add(element("h1", {},
                      {has_loads(run) ? "How much file I/O can be in flight" : "How long one file operation takes"}));
    found.add(element("p", {{"class", "subtitle"}}, {subtitle(run)}));
    found.add(assurances(run));
    return found;
  }
  found.add(element("h1", {}, {"How long one file operation takes, compared"}));
  for (std::size_t each = 0; each < runs.size(); ++each)
    found.add(
        element("div", {{"class", fmt::format("compared run{}", each % 6 + 1)}},
                {element("b", {}, {runs[each].name}), " ", subtitle(*runs[each].run), assurances(*runs[each].run)}));
  return found;
}

nodes verdict(const panel& from, runs_shown runs) {
  if (shows_loads(runs)) return {verdict_of_load(from)};
  if (runs.size() == 1) return verdict_of_modes(from);
  if (!comparable(runs)) return {"No verdict: the runs are not of the same thing."};
  return verdict_of_runs(from);
}

// The modes beside each other; of loads, what depth brings.
node picture(const panel& from, runs_shown runs) {
  node throughput = shows_loads(runs) ? throughput_chart(from) : "";
  return throughput.empty() ? overview(from) : throughput;
}

// The answer: a sentence and a picture for each kind of work.
node answer(const panel& from, runs_shown runs) {
  return element("article", {},
                 {element("h2", {}, {from.title}), element("p", {{"class", "detail"}}, {from.detail}),
                  element("p", {{"class", "verdict"}}, verdict(from, runs)), picture(from, runs)});
}

node answers(const std::vector<panel>& panels, runs_shown runs) {
  node found = element("section", {{"class", "answers"}});
  for (const panel& each : panels) found.add(answer(each, runs));
  if (shows_loads(runs)) return found;
  found.add(
      element("p", {{"class", "how"}},
              {"Dot: median, with its 95 % interval. Thick bar: up to p99. Thin line: up to p99.9. Logarithmic: each "
               "step to the right is a multiple."}));
  return found;
}

node details(const panel& from, runs_shown runs) {
  node found = element(
      "section", {{"class", "details"}},
      {element("h2", {}, {from.title}), element("p", {{"class", "detail"}}, {from.detail}), figures_table(from)});
  node latency = shows_loads(runs) ? latency_chart(from) : "";
  if (from.any_drawable())
    found.add(element("div", {{"class", "charts"}},
                      {percentile_chart(from), latency.empty() ? cdf_chart(from) : std::move(latency)}));
  found.add(strips(from));
  found.add(evidence_table(from));
  return found;
}

node notes(runs_shown runs) {
  node list = element("ul");
  bool any = false;
  for (const named_report& each : runs)
    for (const std::string& note : each.run->notes) {
      list.add(element("li", {}, {runs.size() > 1 ? each.name + ": " + note : note}));
      any = true;
    }
  if (!any) return "";
  return element("section", {{"class", "notes"}}, {element("h2", {}, {"Worth knowing"}), std::move(list)});
}

node footer() {
  return element(
      "footer", {},
      {element("p", {},
               {"How to read it: p99 is the time within which 99 of 100 operations are over. An interval says "
                "where the true value lies with a confidence of 95 %; where there are too few samples for one, "
                "no figure is given. Unless a rate is given the next operation begins when the last one is "
                "over, so these are service times and not what a queue of users would see."})});
}

std::string page(runs_shown runs, const std::vector<panel>& panels) {
  node body = element("body", {{"class", worst_of(runs) == standing::invalid ? "invalid" : ""}});
  for (node& each : banners(runs)) body.add(std::move(each));
  node main = element("main", {}, {header(runs), answers(panels, runs)});
  for (const panel& each : panels) main.add(details(each, runs));
  main.add(notes(runs));
  main.add(advice_block(runs));
  main.add(machine_block(runs));
  main.add(footer());
  body.add(std::move(main));
  body.add(element("div", {{"id", "read-out"}, {"aria-hidden", "true"}}));
  body.add(element("script", {}, {script}));
  return "<!DOCTYPE html>" +
         to_string(element("html", {{"lang", "en"}, {"xmlns", "http://www.w3.org/1999/xhtml"}},
                           {head(runs), std::move(body)})) +
         "\n";
}

}  // namespace

std::string render(const report& run) {
  const named_report only[] = {{"", &run}};
  return page(only, has_loads(run) ? panels_of_loads(run) : panels_of(run));
}

std::string render(std::span<const named_report> runs) {
  if (runs.size() == 1) return render(*runs.front().run);
  return page(runs, panels_of(runs));
}

}  // namespace qd1::html
