// SPDX-License-Identifier: BSL-1.0
// The page: what a reader has to know first comes first.
#include "detections.hpp"
#include "document.hpp"
#include "html.hpp"
#include "machine.hpp"
#include "markup.hpp"
#include "panel.hpp"
#include "quantity.hpp"
#include "sections.hpp"
#include "series_table.hpp"
#include "validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace qd1::html {
namespace {

using runs_shown = std::span<const named_report>;

std::string_view sign_of(standing which) {
  switch (which) {
    case standing::sound: return "";
    case standing::incomplete: return "INCOMPLETE – ";
    case standing::invalid: break;
  }
  return "INVALID – ";
}

std::string_view subject_of(runs_shown runs) {
  const report& first = *runs.front().run;
  if (!first.settings.profile.empty()) return "by a profile";
  switch (first.kind) {
    case report_kind::memory: return "with short memory";
    case report_kind::depth: return "under load";
    case report_kind::run: break;
  }
  return "latency at queue depth 1";
}

std::string title(runs_shown runs) {
  std::string text(sign_of(worst_of(runs)));
  if (runs.size() == 1)
    return text + fmt::format("File I/O {}, {}", subject_of(runs), date_text(runs.front().run->started));
  text += fmt::format("File I/O {}:", subject_of(runs));
  for (const named_report& each : runs) text += (&each == &runs.front() ? " " : ", ") + each.name;
  return text;
}

std::string subtitle(const report& run) {
  const settings& with = run.settings;
  if (!with.profile.empty())
    return fmt::format("profile {}, {} file · {} · qd1 {}", with.profile, size_text(with.file_size),
                       date_text(run.started), run.version);
  return fmt::format(
      "{} blocks, {} file, {} · {} · qd1 {}", size_text(with.block), size_text(with.file_size),
      run.kind == report_kind::depth ? "many operations in flight" : "queue depth 1, one operation after the other",
      date_text(run.started), run.version);
}

std::string_view heading(const report& run) {
  if (!run.settings.profile.empty()) return "What this storage reads and writes per second";
  switch (run.kind) {
    case report_kind::memory: return "How fast file I/O is when memory is short";
    case report_kind::depth: return "File I/O with many operations in flight";
    case report_kind::run: break;
  }
  return "How long one file operation takes";
}

node header(runs_shown runs) {
  node found = element("header");
  if (runs.size() == 1) {
    const report& run = *runs.front().run;
    found.add(element("h1", {}, {heading(run)}));
    found.add(element("p", {{"class", "subtitle"}}, {subtitle(run)}));
    found.add(element("p", {{"class", "subtitle"}}, {machine_summary(run.machine)}));
    found.add(assurances(run));
    return found;
  }
  found.add(element("h1", {}, {"How long one file operation takes, compared"}));
  for (std::size_t each = 0; each < runs.size(); ++each)
    found.add(element("div", {{"class", fmt::format("compared run{}", each % 6 + 1)}},
                      {element("b", {}, {runs[each].name}), " ", subtitle(*runs[each].run),
                       element("p", {{"class", "subtitle"}}, {machine_summary(runs[each].run->machine)}),
                       assurances(*runs[each].run)}));
  return found;
}

bool has_repetitions(runs_shown runs) {
  return std::ranges::any_of(runs, [](const named_report& run) {
    return std::ranges::any_of(run.run->series, [](const series& each) { return repetitions(each) != 0; });
  });
}

node footer(runs_shown runs) {
  const char* const covered =
      has_repetitions(runs)
          ? "An interval between runs contains the mean of many such runs with a confidence of 95 %. It includes what "
            "differs from run to run. The figures are geometric means over the runs; curves are of all samples. "
          : "An interval contains, with a confidence of 95 %, the value that this run would have if it continued; "
            "another run may differ by more. ";
  return element(
      "footer", {},
      {element(
          "p", {},
          {"How to read it: p99 is the time within which 99 of 100 operations complete. ", covered,
           "Where there are too few samples, no figure is given. Unless a rate is given, an operation begins when the "
           "previous one completes, so these are service times, not what users in a queue would see."})});
}

std::string page(runs_shown runs, const std::vector<panel>& panels) {
  nodes contents = banners(runs);
  node main = element("main", {}, {header(runs)});
  if (runs.size() == 1) main.add(detections(*runs.front().run));
  main.add(answers(panels, runs));
  if (runs.size() > 1) main.add(series_table(runs));
  for (const panel& each : panels) main.add(details(each, runs));
  main.add(notes(runs));
  main.add(advice_block(runs));
  main.add(machine_block(runs));
  main.add(footer(runs));
  contents.push_back(std::move(main));
  return document(title(runs), runs.front().run->version, worst_of(runs) == standing::invalid ? "invalid" : "",
                  std::move(contents));
}

}  // namespace

std::string render(const report& run) {
  const named_report only[] = {{"", &run}};
  return page(only, panels_to_show(run));
}

std::string render(std::span<const named_report> runs) {
  if (runs.size() == 1) return render(*runs.front().run);
  return page(runs, panels_of(runs));
}

}  // namespace qd1::html
