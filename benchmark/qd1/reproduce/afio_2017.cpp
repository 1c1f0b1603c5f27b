// SPDX-License-Identifier: BSL-1.0
#include "figures.hpp"
#include "reproduce/experiment.hpp"
#include "reproduce/judging.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace in_afio {
namespace {

constexpr std::string_view latencies = "latencies";
constexpr std::string_view mistake = "the mistake";

std::vector<planned> plan_afio(const resources& with) {
  run_request request;
  request.path = with.paths.front();
  request.file_size = with.file_size == 0 ? std::nullopt : std::optional(with.file_size);
  request.modes = {mode::direct, mode::cached};
  request.forms = {form::blocking};
  request.reads = {temperature::cold, temperature::warm};
  if (!with.may_write) request.operations = {operation::read};
  request.writes = {durability::accepted, durability::written_through};
  request.seconds = with.seconds_or(10);
  request.seed = with.seed;
  request.overwrite = with.overwrite;
  const unchecked_request misaligned{request.path, request.file_size, 4096, std::min(request.seconds, 2.),
                                     with.seed,    with.overwrite};
  return {
      {std::string(latencies), "4 KiB random reads and writes, one at a time, direct beside cached", request},
      {std::string(mistake), "direct reads at offsets that are not multiples of the block, as in 2017", misaligned}};
}

const series* found(const reproduction& of, mode mode, operation operation, temperature temperature,
                    durability durability) {
  return series_of(of, latencies, [&](const work& each) {
    if (each.mode != mode || each.operation != operation) return false;
    if (operation == operation::write) return each.durability == durability;
    return mode == mode::direct || each.temperature == temperature;
  });
}

struct series_of_afio {
  const series* direct_read;
  const series* direct_write;  // written through
  const series* cached_read;   // cold
  const series* warm_read;
  const series* cached_write;
};

series_of_afio all_of(const reproduction& of) {
  const auto read = [&](mode mode, temperature temperature) {
    return found(of, mode, operation::read, temperature, durability::accepted);
  };
  const auto written = [&](mode mode, durability durability) {
    return found(of, mode, operation::write, temperature::warm, durability);
  };
  return {read(mode::direct, temperature::warm), written(mode::direct, durability::written_through),
          read(mode::cached, temperature::cold), read(mode::cached, temperature::warm),
          written(mode::cached, durability::accepted)};
}

figures latencies_table(const series_of_afio& here) {
  figures table{"Random 4 KiB, one at a time [µs]", {"p50", "p95", "p99.999", "mean"}, {}};
  const auto add = [&](const char* subject, std::vector<std::string> withdrawn, std::vector<std::string> corrected,
                       const series* from) {
    table.rows.push_back({subject, origin::withdrawn, std::move(withdrawn)});
    table.rows.push_back({subject, origin::corrected, std::move(corrected)});
    table.rows.push_back(percentiles_row(subject, from));
  };
  add("direct read", {"0.66", "498", "2818", "83"}, {"391", "578", "", "369"}, here.direct_read);
  add("direct write, written through", {"0.66", "347", "25146", "54"}, {"317", "548", "", "331"}, here.direct_write);
  add("cached read, cold", {"379", "534", "2892", "365"}, {"453", "590", "", "432"}, here.cached_read);
  add("cached write, accepted", {"304", "611", "82703", "286"}, {"3.0", "8.9", "", "4.0"}, here.cached_write);
  table.rows.push_back(percentiles_row("cached read, warm", here.warm_read));
  return table;
}

// As if each call had been a read.
series believed(const unchecked_calls& calls) {
  series found;
  found.latency = calls.latency;
  return found;
}

const unchecked_calls* mistake_of(const reproduction& of) {
  for (const experiment_part& each : of.parts)
    if (each.unchecked && each.unchecked->calls != 0) return &*each.unchecked;
  return nullptr;
}

// What a program prints that ignores results, beside what qd1 reports for the same offsets.
figures mistake_table(const reproduction& of, const unchecked_calls& calls) {
  const series unchecked = believed(calls);
  figures table{"Direct reads at any byte: the mistake behind the withdrawn figures [µs]",
                {"p50", "p95", "p99.999", "mean"},
                {{"direct read", origin::withdrawn, {"0.66", "498", "2818", "83"}}}};
  table.rows.push_back(percentiles_row("the same offsets here, if results are ignored", &unchecked));
  table.rows.back().origin = origin::refused;
  table.rows.push_back(
      percentiles_row("the same offsets measured by qd1", series_of(of, mistake, [](const work&) { return true; })));
  return table;
}

void judge_mistake(reproduction& of) {
  const std::string claim =
      "direct reads at offsets that are not multiples of the block read nothing: they fail at once";
  const unchecked_calls* const calls = mistake_of(of);
  if (calls == nullptr) {
    of.shapes.push_back({claim, shape::verdict::not_told, "direct reads are unavailable here, or were not reached"});
    return;
  }
  of.tables.push_back(mistake_table(of, *calls));
  const series unchecked = believed(*calls);
  of.shapes.push_back(
      held_within(claim, static_cast<double>(calls->failed) / static_cast<double>(calls->calls), 0.5, 1,
                  fmt::format("{} of {} calls failed ({}); a program that ignores results sees a p50 of {} µs",
                              grouped(calls->failed), grouped(calls->calls), calls->error,
                              microseconds(percentile_of(&unchecked, 0.5).value_or(0)))));
  const series* const refused = series_of(of, mistake, [](const work&) { return true; });
  const bool is_refused = refused != nullptr && !refused->invalid.empty();
  of.shapes.push_back({"qd1 refuses to measure them", is_refused ? shape::verdict::held : shape::verdict::not_held,
                       is_refused ? refused->invalid.front() : "it did not"});
}

void judge_afio(const resources& with, reproduction& of) {
  const series_of_afio here = all_of(of);
  of.tables.push_back(latencies_table(here));
  const auto reads = ratio(mean_of(here.cached_read), mean_of(here.direct_read));
  of.shapes.push_back(
      held_within({"direct reads are somewhat faster than reads that miss the cache: 1.17 times, not 4.4 "
                   "as first published",
                   1.17},
                  reads, 1.02, 2.2, fmt::format("{} times, by the means", times(reads))));
  const auto writes = ratio(mean_of(here.direct_write), mean_of(here.cached_write));
  of.shapes.push_back(held_within(
      {"a direct write that is written through takes many times as long as one that the cache accepts: 84 times", 84},
      writes, 5, 1e9, fmt::format("{} times, by the means", times(writes))));
  const auto medians = ratio(percentile_of(here.direct_read, 0.5), mean_of(here.direct_read));
  of.shapes.push_back(held_within({"the median of true direct reads is near their mean (391 µs and 369), not a "
                                   "hundredth of it (0.66 and 83)",
                                   391. / 369},
                                  medians, 0.3, 3, fmt::format("the median is {} of the mean", times(medians))));
  judge_mistake(of);
  of.incomparable.push_back(
      fmt::format("Absolute figures: those published are of a laptop's NVMe drive under Windows 10; these are of {}.",
                  with.machine().host.kernel.value_or("an unknown system")));
  of.incomparable.push_back("p99.999 where it is –: it takes 368 887 samples to say anything about it.");
}

}  // namespace
}  // namespace in_afio

const experiment afio_2017 = {
    {"afio-2017", "Latencies of small reads and writes at queue depth 1, direct against cached",
     "Niall Douglas, AFIO v2, August 2017", "Windows 10, a laptop with an Apple NVMe drive, 1 GiB file, 10 s a test",
     "Its direct figures were withdrawn by their author six days later: offsets were not multiples of the block, most "
     "calls failed at once, and nobody checked their results."},
    1,
    in_afio::plan_afio,
    in_afio::judge_afio};

}  // namespace qd1
