// SPDX-License-Identifier: BSL-1.0
#include "output/report_text.hpp"

#include "compare/pair_test.hpp"
#include "failure.hpp"
#include "statistics/between_runs.hpp"
#include "statistics/monotone.hpp"
#include "text/printable.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace qd1 {
namespace {

using json_value = nlohmann::json;

constexpr int most_deep = 32;
constexpr std::size_t longest_text = 64 * 1024;
constexpr std::size_t most_values = 4'000'000;

// Each a little more than any machine has.
constexpr double most_ns = 9e15;  // a hundred days; as picoseconds it fits into 63 bits
constexpr double most_seconds = 1e9;
constexpr double most_a_second = 1e18;
constexpr std::uint64_t most_bytes = std::uint64_t(1) << 62;
constexpr std::uint64_t most_at_once = 1 << 20;

constexpr std::size_t most_series = 10'000;
constexpr std::size_t most_bins = 56 * 512;  // those of a histogram, see statistics/histogram.hpp
constexpr std::size_t most_slices = 10'000'000;
constexpr std::size_t most_rounds = 1'000'000;
constexpr std::size_t most_percentiles = 100;
constexpr std::size_t most_targets = 10'000;
constexpr std::size_t most_notes = 1'000;    // each is compared with each
constexpr std::size_t most_devices = 1'000;  // what lies below one file

[[noreturn]] void refuse(std::string_view what, std::string_view why) {
  throw usage_error(fmt::format("{}: {}", what, why));
}

void at_most(std::string_view what, std::uint64_t value, std::uint64_t most) {
  if (value > most) refuse(what, fmt::format("{}; at most {} are accepted", value, most));
}

void within(std::string_view what, double value, double most) {
  if (!(value >= 0 && value <= most)) refuse(what, fmt::format("{}; it must be a number from 0 to {}", value, most));
}

void within(std::string_view what, const std::optional<double>& value, double most) {
  if (value) within(what, *value, most);
}

void check_fraction(std::string_view what, double value) {
  constexpr double rounding = 1e-9;
  if (!(value >= least_fraction * (1 - rounding) && value <= greatest_fraction + rounding * least_fraction))
    refuse(what, fmt::format("{}; it must be a number from {} to {}", value, least_fraction, greatest_fraction));
}

void check_estimate(std::string_view what, const estimate& value) {
  within(what, value.value, most_ns);
  if (!value.interval) return;
  within(what, value.interval->high, most_ns);
  if (!(value.interval->low <= value.interval->high && value.interval->low >= -most_ns))
    refuse(what, "the ends of its interval are reversed");
}

void check_bins(std::string_view what, const std::vector<bin>& bins, std::optional<std::uint64_t> samples) {
  at_most(what, bins.size(), most_bins);
  std::uint64_t total = 0;
  double last = -1;
  for (const bin& each : bins) {
    within(what, each.ns, most_ns);
    if (!(each.ns > last)) refuse(what, "they are not ascending");
    last = each.ns;
    at_most(what, each.count, most_samples);
    total += each.count;
    at_most(what, total, most_samples);
  }
  if (samples && !bins.empty() && total != *samples)
    refuse(what, fmt::format("they hold {} samples of {}", total, *samples));
}

void check_latency(const latency& found) {
  at_most("samples", found.samples, most_samples);
  within("min_ns", found.min, most_ns);
  within("max_ns", found.max, most_ns);
  check_estimate("mean_ns", found.mean);
  at_most("percentiles", found.percentiles.size(), most_percentiles);
  for (const percentile& each : found.percentiles) {
    check_fraction("fraction", each.fraction);
    if (each.value) check_estimate("percentiles", *each.value);
  }
  check_bins("bins_ns", found.bins, found.samples);
}

void check_work(const work& asked) {
  at_most("block", asked.block, most_bytes);
  at_most("working_set", asked.working_set, most_bytes);
  within("rate", asked.rate, most_a_second);
  at_most("workers", asked.load.workers, most_at_once);
  at_most("depth", asked.load.depth, most_at_once);
  at_most("targets", asked.load.targets, most_at_once);
}

void check_round(const round& found) {
  within("rounds: start", found.start, most_seconds);
  within("rounds: seconds", found.seconds, most_seconds);
  at_most("rounds: samples", found.samples, most_samples);
  within("rounds: mean_ns", found.mean, most_ns);
  at_most("rounds: quantiles", found.quantiles.size(), most_percentiles);
  for (const round_percentile& each : found.quantiles) {
    check_fraction("rounds: fraction", each.fraction);
    within("rounds: ns", each.ns, most_ns);
  }
}

void check_slice(const slice& found) {
  within("slices: start", found.start, most_seconds);
  within("slices: seconds", found.seconds, most_seconds);
  at_most("slices: operations", found.operations, most_samples);
  within("slices: mean_ns", found.mean, most_ns);
  within("slices: max_ns", found.max, most_ns);
  within("slices: p50_ns", found.p50, most_ns);
  within("slices: p99_ns", found.p99, most_ns);
}

// Bins are within 0.1 % of their samples, and a round's may be rounded another way than those of all.
constexpr double nearly = 1. / 400;

bool is_between(double value, double low, double high) {
  return value >= low * (1 - nearly) - 0.001 && value <= high * (1 + nearly) + 0.001;
}

// The percentile by the bins: where their share of the samples reaches the fraction, plus or minus a bin.
void check_percentile(const percentile& which, const latency& of) {
  const std::string name = percentile_name(which.fraction);
  const estimate& value = *which.value;
  if (value.interval && !is_between(value.value, value.interval->low, value.interval->high))
    refuse(name, "its interval does not contain it");
  if (value.scope != scope::within_run || of.bins.empty()) return;
  const auto samples = static_cast<double>(of.samples);
  std::uint64_t below = 0;
  std::size_t at = 0;
  for (; at + 1 < of.bins.size(); ++at) {
    below += of.bins[at].count;
    if ((of.shares.empty() ? static_cast<double>(below) / samples : of.shares[at]) >= which.fraction - 1e-9) break;
  }
  const double low = of.bins[at == 0 ? 0 : at - 1].ns;
  const double high = of.bins[std::min(at + 1, of.bins.size() - 1)].ns;
  if (!is_between(value.value, low, high))
    refuse(name, fmt::format("{} ns; by the bins it is from {} to {}", value.value, low, high));
}

// Figures that are stored twice must agree; if not, the report was edited.
void check_agreement(const series& found) {
  const latency& all = found.latency;
  if (all.samples == 0) return;
  if (!all.shares.empty() && all.shares.size() != all.bins.size())
    refuse("shares", fmt::format("{} for {} bins", all.shares.size(), all.bins.size()));
  if (!std::ranges::is_sorted(all.shares)) refuse("shares", "they are not ascending");
  if (!all.bins.empty() &&
      !(is_between(all.bins.front().ns, all.min, all.max) && is_between(all.bins.back().ns, all.min, all.max)))
    refuse("bins_ns", "they are not between minimum and maximum");
  for (const percentile& each : all.percentiles)
    if (each.value) check_percentile(each, all);
  if (found.rounds.empty()) return;
  std::uint64_t samples = 0;
  double least = found.rounds.front().mean, most = least;
  for (const round& each : found.rounds) {
    samples += each.samples;
    least = std::min(least, each.mean);
    most = std::max(most, each.mean);
    for (const round_percentile& which : each.quantiles)
      if (!all.bins.empty() && !is_between(which.ns, all.min, all.max))
        refuse("rounds: quantiles", fmt::format("{} ns; all samples are from {} to {}", which.ns, all.min, all.max));
  }
  if (samples != all.samples) refuse("rounds", fmt::format("they have {} samples of {}", samples, all.samples));
  if (all.mean.scope == scope::within_run && !is_between(all.mean.value, least, most))
    refuse("mean_ns", fmt::format("{}; those of the rounds are from {} to {}", all.mean.value, least, most));
}

double value_in(const contribution& run, double fraction) {
  const auto found = std::ranges::find(run.percentiles, fraction, &percentile::fraction);
  return found == run.percentiles.end() || !found->value ? 0 : found->value->value;
}

estimate between_runs_of(const series& of, const std::function<double(const contribution&)>& value) {
  std::vector<double> values;
  for (const contribution& each : of.contributions) values.push_back(value(each));
  return between_runs(values);
}

// What is stored of repeated runs must be what follows from the runs.
void check_between(std::string_view what, const estimate& stored, const estimate& found, std::size_t runs) {
  const auto agree = [](double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); };
  const bool same_interval = found.interval.has_value() == stored.interval.has_value() &&
                             (!found.interval || (agree(stored.interval->low, found.interval->low) &&
                                                  agree(stored.interval->high, found.interval->high)));
  if (!agree(stored.value, found.value) || !same_interval)
    refuse(what,
           fmt::format("{}; by its {} runs it is {}, or their intervals differ", stored.value, runs, found.value));
}

