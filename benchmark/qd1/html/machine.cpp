// SPDX-License-Identifier: BSL-1.0
#include "machine.hpp"

#include "quantity.hpp"
#include "validity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <qd1/machine/differences.hpp>
#include <qd1/machine/medium.hpp>
#include <qd1/machine/present.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace qd1::html {
namespace {

struct fact {
  std::string name;
  std::string value;
};

struct topic {
  std::string title;
  std::vector<fact> facts;
  bool compared = true;  ///< fact by fact; the machine's own are compared by who knows what they mean
};

topic run_topic(const report& run) {
  topic about{"Run", {{"command", run.command_line}, {"started", run.started}, {"qd1", run.version}}};
  const settings& with = run.settings;
  about.facts.push_back(
      {"file", fmt::format("{}, {}", with.path.empty() ? "temporary" : with.path, size_text(with.file_size))});
  about.facts.push_back({"block", size_text(with.block)});
  about.facts.push_back(
      {"a series", fmt::format("at most {} samples, {:.4g} s", count_text(with.samples), with.seconds)});
  about.facts.push_back({"requested engine", with.engine});
  about.facts.push_back({"seed", fmt::format("{}", with.seed)});
  return about;
}

topic clock_topic(const report& run) {
  const auto& clock = run.clock;
  topic about{"Clock", {{"source", clock.source}}};
  if (!clock.reason.empty()) about.facts.push_back({"why", clock.reason});
  about.facts.push_back({"tick", duration_text(clock.tick_ns)});
  about.facts.push_back({"cost of reading it", duration_text(clock.floor_ns)});
  about.facts.push_back({"deviation", fmt::format("{:.2g} of the system’s clock", clock.deviation)});
  return about;
}

std::string noise_text(const noise& seen) {
  std::uint64_t gaps = 0;
  for (const bin& each : seen.gaps) gaps += each.count;
  return fmt::format("{} gaps of more than 1\u00a0µs in {:.3g}\u00a0s, the longest {}", count_text(gaps), seen.seconds,
                     duration_text(seen.max_ns));
}

topic noise_topic(const report& run) {
  topic about{"Noise of the host", {}};
  if (run.noise_before) about.facts.push_back({"before", noise_text(*run.noise_before)});
  if (run.noise_after) about.facts.push_back({"after", noise_text(*run.noise_after)});
  about.facts.push_back({"trust up to", trust_in_words(run)});
  if (run.counters.processors)
    if (const auto steal = run.counters.processors->steal_percent())
      about.facts.push_back({"stolen by others", fmt::format("{:.2g}\u00a0% of the processors’ time", *steal)});
  return about;
}

std::vector<topic> topics_of(const report& run) {
  std::vector<topic> found = {run_topic(run), clock_topic(run), noise_topic(run)};
  for (const section& each : present(run.machine)) {
    topic about{each.title, {}, false};
    for (const line& fact : each.lines) about.facts.push_back({fact.label, fact.text});
    if (!about.facts.empty()) found.push_back(std::move(about));
  }
  return found;
}

node list_of(const topic& about) {
  node list = element("dl");
  for (const fact& each : about.facts)
    if (!each.value.empty())
      list.add(element("div", {}, {element("dt", {}, {each.name}), element("dd", {}, {each.value})}));
  return element("div", {{"class", "topic"}}, {element("h3", {}, {about.title}), std::move(list)});
}

const fact* find(const std::vector<topic>& in, const topic& about, const std::string& name) {
  const auto same = std::ranges::find(in, about.title, &topic::title);
  if (same == in.end()) return nullptr;
  const auto found = std::ranges::find(same->facts, name, &fact::name);
  return found == same->facts.end() ? nullptr : &*found;
}

node row_of(const fact& first, const topic& about, const std::vector<std::vector<topic>>& runs) {
  node row = element("tr", {}, {element("th", {{"scope", "row"}}, {about.title + ", " + first.name})});
  for (const std::vector<topic>& run : runs) {
    const fact* same = find(run, about, first.name);
    const bool differs = !same || same->value != first.value;
    row.add(element("td", {{"class", differs ? "differs" : ""}}, {same ? same->value : std::string("–")}));
  }
  return row;
}

// Each fact of the first run beside those of the others.
node table_of(std::span<const named_report> runs) {
  std::vector<std::vector<topic>> all;
  node head = element("tr", {}, {element("th", {{"scope", "col"}}, {"Run"})});
  for (const named_report& each : runs) {
    all.push_back(topics_of(*each.run));
    head.add(element("th", {{"scope", "col"}}, {each.name}));
  }
  node body = element("tbody");
  for (const topic& about : all.front())
    for (const fact& each : about.facts)
      if (about.compared) body.add(row_of(each, about, all));
  return element("div", {{"class", "wide"}},
                 {element("table", {{"class", "differences"}, {"role", "table"}},
                          {element("caption", {}, {"How the runs were made; bold: differs from the first."}),
                           element("thead", {}, {std::move(head)}), std::move(body)})});
}

// What is not the same about the machines.
node differences_list(std::span<const named_report> runs) {
  node list = element("ul");
  bool any = false;
  for (const named_report& other : runs.subspan(1))
    for (const machine_difference& each : differences(runs.front().run->machine, other.run->machine)) {
      list.add(element(
          "li", {{"class", each.forbids ? "bad" : ""}},
          {element("b", {}, {other.name + ": "}), each.in_words() + (each.forbids ? " – not comparable" : "")}));
      any = true;
    }
  if (!any) return element("p", {}, {"No difference between the machines is known."});
  return element("div", {},
                 {element("h3", {}, {fmt::format("Differences from {}", runs.front().name)}), std::move(list)});
}

// "Samsung SSD 980 PRO, nvme", or "vda, virtio"; of several, the first and how many there are.
std::string drives_text(const machine_facts& machine) {
  std::vector<std::string> found;
  for (const device_facts& each : machine.devices) {
    if (!is_lowest(each)) continue;
    const std::string what = each.model.value_or(each.name);
    found.push_back(fmt::format("{}, {}", what, each.transport.value_or(each.kind)));
  }
  if (found.empty()) return bottom_of(machine).why;
  return found.size() == 1 ? found.front() : fmt::format("{} and {} more", found.front(), found.size() - 1);
}

}  // namespace

