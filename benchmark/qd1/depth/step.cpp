// SPDX-License-Identifier: BSL-1.0
#include "depth/step.hpp"

#include "depth/findings.hpp"
#include "figures.hpp"
#include "machine/find.hpp"
#include "measure/interruption.hpp"
#include "measure/memory_notes.hpp"
#include "measure/pages.hpp"
#include "measure/series_seed.hpp"
#include "measure/tally.hpp"
#include "measure/totals.hpp"
#include "measure/transfer.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"
#include "statistics/order_statistics.hpp"
#include <qio/qio.hpp>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

namespace qd1 {
namespace {

constexpr double warm_up_share = 0.1;  // part of a round's time

// Those next to the target's device if there are any, each worker the next one.
std::optional<std::uint64_t> processor_for(const target& target, std::uint64_t number) {
  std::vector<std::uint64_t> usable = platform::allowed_processors();
  const std::vector<std::uint64_t> local = processors_near(target.machine);
  const auto is_local = [&](std::uint64_t each) { return std::ranges::find(local, each) != local.end(); };
  if (std::ranges::any_of(usable, is_local)) std::erase_if(usable, [&](std::uint64_t each) { return !is_local(each); });
  if (usable.empty()) return std::nullopt;
  return usable[number % usable.size()];
}

double nanoseconds_at(const coarse_histogram& seen, double fraction) {
  return seen.ranked_ns(percentile_rank(fraction, seen.samples()));
}

slice slice_of(const second_of_window& second, double start, double seconds, const glance& at_end) {
  slice found{start, seconds, second.operations,   second.latencies.mean_ns(), second.latencies.maximum_ns(),
              {},    {},      at_end.cached_pages, at_end.dirty_bytes,         at_end.device_in_flight};
  if (second.latencies.samples() == 0) return found;
  found.p50 = nanoseconds_at(second.latencies, 0.5);
  found.p99 = nanoseconds_at(second.latencies, 0.99);
  return found;
}

std::uint64_t pages_gained(const verification& pages) {
  return pages.cached_pages_after.value_or(0) - pages.cached_pages_before.value_or(0);
}

// Until the last transfer completed: the observer learns a little late that a window was closed early.
double seconds_used(const std::vector<std::unique_ptr<worker>>& workers, const window& window, const clock& clock) {
  std::uint64_t last = window.begin();
  for (const auto& each : workers) last = std::max(last, each->last());
  return clock.seconds(last - window.begin());
}

// None if a worker does not know its own.
std::optional<double> mean_wait(const std::vector<std::unique_ptr<worker>>& workers) {
  double sum = 0;
  for (const auto& each : workers) {
    if (!each->waited()) return std::nullopt;
    sum += *each->waited();
  }
  return workers.empty() ? std::nullopt : std::optional(sum / static_cast<double>(workers.size()));
}

void add_missing(std::vector<std::string>& to, const std::vector<std::string>& more) {
  for (const std::string& each : more)
    if (std::ranges::find(to, each) == to.end()) to.push_back(each);
}

// A worker may have what another has not: memory that is locked counts for all of them.
void add(service& to, const service& more) {
  to.engine = more.engine;
  if (!more.reason.empty()) to.reason = more.reason;
  to.by_call += more.by_call;
  to.by_inline += more.by_inline;
  to.by_ring += more.by_ring;
  to.by_worker += more.by_worker;
  add_stall(to.stall, more.stall);
  add_missing(to.features, more.features);
  add_missing(to.lacking, more.lacking);
}

}  // namespace

step::step(const planned_load& load, const field& field, double seconds)
    : work_(load.work), reads_(load.reads), field_(field), seconds_(seconds) {
  for (std::size_t each = 0; each < field.targets.size(); ++each)
    if (work_.load.only.value_or(each) == each) targets_.push_back(&field.targets[each]);
  taken_.resize(targets_.size() * work_.load.workers);
  for (const operation what : {operation::read, operation::write}) {
    const double share = what == operation::read ? reads_ : 1 - reads_;
    if (share <= 0) continue;
    kind& added = kinds_.emplace_back();
    added.found.work = work_;
    added.found.work.operation = what;
    added.found.work.load.share = share;
  }
}

std::vector<work> step::works() const {
  std::vector<work> found;
  found.reserve(kinds_.size());
  for (const kind& each : kinds_) found.push_back(each.found.work);
  return found;
}

std::vector<std::unique_ptr<worker>> step::make_workers(window& window, std::uint64_t round) const {
  const std::uint64_t own = series_seed(field_.settings.seed, work_),
                      seed = series_seed(field_.settings.seed, work_, round);
  std::vector<std::unique_ptr<worker>> workers;
  for (const target* each : targets_)
    for (std::uint64_t number = 0; number < work_.load.workers; ++number) {
      const std::uint64_t among_all = workers.size();
      workers.push_back(
          std::make_unique<worker>(duty{work_,
                                        reads_,
                                        each->file.path(),
                                        {own, seed + among_all, number, work_.load.workers, taken_[among_all]},
                                        field_.pinned ? processor_for(*each, among_all) : std::nullopt,
                                        field_.engine,
                                        field_.timed,
                                        field_.once && work_.temperature == temperature::cold},
                                   field_.clock, window));
    }
  return workers;
}

void step::prepare_pages() {
  const bool in_memory = traits(work_.mode).keeps_pages && work_.operation == operation::read;
  for (const target* each : targets_) {
    const std::string& path = each->file.path();
    not_available_ = why_not_cached(work_, path);
    if (!not_available_.empty()) return;
    if (work_.temperature == temperature::cold)
      not_available_ = empty_cache(path, work_.working_set);
    else
      in_memory ? fill_cache(path, work_.working_set) : platform::drop_cached_pages(path);
    if (!not_available_.empty()) return;
  }
}

void step::measure_round(std::uint64_t round, double start) {
  prepare_pages();
  if (!wants_more()) return;
  std::vector<witness> before;
  before.reserve(targets_.size());
  for (const target* each : targets_) before.emplace_back(each->machine, each->file.path(), work_.working_set);
  round_facts facts{start, {}, std::move(before)};
  const auto hits_before = memory_limit_hits();
  window window(work_.load.workers * targets_.size());
  const auto workers = make_workers(window, round);
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (const auto& each : workers) threads.emplace_back([&worker = *each] { worker.run(); });
  window.wait_for_workers();
  const double unmeasured = work_.temperature == temperature::cold ? 0 : warm_up_share * seconds_;
  const std::uint64_t begin = field_.clock.after() + field_.clock.ticks(unmeasured);
  window.open(begin, begin + field_.clock.ticks(seconds_));
  facts.seen = observe(window, field_, targets_);
  for (std::thread& each : threads) each.join();
  facts.seen.measured = std::min(facts.seen.measured, seconds_used(workers, window, field_.clock));
  facts.waited = mean_wait(workers);
  collect(workers, facts);
  note(memory_limit_note(hits_before));
  if (reads_ < 1 && !traits(work_.mode).is_direct) note(throttling_note());
  leave_as_found();
}

void step::note(const std::string& text) {
  for (kind& each : kinds_)
    if (std::vector<std::string>& notes = each.found.notes;
        !text.empty() && std::ranges::find(notes, text) == notes.end())
      notes.push_back(text);
}

// So that neither what is still to be written back nor pages that writing has brought meet the next step.
void step::leave_as_found() {
  if (reads_ >= 1) return;
  for (const target* each : targets_) {
    auto file = qio::cached_file::open(each->file.path(), qio::access::read_write);
    if (!file) continue;
    if (const auto synced = file.value().sync(); !synced && failure_.empty())
      failure_ = "sync afterwards: " + synced.error().message();
    platform::drop_cached_pages(each->file.path());
  }
}

void step::collect(const std::vector<std::unique_ptr<worker>>& workers, const round_facts& facts) {
  for (std::size_t each = 0; each < workers.size(); ++each)
    taken_[each] += workers[each]->of(operation::read).started + workers[each]->of(operation::write).started;
  for (const auto& each : workers) {
    if (not_available_.empty()) not_available_ = each->not_available();
    if (failure_.empty()) failure_ = each->failure();
  }
  processor_seconds_ += facts.seen.processor;
  cycles_ = cycles_ && facts.seen.cycles ? std::optional(*cycles_ + *facts.seen.cycles) : std::nullopt;
  for (kind& each : kinds_) {
    transfers counted;
    for (const auto& worker : workers) {
      counted.merge(worker->of(each.found.work.operation));
      qd1::add(each.found.service, worker->service());
    }
    counted_ += counted.counted;
    if (facts.seen.measured > 0) add(each, counted, facts);
  }
}

void step::add(kind& to, const transfers& counted, const round_facts& facts) const {
  series& found = to.found;
  const observation& seen = facts.seen;
  for (std::size_t each = 0; each < seen.seconds.size() && each < counted.seconds.size(); ++each) {
    const auto start = static_cast<double>(each);
    found.slices.push_back(slice_of(counted.seconds[each], found.seconds + start, std::min(1.0, seen.measured - start),
                                    seen.seconds[each]));
  }
  round round{facts.start,
              {},
              seen.measured,
              counted.counted,
              counted.latencies.mean_ns(),
              quantiles(counted.latencies, percentiles_of(field_.settings)),
              {}};
  add_testimonies(to, counted, facts, round);
  found.rounds.push_back(std::move(round));
  found.seconds += seen.measured;
  to.rounds.push_back(sampled(counted.latencies));
  to.all.merge({counted.started, counted.counted, counted.latencies, {}});
}

// The operations of each device once, however many targets lie on it.
void step::add_testimonies(kind& to, const transfers& counted, const round_facts& facts, round& into) const {
  verification& all = to.found.verification;
  all.application_operations += counted.started;
  std::set<std::string> devices;
  std::uint64_t before = 0, after = 0;
  for (const witness& each : facts.before) {
    const testimony told = each.testify(to.found.work, counted.started, facts.seen.measured, facts.seen.processor);
    into.disturbance = told.disturbance;
    into.disturbance.waited = facts.waited;  // by the workers, not by the thread that asks
    before += told.verification.cached_pages_before.value_or(0);
    after += told.verification.cached_pages_after.value_or(0);
    // That of the process, once.
    if (&each == &facts.before.front() && told.verification.fetched_bytes)
      all.fetched_bytes = all.fetched_bytes.value_or(0) + *told.verification.fetched_bytes;
    const bool is_counted = told.verification.device_operations.has_value();
    if (is_counted && !devices.insert(told.evidence.devices.front()).second) {
      to.evidence->add_file(told.evidence);
      continue;
    }
    if (to.evidence)
      to.evidence->add(told.evidence);
    else
      to.evidence = told.evidence;
    to.is_counted = to.is_counted && is_counted;
    if (!is_counted) continue;
    all.device_operations = all.device_operations.value_or(0) + *told.verification.device_operations;
    all.merged_operations += told.verification.merged_operations;
  }
  if (!to.is_counted) all.device_operations.reset();
  // The pages reported are those of the round that brought most of them into memory.
  if (!to.found.rounds.empty() && after <= before + pages_gained(all)) return;
  all.cached_pages_before = before;
  all.cached_pages_after = after;
}

series step::finished(const kind& from) const {
  series out = from.found;
  out.complete = !interrupted();
  out.not_available = not_available_;
  if (!failure_.empty()) out.invalid.push_back(failure_);
  out.latency = summary(from.all.latencies, from.rounds, percentiles_of(field_.settings));
  out.latency.samples = from.all.counted;  // also those whose time was not taken
  complete(
      out,
      {from.all.counted, counted_ - from.all.counted, processor_seconds_, cycles_, from.evidence.value_or(evidence())},
      from.rounds);
  if (out.latency.samples == 0 || out.seconds <= 0) return out;
  if (std::string note = split(out, field_.machine); !note.empty()) out.notes.push_back(std::move(note));
  return out;
}

std::vector<series> step::finished() const {
  std::vector<series> found;
  found.reserve(kinds_.size());
  for (const kind& each : kinds_) found.push_back(finished(each));
  if (const std::string note = contradiction(found); !note.empty())
    for (series& each : found) each.notes.push_back(note);
  return found;
}

}  // namespace qd1