// Reports of earlier versions have intervals that do not agree with one another.
void check_percentiles_between(const series& of) {
  std::vector<percentile> stored = of.latency.percentiles;
  std::vector<percentile> found = stored;
  for (percentile& each : found) {
    const auto value = [&](const contribution& run) { return value_in(run, each.fraction); };
    if (each.value && std::ranges::all_of(of.contributions, value)) each.value = between_runs_of(of, value);
  }
  make_monotone(stored);
  make_monotone(found);
  for (std::size_t each = 0; each < stored.size(); ++each)
    if (stored[each].value)
      check_between(percentile_name(stored[each].fraction), *stored[each].value, *found[each].value,
                    of.contributions.size());
}

void check_repeated(const series& found) {
  std::uint64_t samples = 0;
  for (const contribution& each : found.contributions) samples += each.samples;
  if (samples != found.latency.samples)
    refuse("contributions", fmt::format("they have {} samples of {}", samples, found.latency.samples));
  const std::size_t runs = found.contributions.size();
  const estimate mean =
      between_runs_of(found, [](const contribution& each) { return each.mean ? each.mean->value : 0; });
  check_between("mean_ns", found.latency.mean, mean, runs);
  check_percentiles_between(found);
  const estimate iops = between_runs_of(found, [](const contribution& each) { return each.iops; });
  for (const named_estimate& each : found.between_runs)
    if (each.figure == "iops") check_between("iops", each.value, iops, runs);
}

