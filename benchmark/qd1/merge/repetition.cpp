// SPDX-License-Identifier: BSL-1.0
#include "merge/repetition.hpp"

#include "machine/differences.hpp"
#include "merge/between.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace qd1 {
namespace {

bool have_same_settings(const settings& a, const settings& b) {
  return a.path == b.path && a.file_size == b.file_size && a.block == b.block && a.samples == b.samples &&
         a.seconds == b.seconds && a.rounds == b.rounds && a.engine == b.engine && a.targets == b.targets &&
         a.percentiles == b.percentiles;
}

// A report of several runs that are no repetitions has figures of another kind.
bool is_of_one_thing(const report& run) {
  return std::ranges::all_of(run.series,
                             [](const series& each) { return each.contributions.size() == repetitions(each); });
}

void add(service& to, const service& counts) {
  to.by_call += counts.by_call;
  to.by_inline += counts.by_inline;
  to.by_ring += counts.by_ring;
  to.by_worker += counts.by_worker;
  add_stall(to.stall, counts.stall);
}

// Steady if all runs were.
void add_shortage(series& to, const std::vector<ingredient>& from_each) {
  to.shortage = from_each.front().found->shortage;
  if (!to.shortage) return;
  to.shortage->dirty_most.reset();
  to.shortage->limit_hits.reset();
  for (const auto& [_, from] : from_each) {
    if (!from->shortage) continue;
    const auto& [how, dirty, limit, background, source, hits, bound] = *from->shortage;
    if (dirty) to.shortage->dirty_most = std::max(to.shortage->dirty_most.value_or(0), *dirty);
    if (hits) to.shortage->limit_hits = to.shortage->limit_hits.value_or(0) + *hits;
    if (bound != to.shortage->bound) to.shortage->bound = bound::unknown;
  }
}

// Of runs that several ranks made together: a rank that was behind the others.
void note_stragglers(series& to, const std::vector<ingredient>& from_each) {
  for (const auto& [run, from] : from_each)
    for (const contribution& each : from->contributions)
      if (repetitions(*from) == 0 && !each.straggles.empty())
        to.notes.push_back(fmt::format("{}, {}: {}", run->name, each.name, each.straggles));
}

void add(std::optional<std::uint64_t>& to, const std::optional<std::uint64_t>& more) {
  to = to && more ? std::optional(*to + *more) : std::nullopt;
}

void add(machine_counters& to, const machine_counters& more) {
  if (to.processors && more.processors) {
    to.processors->total += more.processors->total;
    to.processors->idle += more.processors->idle;
    add(to.processors->steal, more.processors->steal);
  }
  add(to.waited_ns, more.waited_ns);
  add(to.throttled, more.throttled);
  to.frequency_mhz = more.frequency_mhz;
  for (device_counters& each : to.devices) {
    const device_counters* const same = more.find(each.name);
    if (same == nullptr) continue;
    for (const auto counter : {&device_counters::reads, &device_counters::writes, &device_counters::discards,
                               &device_counters::flushes, &device_counters::read_merges, &device_counters::write_merges,
                               &device_counters::read_bytes, &device_counters::write_bytes})
      each.*counter += same->*counter;
    each.in_flight = same->in_flight;
  }
}

std::optional<double> began_of(const report& run) {
  for (const series& each : run.series)
    if (each.began) return each.began;
  return std::nullopt;
}

}  // namespace

bool are_repetitions(const std::vector<named_run>& runs) {
  const report& first = runs.front().run;
  return std::ranges::all_of(runs, [&](const named_run& each) {
    return is_of_one_thing(each.run) && each.run.version == first.version &&
           have_same_settings(each.run.settings, first.settings) &&
           differences(first.machine, each.run.machine).empty();
  });
}

double seconds_of(const report& run) {
  double end = 0;
  for (const series& each : run.series)
    for (const round& one : each.rounds) end = std::max(end, one.start + one.seconds);
  return end;
}

// Runs that took turns with others have to keep their times: what the others did lies between.
void put_in_succession(std::vector<named_run>& runs) {
  const std::optional<double> began = began_of(runs.front().run);
  double offset = 0;
  for (named_run& each : runs) {
    const double seconds = seconds_of(each.run);
    if (const auto own = began_of(each.run); own && began) offset = std::max(offset, *own - *began);
    for (series& one : each.run.series)
      for (round& round : one.rounds) round.start += offset;
    offset += seconds;
  }
}

void set_repeated(series& to, const std::vector<ingredient>& from_each) {
  to.service = {.engine = to.service.engine,
                .reason = to.service.reason,
                .features = to.service.features,
                .lacking = to.service.lacking};
  to.turns = from_each.front().found->turns;
  to.began = from_each.front().found->began;
  double before = 0;
  for (const auto& [_, from] : from_each) {
    add(to.service, from->service);
    if (from->turns != to.turns) to.turns.clear();
    if (to.turns.empty() || !from->began) to.began.reset();
    for (slice each : from->slices) {
      each.start += before;
      to.slices.push_back(each);
    }
    before += from->seconds;
  }
  add_shortage(to, from_each);
  note_stragglers(to, from_each);
  set_between_runs(to, from_each);
}

void set_repeated(report& to, const std::vector<named_run>& runs) {
  const report& last = runs.back().run;
  to.noise_after = last.noise_after;
  to.memory_after = last.memory_after;
  for (std::size_t each = 1; each < runs.size(); ++each) {
    add(to.counters, runs[each].run.counters);
    if (std::abs(runs[each].run.clock.deviation) > std::abs(to.clock.deviation))
      to.clock.deviation = runs[each].run.clock.deviation;
  }
}

}  // namespace qd1
