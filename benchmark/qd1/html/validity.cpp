// SPDX-License-Identifier: BSL-1.0
#include "validity.hpp"

#include "quantity.hpp"

#include <fmt/format.h>
#include <qd1/machine/differences.hpp>

#include <algorithm>

namespace qd1::html {
namespace {

std::string name_of(const work& which) {
  std::string text = fmt::format("{} {}, {}", name(which.mode), name(which.operation), name(which.form));
  if (which.operation == operation::read && traits(which.mode).keeps_pages)
    text += fmt::format(", {}", name(which.temperature));
  if (which.operation == operation::write) text += fmt::format(", {}", name(which.durability));
  return text;
}

std::string prefix(const named_report& run, std::span<const named_report> among) {
  return among.size() > 1 ? run.name + ": " : "";
}

node banner(std::string_view kind, std::string heading, std::string text, nodes reasons) {
  nodes contents = {element("strong", {}, {std::move(heading)}), element("p", {}, {std::move(text)})};
  if (!reasons.empty()) contents.push_back(element("ul", {}, std::move(reasons)));
  return element("section", {{"class", fmt::format("banner {}", kind)}, {"role", "alert"}}, std::move(contents));
}

node invalid_banner(const named_report& run, std::span<const named_report> among) {
  nodes reasons;
  std::size_t affected = 0;
  for (const series& each : run.run->series) {
    if (!each.invalid.empty()) ++affected;
    for (const std::string& reason : each.invalid)
      reasons.push_back(element("li", {}, {element("b", {}, {name_of(each.work) + ": "}), reason}));
  }
  return banner("invalid", prefix(run, among) + "INVALID",
                fmt::format("{} of {} series must not be believed; their figures are withheld. Do not quote this run.",
                            affected, run.run->series.size()),
                std::move(reasons));
}

node incomplete_banner(const named_report& run, std::span<const named_report> among) {
  return banner("incomplete", prefix(run, among) + "INCOMPLETE",
                "The run was interrupted. What it had measured by then is shown; series may have few samples or be "
                "missing.",
                {});
}

// In what a run is not to be compared with the first.
nodes obstacles(const named_report& run, const named_report& first) {
  nodes found;
  for (const machine_difference& each : differences(first.run->machine, run.run->machine))
    if (each.forbids) found.push_back(element("li", {}, {each.in_words()}));
  return found;
}

bool is_complete(const report& run) { return run.complete && std::ranges::all_of(run.series, &series::complete); }

node mark(std::string_view kind, std::string_view sign, std::string text) {
  return element("li", {{"class", std::string(kind)}},
                 {element("span", {{"aria-hidden", "true"}}, {sign}), " ", std::move(text)});
}

node validity_mark(const report& run) {
  const auto is_valid = [](const series& each) { return each.invalid.empty(); };
  const auto measured = std::ranges::count_if(run.series, &series::measured);
  if (!run.valid()) {
    const auto valid = std::ranges::count_if(run.series, is_valid);
    return mark(
        "bad", "✗",
        fmt::format("{} of {} series invalid", static_cast<long>(run.series.size()) - valid, run.series.size()));
  }
  const std::string valid = fmt::format("{} of {} series valid", measured, run.series.size());
  const auto unsteady =
      std::ranges::count_if(run.series, [](const series& each) { return each.measured() && each.steady == false; });
  if (unsteady != 0) return mark("doubtful", "?", fmt::format("{}, {} not steady", valid, unsteady));
  return mark("good", "✓", valid);
}

std::string direct_not_verified(const report& run) {
  std::size_t all = 0, verified = 0;
  for (const series& each : run.series) {
    if (!each.not_available.empty() || !traits(each.work.mode).is_direct) continue;
    ++all;
    verified += each.verification.result == verification::verdict::verified;
  }
  return verified == 0 ? "direct not verified" : fmt::format("direct verified in {} of {} series", verified, all);
}

// Adds the worst verdict of all direct series, and how many have another.
void add_direct_mark(node& to, const report& run) {
  using enum verification::verdict;
  const auto is = [&](verification::verdict what) {
    return std::ranges::any_of(run.series, [&](const series& each) {
      return each.not_available.empty() && traits(each.work.mode).is_direct && each.verification.result == what;
    });
  };
  if (is(refuted))
    to.add(mark("bad", "✗", "direct was not direct"));
  else if (is(unknown))
    to.add(mark("doubtful", "?", direct_not_verified(run)));
  else if (is(verified))
    to.add(mark("good", "✓", "direct verified at the device"));
}

void add_noise_mark(node& to, const report& run) {
  if (run.trusted_fraction)
    to.add(mark(*run.trusted_fraction < 0.99 ? "doubtful" : "good", *run.trusted_fraction < 0.99 ? "?" : "✓",
                "host quiet enough up to " + trust_in_words(run)));
  else if (!run.noise_before && !run.noise_after)
    to.add(mark("doubtful", "?", "noise of the host not measured"));
}

void add_advice_mark(node& to, const report& run) {
  const auto spoils = [](const recommendation& each) { return each.severity != severity::note; };
  if (const auto count = std::ranges::count_if(run.advice, spoils); count != 0)
    to.add(mark("doubtful", "!",
                count == 1 ? "a setting spoils figures, see below"
                           : fmt::format("{} settings spoil figures, see below", count)));
}

}  // namespace

std::string trust_in_words(const report& run) {
  if (!run.trusted_fraction) return "not known";
  double most = *run.trusted_fraction;
  for (const series& each : run.series)
    if (each.measured()) most = std::max(most, each.trusted_fraction.value_or(0));
  const std::string low = trusted_text(*run.trusted_fraction), high = trusted_text(most);
  return low == high ? low : fmt::format("{} to {}, by series", low, high);
}

standing standing_of(const report& run) {
  if (!run.valid()) return standing::invalid;
  return is_complete(run) ? standing::sound : standing::incomplete;
}

standing worst_of(std::span<const named_report> runs) {
  standing worst = standing::sound;
  for (const named_report& each : runs) worst = std::max(worst, standing_of(*each.run));
  return worst;
}

bool comparable(std::span<const named_report> runs) {
  return std::ranges::all_of(runs, [&](const named_report& each) { return obstacles(each, runs.front()).empty(); });
}

nodes banners(std::span<const named_report> runs) {
  nodes found;
  for (const named_report& each : runs) {
    if (!each.run->valid()) found.push_back(invalid_banner(each, runs));
    if (nodes reasons = obstacles(each, runs.front()); !reasons.empty())
      found.push_back(banner("incomplete", prefix(each, runs) + "NOT COMPARABLE",
                             "It did not measure the same thing as the first run:", std::move(reasons)));
    if (!is_complete(*each.run)) found.push_back(incomplete_banner(each, runs));
  }
  return found;
}

node assurances(const report& run) {
  node list = element("ul", {{"class", "assurances"}, {"aria-label", "how far the run can be trusted"}});
  list.add(validity_mark(run));
  add_direct_mark(list, run);
  add_noise_mark(list, run);
  add_advice_mark(list, run);
  if (run.clock.floor_ns > 0) list.add(mark("plain", "◷", "clock costs " + duration_text(run.clock.floor_ns)));
  return list;
}

}  // namespace qd1::html