void check_series(const series& found) {
  at_most("notes", found.notes.size(), most_notes);
  at_most("invalid", found.invalid.size(), most_notes);
  check_work(found.work);
  check_latency(found.latency);
  within("seconds", found.seconds, most_seconds);
  within("iops", found.iops, most_a_second);
  within("bytes_per_second", found.bytes_per_second, most_a_second);
  within("trusted_fraction", found.trusted_fraction, 1);
  at_most("rounds", found.rounds.size(), most_rounds);
  for (const round& each : found.rounds) check_round(each);
  at_most("slices", found.slices.size(), most_slices);
  for (const slice& each : found.slices) check_slice(each);
  at_most("contributions", found.contributions.size(), most_rounds);
  for (const contribution& each : found.contributions) {
    at_most("contributions: samples", each.samples, most_samples);
    within("contributions: iops", each.iops, most_a_second);
    within("contributions: max_ns", each.max, most_ns);
    at_most("contributions: percentiles", each.percentiles.size(), most_percentiles);
    if (each.mean) check_estimate("contributions: mean_ns", *each.mean);
    for (const percentile& which : each.percentiles) {
      check_fraction("contributions: fraction", which.fraction);
      if (which.value) check_estimate("contributions: percentiles", *which.value);
    }
  }
  at_most("between_runs", found.between_runs.size(), most_percentiles);
  for (const named_estimate& each : found.between_runs) check_estimate("between_runs", each.value);
  check_agreement(found);
  if (repetitions(found) != 0) check_repeated(found);
}

// Checks a text before any memory is used for it. (Not by the callback of json::parse(): with one, the time for an
// array is quadratic in the number of its objects.)
class bounds final : public json_value::json_sax_t {
 public:
  bool null() override { return is_one_more(); }
  bool boolean(bool) override { return is_one_more(); }
  bool number_integer(number_integer_t) override { return is_one_more(); }
  bool number_unsigned(number_unsigned_t) override { return is_one_more(); }
  bool number_float(number_float_t, const string_t&) override { return is_one_more(); }
  bool binary(binary_t&) override { return is_one_more(); }
  bool string(string_t& found) override { return is_short(found) && is_one_more(); }
  bool key(string_t& found) override {
    if (printable_line(found) != found) refuse(printable_line(found), "is not the name of a member");
    return is_short(found);
  }
  bool start_object(std::size_t) override { return is_deeper(); }
  bool end_object() override { return is_done(); }
  bool start_array(std::size_t) override { return is_deeper(); }
  bool end_array() override { return is_done(); }
  bool parse_error(std::size_t, const std::string&, const json_value::exception&) override { return false; }

 private:
  bool is_one_more() {
    if (++values_ > most_values) refuse("its values", fmt::format("there are more than {}", most_values));
    return true;
  }
  bool is_deeper() {
    if (++depth_ > most_deep) refuse("its structure", fmt::format("more than {} levels deep", most_deep));
    return is_one_more();
  }
  bool is_done() {
    --depth_;
    return true;
  }
  static bool is_short(const std::string& found) {
    if (found.size() > longest_text)
      refuse("a text", fmt::format("{} bytes long; at most {} are read", found.size(), longest_text));
    return true;
  }

