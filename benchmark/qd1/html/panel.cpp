// SPDX-License-Identifier: BSL-1.0
#include "panel.hpp"

#include "quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qd1::html {
namespace {

// Two series with the same of this belong together.
work kind_of(work from) {
  work kind = from;
  kind.mode = mode::direct;
  kind.form = form::blocking;
  kind.advice = advice::normal;
  // What is not asked of an operation must not part it from others.
  if (from.operation == operation::read) kind.durability = durability::accepted;
  if (from.operation == operation::write) kind.temperature = temperature::warm;
  return kind;
}

// Direct reads are neither warm nor cold: they belong to both, as the measure of what the device takes.
bool belongs(const work& which, const work& kind) {
  work own = kind_of(which);
  if (which.operation == operation::read && !traits(which.mode).keeps_pages) own.temperature = kind.temperature;
  return own == kind;
}

bool is_direct_read(const work& which) { return !traits(which.mode).keeps_pages && which.operation == operation::read; }

std::string kind_title(const work& kind) {
  if (kind.operation == operation::read) return fmt::format("{} reads", name(kind.temperature));
  if (kind.durability == durability::accepted) return "accepted writes";
  return kind.durability == durability::flushed ? "flushed writes" : "writes, written through";
}

// "Cached, warm reads"
std::string title_of_mode(const work& what) {
  if (is_direct_read(what)) return "direct reads";
  return fmt::format("{}, {}", mode_text(what), kind_title(what));
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string meaning(const work& kind) {
  if (kind.operation == operation::read)
    return kind.temperature == temperature::warm ? "the pages are in memory" : "the pages are not in memory";
  switch (kind.durability) {
    case durability::accepted: return "complete once the page cache or the device accepts them; not yet durable";
    case durability::written_through: return "complete once the data are on stable storage";
    case durability::flushed: break;
  }
  return "complete once a sync after them is";
}

std::string order_in_words(const load& of) {
  if (of.order == order::sequential) return "one after the other";
  return fmt::format("the k-th most popular with a probability proportional to 1 / k^{:g}", of.theta.value_or(0));
}

std::string detail(const work& kind) {
  std::string text = size_text(kind.block);
  if (kind.working_set != 0) text += fmt::format(" blocks chosen from {}", size_text(kind.working_set));
  if (kind.load.order != order::random) text += fmt::format(", {}", order_in_words(kind.load));
  if (!kind.load.is_single()) text += fmt::format(", {} in flight", kind.load.in_flight());
  if (kind.load.share < 1) text += fmt::format(", {:.3g} % of a mix", kind.load.share * 100);
  if (kind.rate)
    text += fmt::format(", {}{} operations a second, timed from the intended start", rate_text(*kind.rate),
                        kind.poisson ? " random" : "");
  return text;
}

std::string short_form(form which) { return which == form::blocking ? "" : " async"; }

curve curve_of_mode(const series& which, const report& among) {
  const work& what = which.work;
  const std::string base = mode_text(what);
  const bool asynchronous = what.form == form::asynchronous;
  return {&which,
          base + (asynchronous ? ", asynchronous" : ", blocking"),
          base + short_form(what.form),
          std::string(name(what.mode)) + (advice_text(what).empty() ? "" : " second"),
          asynchronous,
          trusted(which, among)};
}

curve curve_of_run(const series& which, const named_report& run, std::size_t number) {
  const bool asynchronous = which.work.form == form::asynchronous;
  return {&which,
          run.name + (asynchronous ? ", asynchronous" : ", blocking"),
          run.name + (asynchronous ? ", asynchronous" : ""),
          fmt::format("run{}", number % 6 + 1),
          asynchronous,
          trusted(which, *run.run)};
}

std::vector<work> kinds_of(const report& run) {
  std::vector<work> kinds;
  const auto add = [&](const series& each) {
    const auto same = [&](const work& kind) { return belongs(each.work, kind); };
    if (std::ranges::none_of(kinds, same)) kinds.push_back(kind_of(each.work));
  };
  // Series that distinguish warm from cold make the panels that direct reads then belong to.
  for (const series& each : run.series)
    if (traits(each.work.mode).keeps_pages) add(each);
  for (const series& each : run.series)
    if (!traits(each.work.mode).keeps_pages) add(each);
  return kinds;
}

}  // namespace

double trusted(const series& which, const report& among) {
  return which.trusted_fraction.value_or(among.trusted_fraction.value_or(1));
}

bool panel::any_timed() const { return std::ranges::any_of(curves, &curve::timed); }

bool panel::any_drawable() const { return std::ranges::any_of(curves, &curve::drawable); }

double panel::trusted() const {
  double furthest = 0;
  for (const curve& each : curves)
    if (each.measured()) furthest = std::max(furthest, each.trusted);
  return furthest;
}

std::vector<panel> panels_of(const report& run) {
  std::vector<panel> found;
  for (const work& kind : kinds_of(run)) {
    panel next{capitalized(kind_title(kind)), detail(kind) + "; " + meaning(kind), {}, run.clock.floor_ns};
    for (const series& each : run.series)
      if (belongs(each.work, kind)) next.curves.push_back(curve_of_mode(each, run));
    if (std::ranges::all_of(next.curves, [](const curve& each) { return is_direct_read(each.series->work); })) {
      next.title = "Direct reads";
      next.detail = detail(kind);
    } else if (kind.operation == operation::read) {
      next.detail += "; direct reads bypass them";
    }
    found.push_back(std::move(next));
  }
  return found;
}

std::vector<panel> panels_of(std::span<const named_report> runs) {
  struct kind_of_work {
    work what;
    panel shown;
  };
  std::vector<kind_of_work> kinds;
  for (std::size_t run = 0; run < runs.size(); ++run)
    for (const series& each : runs[run].run->series) {
      work what = each.work;
      what.form = form::blocking;
      auto place = std::ranges::find(kinds, what, &kind_of_work::what);
      if (place == kinds.end()) {
        kinds.push_back({what, {capitalized(title_of_mode(what)), detail(what), {}, 0}});
        place = kinds.end() - 1;
      }
      place->shown.floor_ns = std::max(place->shown.floor_ns, runs[run].run->clock.floor_ns);
      place->shown.curves.push_back(curve_of_run(each, runs[run], run));
    }
  std::vector<panel> found;
  found.reserve(kinds.size());
  for (kind_of_work& each : kinds) found.push_back(std::move(each.shown));
  return found;
}

const estimate* percentile_in(const series& from, double fraction) {
  for (const percentile& each : from.latency.percentiles)
    if (std::abs(each.fraction - fraction) < 1e-9) return each.value ? &*each.value : nullptr;
  return nullptr;
}

}  // namespace qd1::html