std::string machine_summary(const machine_facts& machine) {
  std::vector<std::string> parts = {drives_text(machine), machine.filesystem.type.value_or("block device")};
  for (const auto& each : {machine.host.cpu.model, machine.host.kernel})
    if (each) parts.push_back(*each);
  return fmt::format("{}", fmt::join(parts, " · "));
}

node advice_block(std::span<const named_report> runs) {
  node list = element("ul", {{"class", "advice"}});
  bool any = false;
  for (const named_report& run : runs)
    for (const recommendation& each : run.run->advice) {
      const bool note = each.severity == severity::note;
      node item = element("li", {},
                          {element("b",
                                   {{"class", note                                ? ""
                                              : each.severity == severity::severe ? "bad"
                                                                                  : "doubtful"}},
                                   {(runs.size() > 1 ? run.name + ": " : "") + std::string(name(each.severity))}),
                           " ", each.finding, element("p", {}, {each.why})});
      if (each.command) item.add(element("p", {}, {element("code", {}, {*each.command})}));
      list.add(std::move(item));
      any = true;
    }
  if (!any) return "";
  return element("section", {{"class", "notes"}},
                 {element("h2", {}, {"Machine settings that affect these results"}), std::move(list)});
}

node machine_block(std::span<const named_report> runs) {
  node section = element("section", {{"class", "machine"}}, {element("h2", {}, {"Where and how it was measured"})});
  if (runs.size() > 1) {
    section.add(differences_list(runs));
    section.add(table_of(runs));
    return section;
  }
  node topics = element("div", {{"class", "topics"}});
  for (const topic& each : topics_of(*runs.front().run)) topics.add(list_of(each));
  section.add(std::move(topics));
  return section;
}

}  // namespace qd1::html