  int depth_ = 0;
  std::size_t values_ = 0;
};

// One work has one series: what compares or merges them takes the first. Percentiles are the columns of tables.
void check_together(const std::vector<series>& all) {
  std::set<double> fractions;
  for (std::size_t each = 0; each < all.size(); ++each) {
    const auto before = all.begin() + static_cast<std::ptrdiff_t>(each);
    if (std::any_of(all.begin(), before, [&](const series& other) { return other.work == all[each].work; }))
      refuse("series", fmt::format("two are of the same work, {}", title(all[each].work)));
    for (const percentile& which : all[each].latency.percentiles) fractions.insert(which.fraction);
    at_most("percentiles, different ones", fractions.size(), most_percentiles);
  }
}

void check_settings(const settings& found) {
  within("settings: seconds", found.seconds, most_seconds);
  at_most("settings: block", found.block, most_bytes);
  at_most("settings: file_size", found.file_size, most_bytes);
  at_most("settings: targets", found.targets.size(), most_targets);
  at_most("settings: percentiles", found.percentiles.size(), most_percentiles);
  for (const double each : found.percentiles) check_fraction("settings: percentiles", each);
}

void check_noise(const std::optional<noise>& found) {
  if (!found) return;
  within("noise: seconds", found->seconds, most_seconds);
  within("noise: max_ns", found->max_ns, most_ns);
  check_bins("gaps_ns", found->gaps, std::nullopt);
}

}  // namespace

json_value printable_texts(json_value from) {
  if (from.is_string()) return printable_line(from.get_ref<const std::string&>());
  for (json_value& each : from)
    if (each.is_string() || each.is_structured()) each = printable_texts(std::move(each));
  return from;
}

json_value parse_own_report(const std::string& text) { return printable_texts(json_value::parse(text)); }

json_value parse_report(const std::string& text) {
  bounds checked;
  static_cast<void>(json_value::sax_parse(text, &checked));  // what is not JSON is refused below, with the reason
  return parse_own_report(text);
}

// The verdict follows from the pairs.
void check_detection(const detection& found) {
  constexpr std::size_t most_pairs = 1'000;
  constexpr double rounding = 1e-6;
  check_work(found.work);
  at_most("detections: pairs", found.pairs.size(), most_pairs);
  if (!(found.effect > 0 && found.effect <= 1)) refuse("detections: effect", "it must be more than 0 and at most 1");
  if (!(found.error > 0 && found.error < 1)) refuse("detections: error", "it must be between 0 and 1");
  within("detections: seconds", found.seconds, most_seconds);
  pair_test test(found.effect, found.error);
  for (const run_pair& each : found.pairs) {
    if (!(each.base > 0 && each.now > 0)) refuse("detections: pairs", "each median must be more than 0");
    within("detections: base_ns", each.base, most_ns);
    within("detections: now_ns", each.now, most_ns);
    test.add(each.base, each.now);
  }
  const estimate ratio = test.ratio();
  const auto is_near = [](double a, double b) { return std::abs(a - b) <= rounding * std::abs(b); };
  const bool agrees = is_near(found.ratio.value, ratio.value) &&
                      found.ratio.interval.has_value() == ratio.interval.has_value() &&
                      (!ratio.interval || (is_near(found.ratio.interval->low, ratio.interval->low) &&
                                           is_near(found.ratio.interval->high, ratio.interval->high)));
  if (!agrees) refuse("detections: ratio", "it does not follow from the pairs");
  const bool decides = found.not_decidable.empty();
  if (found.verdict != (decides ? test.verdict() : detected::undecided))
    refuse("detections: verdict", "it does not follow from the pairs");
}

void check(const report& read) {
  at_most("notes", read.notes.size(), most_notes);
  within("started_seconds", static_cast<double>(read.started_seconds), 1e12);
  within("clock: tick_ns", read.clock.tick_ns, most_ns);
  within("clock: floor_ns", read.clock.floor_ns, most_ns);
  check_settings(read.settings);
  at_most("machine: devices", read.machine.devices.size(), most_devices);
  at_most("counters: devices", read.counters.devices.size(), most_devices);
  within("trusted_fraction", read.trusted_fraction, 1);
  check_noise(read.noise_before);
  check_noise(read.noise_after);
  at_most("series", read.series.size(), most_series);
  for (const series& each : read.series) check_series(each);
  for (const detection& each : read.detections) check_detection(each);
  check_together(read.series);
}

}  // namespace qd1
