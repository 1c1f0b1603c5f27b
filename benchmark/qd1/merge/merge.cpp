// SPDX-License-Identifier: BSL-1.0
#include "merge/merge.hpp"

#include "compare/in_turn.hpp"
#include "failure.hpp"
#include "figures.hpp"
#include "machine/differences.hpp"
#include "measure/verification.hpp"
#include "merge/ingredient.hpp"
#include "merge/repetition.hpp"
#include "merge/stragglers.hpp"
#include "output/report_text.hpp"
#include "statistics/histogram.hpp"
#include "statistics/order_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace qd1 {
namespace {

// How the runs that become one are related.
enum class relation : std::uint8_t {
  side_by_side,  // they went on at the same time
  in_turn,       // … but one of them measured at a time
  repeated,      // the same thing, one after the other
  apart          // at different times, and something differs
};

std::vector<ingredient> ingredients_of(const work& work, const std::vector<named_run>& runs) {
  std::vector<ingredient> found;
  for (const named_run& each : runs)
    for (const series& one : each.run.series)
      if (one.work == work) {
        found.push_back({&each, &one});
        break;
      }
  return found;
}

contribution contribution_of(const ingredient& from) {
  const auto value = [&](std::string_view figure) {
    const auto found = metric(*from.found, figure);
    return found ? std::optional(found->value) : std::nullopt;
  };
  const latency& latency = from.found->latency;
  return {from.run->name, latency.samples, from.found->iops, value("p50"), value("p99"), latency.max, {}};
}

constexpr const char* why_no_interval = "the reports lack the samples of each round";

// Of what all runs say alike, one text without their names.
std::vector<std::string> said_by(const std::vector<ingredient>& from_each, std::vector<std::string> series::*said) {
  std::vector<std::string> all;
  const auto say_it = [&](const std::string& text) {
    return std::ranges::all_of(from_each, [&](const ingredient& each) {
      const std::vector<std::string>& own = each.found->*said;
      return std::ranges::find(own, text) != own.end();
    });
  };
  for (const auto& [run, from] : from_each)
    for (const std::string& text : from->*said) {
      std::string added = say_it(text) ? text : fmt::format("{}: {}", run->name, text);
      if (std::ranges::find(all, added) == all.end()) all.push_back(std::move(added));
    }
  return all;
}

percentile percentile_of(const histogram& samples, double fraction) {
  percentile found{fraction, samples_needed(fraction), std::nullopt};
  if (samples.samples() >= found.samples_needed)
    found.value = {samples.ranked_ns(percentile_rank(fraction, samples.samples())), std::nullopt, scope::within_run,
                   why_no_interval};
  return found;
}

latency merged_latency(const std::vector<ingredient>& from_each) {
  histogram all;
  double sum = 0;
  latency found;
  std::vector<double> fractions;  // those of the first run
  for (const percentile& each : from_each.front().found->latency.percentiles) fractions.push_back(each.fraction);
  found.min = std::numeric_limits<double>::max();
  for (const auto& [_, from] : from_each) {
    const latency& each = from->latency;
    for (const bin& bin : each.bins) all.add(bin);
    found.samples += each.samples;
    if (found.samples > most_samples)
      throw usage_error(fmt::format("more than {} samples cannot be merged", most_samples));
    found.min = std::min(found.min, each.min);
    found.max = std::max(found.max, each.max);
    sum += each.mean.value * static_cast<double>(each.samples);
  }
  for (const double each : fractions) found.percentiles.push_back(percentile_of(all, each));
  found.bins = all.bins();
  found.mean = {sum / static_cast<double>(found.samples), std::nullopt, scope::within_run, why_no_interval};
  return found;
}

// Direct if all were, not direct if one was not, else unknown.
verification merged_verification(const std::vector<ingredient>& from_each) {
  verification all = from_each.front().found->verification;
  all.application_operations = all.merged_operations = 0;
  all.fetched_bytes.reset();
  std::optional<std::uint64_t> of_devices = 0;
  bool same = true;
  for (const auto& [_, from] : from_each) {
    const verification& each = from->verification;
    all.application_operations += each.application_operations;
    all.merged_operations += each.merged_operations;
    if (each.fetched_bytes) all.fetched_bytes = all.fetched_bytes.value_or(0) + *each.fetched_bytes;
    of_devices =
        of_devices && each.device_operations ? std::optional(*of_devices + *each.device_operations) : std::nullopt;
    same = same && each.result == all.result;
  }
  all.device_operations = of_devices;
  const std::string of_first = all.text;
  if (!same) all.result = verification::verdict::unknown;
  if (all.result == verification::verdict::verified)
    all.text = fmt::format("VERIFIED direct in each of {} runs: device ops {} / app {}", from_each.size(),
                           of_devices.value_or(0), all.application_operations);
  else if (!same)
    all.text = "the runs do not agree on whether direct was direct; of the first: " + of_first;
  else if (all.result == verification::verdict::unknown)
    all.text = fmt::format("in each of {} runs; of the first: {}", from_each.size(), of_first);
  else
    judge(all, from_each.front().found->work);  // the line has the counts of all
  return all;
}

// Mean of what each operation took, by their numbers; none unless all know it.
std::optional<double> merged_cost(const std::vector<ingredient>& from_each, std::optional<double> series::*cost,
                                  std::uint64_t samples) {
  double sum = 0;
  for (const auto& [_, from] : from_each) {
    const std::optional<double>& each = from->*cost;
    if (!each) return std::nullopt;
    sum += *each * static_cast<double>(from->latency.samples);
  }
  return sum / static_cast<double>(samples);
}

// Settled if all were.
void judge_settling(series& to, const std::vector<ingredient>& from_each) {
  to.steady = true;
  for (const auto& [run, from] : from_each) {
    if (from->steady == false && to.unsettled.empty() && !from->unsettled.empty())
      to.unsettled = fmt::format("{}: {}", run->name, from->unsettled);
    if (from->steady == false)
      to.steady = false;
    else if (!from->steady && to.steady == true)
      to.steady.reset();
  }
}

void add_up(series& to, const std::vector<ingredient>& from_each, relation how) {
  const bool together = how == relation::side_by_side;
  to.latency = merged_latency(from_each);
  to.verification = merged_verification(from_each);
  to.cpu_ns = merged_cost(from_each, &series::cpu_ns, to.latency.samples);
  to.cycles = merged_cost(from_each, &series::cycles, to.latency.samples);
  to.service = from_each.front().found->service;
  to.service.stall.reset();
  for (const auto& [run, from] : from_each) {
    add_stall(to.service.stall, from->service.stall);
    to.contributions.push_back(contribution_of({run, from}));
    to.seconds = together ? std::max(to.seconds, from->seconds) : to.seconds + from->seconds;
    if (together) to.iops += from->iops;
    to.rounds.insert(to.rounds.end(), from->rounds.begin(), from->rounds.end());
    if (from->trusted_fraction)
      to.trusted_fraction = std::min(to.trusted_fraction.value_or(1), *from->trusted_fraction);
  }
  std::ranges::stable_sort(to.rounds, {}, &round::start);
  if (!together && to.seconds > 0) to.iops = static_cast<double>(to.latency.samples) / to.seconds;
  to.bytes_per_second = to.iops * static_cast<double>(to.work.block);
  judge_settling(to, from_each);
  if (how == relation::repeated) set_repeated(to, from_each);
  name_stragglers(to.contributions);
}

series merged_series(const std::vector<ingredient>& from_each, relation how) {
  series out;
  out.work = from_each.front().found->work;
  const series& first = *from_each.front().found;
  const bool none_available = std::ranges::all_of(
      from_each, [&](const ingredient& each) { return each.found->not_available == first.not_available; });
  if (none_available) out.not_available = first.not_available;
  out.invalid = said_by(from_each, &series::invalid);
  out.notes = said_by(from_each, &series::notes);
  for (const auto& [run, from] : from_each) {
    if (!from->not_available.empty() && out.not_available.empty())
      out.not_available = fmt::format("{}: {}", run->name, from->not_available);
    out.complete = out.complete && from->complete;
  }
  const bool all_measured =
      std::ranges::all_of(from_each, [](const ingredient& each) { return each.found->measured(); });
  if (all_measured) add_up(out, from_each, how);
  return out;
}

void note_differences(report& out, const std::vector<named_run>& runs) {
  const auto say_it = [&](const std::string& note) {
    return std::ranges::all_of(
        runs, [&](const named_run& each) { return std::ranges::find(each.run.notes, note) != each.run.notes.end(); });
  };
  for (const named_run& each : runs) {
    for (const std::string& note : each.run.notes) {
      std::string added = say_it(note) ? note : fmt::format("{}: {}", each.name, note);
      if (std::ranges::find(out.notes, added) == out.notes.end()) out.notes.push_back(std::move(added));
    }
    for (const machine_difference& difference : differences(runs.front().run.machine, each.run.machine))
      out.notes.push_back(fmt::format("{} against {}: {}", runs.front().name, each.name, difference.in_words()));
  }
}

// Each once, because a run that is merged with itself would count twice.
std::vector<std::string> identities_of(const std::vector<named_run>& runs) {
  std::map<std::string, std::string> names;
  std::vector<std::string> found;
  for (const named_run& each : runs)
    for (const std::string& identity : each.run.runs) {
      if (const auto [same, is_new] = names.emplace(identity, each.name); !is_new)
        throw usage_error(
            fmt::format("{} and {} are of the same run, {}; merge each run once", same->second, each.name, identity));
      found.push_back(identity);
    }
  return found;
}

const char* note_on(relation how) {
  switch (how) {
    case relation::side_by_side: return "the runs took place at the same time: their operations per second are added";
    case relation::in_turn: return "the runs took turns: operations per second are the mean of theirs";
    case relation::apart: return "the runs took place at different times: operations per second are the mean of theirs";
    case relation::repeated: break;
  }
  return "runs of the same thing, one after the other: figures are geometric means over the runs, and curves are of "
         "all "
         "samples";
}

std::vector<run_memory> memory_of(const std::vector<named_run>& runs) {
  std::vector<run_memory> found;
  for (const auto& [name, run] : runs) {
    if (run.memory.empty()) found.push_back({name, run.machine.host.memory, run.memory_after});
    for (const run_memory& each : run.memory)
      found.push_back({fmt::format("{}, {}", name, each.name), each.before, each.after});
  }
  return found;
}

report joined(const std::vector<named_run>& runs, relation how) {
  report out = runs.front().run;
  out.runs = identities_of(runs);
  out.memory = memory_of(runs);
  out.series.clear();
  out.notes.clear();
  out.detections.clear();
  for (const series& each : runs.front().run.series) {
    const auto from_each = ingredients_of(each.work, runs);
    if (from_each.size() == runs.size())
      out.series.push_back(merged_series(from_each, how));
    else
      out.notes.push_back(fmt::format("{}: left out, since only {} of {} runs have it", title(each.work),
                                      from_each.size(), runs.size()));
  }
  if (out.series.empty()) throw usage_error("the reports have no series of the same work in common");
  out.notes.emplace_back(note_on(how));
  note_differences(out, runs);
  for (const named_run& each : runs) {
    out.complete = out.complete && each.run.complete;
    if (each.run.trusted_fraction)
      out.trusted_fraction = std::min(out.trusted_fraction.value_or(1), *each.run.trusted_fraction);
  }
  return out;
}

// Each with the next one, in a series at least.
bool took_turns(const std::vector<named_run>& runs) {
  for (const series& each : runs.front().run.series) {
    const auto from_each = ingredients_of(each.work, runs);
    if (from_each.size() != runs.size()) continue;
    const auto are_apart = [](const ingredient& one, const ingredient& next) {
      return pairs_in_turn(*one.found, *next.found).empty();
    };
    if (runs.size() > 1 && std::ranges::adjacent_find(from_each, are_apart) == from_each.end()) return true;
  }
  return false;
}

}  // namespace

bool ran_together(const std::vector<named_run>& runs) {
  double latest_start = std::numeric_limits<double>::lowest(), earliest_end = std::numeric_limits<double>::max();
  double shortest = std::numeric_limits<double>::max();
  for (const named_run& each : runs) {
    const auto start = static_cast<double>(each.run.started_seconds);
    const double seconds = seconds_of(each.run);
    latest_start = std::max(latest_start, start);
    earliest_end = std::min(earliest_end, start + seconds);
    shortest = std::min(shortest, seconds);
  }
  return earliest_end - latest_start >= shortest / 2;
}

report merged_side_by_side(const std::vector<named_run>& runs) {
  return joined(runs, took_turns(runs) ? relation::in_turn : relation::side_by_side);
}

report repeated(std::vector<named_run> runs) {
  std::ranges::stable_sort(runs, {}, [](const named_run& each) { return each.run.started_seconds; });
  put_in_succession(runs);
  report out = joined(runs, relation::repeated);
  set_repeated(out, runs);
  return out;
}

report merged(const std::vector<named_run>& runs) {
  if (ran_together(runs)) return merged_side_by_side(runs);
  return are_repetitions(runs) ? repeated(runs) : joined(runs, relation::apart);
}

}  // namespace qd1
