// SPDX-License-Identifier: BSL-1.0
#include "measure/tally.hpp"

#include "measure/totals.hpp"
#include "statistics/monotone.hpp"
#include "statistics/order_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace qd1 {
namespace {

// Bins are a little wider than what was seen.
estimate within(const latency& seen, estimate found) {
  const auto clamped = [&](double ns) { return std::clamp(ns, seen.min, seen.max); };
  found.value = clamped(found.value);
  if (found.interval) found.interval = interval{clamped(found.interval->low), clamped(found.interval->high)};
  return found;
}

percentile percentile_of(const pooled_rounds& rounds, const latency& seen, double fraction) {
  percentile found{fraction, samples_needed(fraction), std::nullopt};
  if (seen.samples >= found.samples_needed) found.value = within(seen, rounds.quantile(fraction));
  return found;
}

std::uint64_t growth(const verification& pages) {
  const std::uint64_t before = pages.cached_pages_before.value_or(0);
  return std::max(pages.cached_pages_after.value_or(0), before) - before;
}

}  // namespace

std::string missed_rate(const work& of, const open_loop& found) {
  constexpr double nearly = 0.99;
  if (!of.rate || found.samples == 0 || found.seconds <= 0) return {};
  const double most = found.busy > 0 ? found.samples / found.busy : *of.rate;
  const bool too_slow = most < *of.rate * nearly;
  // By random intervals there may be fewer.
  const bool fewer = !of.poisson && found.samples + 1 < found.seconds * *of.rate * nearly;
  if (!too_slow && !fewer && found.waiting == 0) return {};
  std::string text =
      fmt::format("RATE NOT REACHED: {:.0f} of {:g} operations a second: ", found.samples / found.seconds, *of.rate);
  if (too_slow)
    text += fmt::format(
        "one after the other, at most {:.0f} a second could be served; each waited longer than the one "
        "before, so this measures the queue",
        most);
  else
    text += "there was time for all on average, but some took so long that those behind them were late";
  if (found.waiting > 0) text += fmt::format("; at the end {:.0f} had not begun", found.waiting);
  return text;
}

sampled_round sampled(const histogram& round, std::optional<std::uint64_t> processor) {
  return {round.bins(), round.mean_ns(), processor};
}

latency summary(const histogram& samples, std::vector<sampled_round> rounds, const std::vector<double>& fractions) {
  const pooled_rounds together(std::move(rounds));
  latency found{samples.samples(), samples.minimum_ns(), samples.maximum_ns(), together.mean(), {}, samples.bins()};
  found.mean = within(found, found.mean);
  for (const double fraction : fractions) found.percentiles.push_back(percentile_of(together, found, fraction));
  make_monotone(found.percentiles);
  return found;
}

std::vector<round_percentile> quantiles(const histogram& samples, const std::vector<double>& fractions) {
  std::vector<round_percentile> found;
  for (const double fraction : fractions)
    if (samples.samples() >= samples_needed(fraction))
      found.push_back({fraction, samples.ranked_ns(percentile_rank(fraction, samples.samples()))});
  return found;
}

tally::tally(const work& work, std::vector<double> percentiles) : fractions_(std::move(percentiles)) {
  found_.work = work;
}

void tally::is_invalid(std::string reason) { found_.invalid.push_back(std::move(reason)); }

void tally::note(const std::string& text) {
  if (text.empty()) return;
  if (std::find(found_.notes.begin(), found_.notes.end(), text) == found_.notes.end()) found_.notes.push_back(text);
}

void tally::is_served_by(std::string engine, std::string reason) {
  found_.service.engine = std::move(engine);
  found_.service.reason = std::move(reason);
}

void tally::add(const service& counts) {
  found_.service.by_call += counts.by_call;
  found_.service.by_inline += counts.by_inline;
  found_.service.by_ring += counts.by_ring;
  found_.service.by_worker += counts.by_worker;
  add_stall(found_.service.stall, counts.stall);
}

void tally::add_batched(double ns) {
  batched_sum_ += ns;
  ++batched_rounds_;
}

// Operations are summed up. Of the pages those of the round that brought most of them into memory are kept.
void tally::add(const testimony& round) {
  const verification& counts = round.verification;
  verification& all = found_.verification;
  const bool first = found_.rounds.empty();
  if (evidence_)
    evidence_->add(round.evidence);
  else
    evidence_ = round.evidence;
  all.application_operations += counts.application_operations;
  all.merged_operations += counts.merged_operations;
  const auto sum = [first](std::optional<std::uint64_t>& to, const std::optional<std::uint64_t>& more) {
    if (first || !to || !more)
      to = first ? more : std::nullopt;
    else
      *to += *more;
  };
  sum(all.device_operations, counts.device_operations);
  sum(all.fetched_bytes, counts.fetched_bytes);
  if (!first && growth(counts) <= growth(all)) return;
  all.cached_pages_before = counts.cached_pages_before;
  all.cached_pages_after = counts.cached_pages_after;
}

void tally::add(const recorder& round, const round_facts& facts) {
  if (!round.failure().empty()) is_invalid(round.failure());
  for (slice each : round.slices()) {
    each.start += found_.seconds;
    found_.slices.push_back(each);
  }
  samples_.merge(round.latencies());
  processor_seconds_ += facts.processor_seconds;
  cycles_ = cycles_ && facts.cycles ? std::optional(*cycles_ + *facts.cycles) : std::nullopt;
  found_.seconds += round.seconds();
  busy_seconds_ += round.busy_seconds();
  waiting_ = round.waiting();
  if (round.samples() == 0) return;
  rounds_.push_back(sampled(round.latencies(), facts.processor));
  add(facts.testimony);
  found_.rounds.push_back({facts.start, facts.processor, round.seconds(), round.samples(), round.latencies().mean_ns(),
                           quantiles(round.latencies(), fractions_), facts.testimony.disturbance});
}

series tally::finished() const {
  series out = found_;
  out.complete = !interrupted();
  out.latency = summary(samples_, rounds_, fractions_);
  if (out.latency.samples == 0) return out;
  if (batched_rounds_ != 0) out.batched_ns = batched_sum_ / batched_rounds_;
  if (std::string text =
          missed_rate(out.work, {static_cast<double>(samples_.samples()), out.seconds, busy_seconds_, waiting_});
      !text.empty())
    out.notes.push_back(std::move(text));
  complete(out, {samples_.samples(), 0, processor_seconds_, cycles_, evidence_.value_or(evidence())}, rounds_);
  return out;
}

}  // namespace qd1
