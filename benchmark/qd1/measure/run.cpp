// SPDX-License-Identifier: BSL-1.0
#include "measure/run.hpp"

#include "compare/difference.hpp"
#include "compare/pair_test.hpp"
#include "figures.hpp"
#include "machine/find.hpp"
#include "measure/data_checks.hpp"
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "measure/offset_order.hpp"
#include "measure/offsets.hpp"
#include "measure/plan.hpp"
#include "measure/progress.hpp"
#include "measure/repeat.hpp"
#include "measure/rounds.hpp"
#include "measure/series.hpp"
#include "measure/series_seed.hpp"
#include "measure/surroundings.hpp"
#include "measure/turns.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"
#include "ranks/ranks.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace qd1 {
namespace {

constexpr double with_warm_up = 1.1;

std::vector<operation> allowed_operations(const run_request& request, const data_file& file, report& out) {
  std::vector<operation> wanted = request.operations.value_or(std::vector{operation::read, operation::write});
  if (file.why_read_only().empty() || std::find(wanted.begin(), wanted.end(), operation::write) == wanted.end())
    return wanted;
  if (request.operations) throw usage_error(file.why_read_only());
  out.notes.push_back("reads only: " + file.why_read_only());
  return {operation::read};
}

// Where two files are measured: those that both permit.
std::vector<operation> both_allow(const run_request& request, const data_file& first, const data_file& second,
                                  report& out) {
  return allowed_operations(request, first.why_read_only().empty() ? second : first, out);
}

offset_source offsets_of(const work& work, std::uint64_t seed) {
  if (work.temperature == temperature::cold && work.load.order == order::random)
    return unvisited_offsets(seed, work.working_set, work.block);
  return qd1::offsets_of(work, {seed, seed});
}

// What is allowed to a round. All rounds together transfer as often as was asked for; cold ones read no block twice.
limits limits_of(const work& work, const settings& settings, std::uint64_t round) {
  const std::uint64_t samples = work.temperature == temperature::cold
                                    ? std::min(settings.samples, work.working_set / work.block / 2)
                                    : settings.samples;
  const auto until = [&](std::uint64_t rounds) {
    return samples / settings.rounds * rounds + samples % settings.rounds * rounds / settings.rounds;
  };
  return {until(round + 1) - until(round), settings.seconds / static_cast<double>(settings.rounds),
          round + 1 == settings.rounds ? settings.seconds : 0};
}

// In which round which processor is measured on: all that may be, as evenly as it goes. It matters which: interrupts of
// a device come to one of them, and a thread on another waits longer.
std::optional<std::uint64_t> processor_of(std::uint64_t round, std::uint64_t rounds) {
  static const std::vector<std::uint64_t> allowed = platform::allowed_processors();
  if (allowed.empty()) return std::nullopt;
  const std::uint64_t count = allowed.size();
  return allowed[rounds >= count ? round % count : (2 * round + 1) * count / (2 * rounds)];
}

// A series, one transfer at a time.
class series_driver {
 public:
  series_driver(const work& work, const settings& settings, const run_setup& setup)
      : found_(work, percentiles_of(settings)),
        next_offset_(offsets_of(work, series_seed(settings.seed, work))),
        schedule_(setup.clock, work, series_seed(settings.seed, work)),
        settings_(settings),
        setup_(setup) {}

  const work& subject() const noexcept { return found_.subject(); }
  bool wants_more() const noexcept { return found_.wants_more(); }

  void measure_round(std::uint64_t round, double start) {
    const limits most = limits_of(subject(), settings_, round);
    if (most.samples != 0)
      qd1::measure_round(found_, setup_, next_offset_,
                         {most, start, processor_of(round, settings_.rounds), &schedule_,
                          series_seed(settings_.seed, subject(), round)});
  }

  std::vector<series> finished() const { return {found_.finished()}; }
  // None: the round has too few samples.
  std::optional<double> median_of_last() const {
    if (found_.rounds().empty()) return std::nullopt;
    const auto found = metric(found_.rounds().back(), "p50");
    return found && *found > 0 ? found : std::nullopt;
  }

 private:
  tally found_;
  offset_source next_offset_;
  pace schedule_;
  const settings& settings_;
  const run_setup& setup_;
};

static_assert(round_driver<series_driver>);

// A report of one target, with all that is known before it is measured.
report begun_run(const run_request& request, std::uint64_t seed, const std::string& path, const data_file& file) {
  report out = begun_report(request, seed);
  out.machine = find_machine(path.empty() ? "." : path);
  out.settings.path = path;
  out.settings.file_size = file.bytes();
  out.settings.block = request.block;
  out.settings.samples = request.samples;
  out.settings.seconds = request.seconds;
  out.settings.rounds = request.rounds;
  out.settings.engine = request.engine;
  return out;
}

report run_once(const run_request& request, std::uint64_t seed, const data_file& file, std::optional<turns>& turns) {
  report out = begun_run(request, seed, request.path, file);
  const clock clock = clock::calibrated();
  const std::vector<work> works = plan(request, allowed_operations(request, file, out), file.bytes());
  if (request.before_measuring) request.before_measuring(works);
  if (request.quick) out.notes.emplace_back(quick_note);
  std::optional<platform::hardware_cycles> cycles;
  if (request.cycles && !cycles.emplace().why_not().empty()) out.notes.push_back("no cycles/op: " + cycles->why_not());
  const run_setup setup{clock, file, out.machine, request.engine, cycles ? &*cycles : nullptr};
  const double planned = static_cast<double>(works.size()) * request.seconds * with_warm_up;
  progress::tell_plan(
      fmt::format("{} series, {} rounds, up to {:g} s each: at most", works.size(), request.rounds, request.seconds),
      planned);
  const data_checks data(file);
  measure_amid(out, clock, [&] {
    std::vector<series_driver> all;
    all.reserve(works.size());
    for (const work& each : works) all.emplace_back(each, out.settings, setup);
    platform::drop_cached_pages(file.path());  // who knows how they came there
    const std::uint64_t began = clock.after();
    out.series = measure_rounds(all, clock, request.rounds, planned, request.after_round, turns);
    note_turns(out.series, request.turns, clock.seconds(clock.after() - began));
    data.judge(out);
  });
  return out;
}

// Two series that differ in the target or the mode, and are measured in pairs of runs.
class contest {
 public:
  contest(const work& base, const work& now, const report& first, const report& second, const run_setup& first_setup,
          const run_setup& second_setup, double effect, double error)
      : base_(base, first.settings, first_setup),
        now_(now, second.settings, second_setup),
        test_(effect, error),
        order_(series_seed(first.settings.seed, base)) {
    found_.work = base;
    found_.effect = effect;
    found_.error = error;
    const bool are_modes = base.mode != now.mode;
    found_.base = are_modes ? name(base.mode) : first.settings.path;
    found_.now = are_modes ? name(now.mode) : second.settings.path;
  }

  const work& subject() const noexcept { return found_.work; }
  bool wants_more() const { return base_.wants_more() && now_.wants_more() && found_.verdict == detected::undecided; }

  void measure_pair(std::uint64_t round, double start, const std::function<double()>& elapsed) {
    const bool base_first = (order_() >> 63) != 0;
    (base_first ? base_ : now_).measure_round(round, start);
    (base_first ? now_ : base_).measure_round(round, elapsed());
    if (interrupted() || !base_.wants_more() || !now_.wants_more()) return;
    const auto base = base_.median_of_last();
    const auto now = now_.median_of_last();
    if (!base || !now) {
      ++missing_;
    } else {
      found_.pairs.push_back({*base, *now, base_first});
      test_.add(*base, *now);
    }
    if (!lacks_many()) found_.verdict = test_.verdict();
    if (found_.pairs.size() == 1) began_ = start;
    found_.seconds = elapsed() - began_;
  }

  std::vector<series> base_series() const { return base_.finished(); }
  std::vector<series> now_series() const { return now_.finished(); }

  // `why`: what forbids a verdict, by the finished series; empty: nothing does.
  detection finished(std::string why) const {
    detection found = found_;
    found.ratio = test_.ratio();
    if (why.empty() && lacks_many())
      why = fmt::format("{} of {} pairs have too few samples for a median, as slow ones do; give them more --time",
                        missing_, missing_ + found.pairs.size());
    found.not_decidable = std::move(why);
    if (!found.not_decidable.empty()) found.verdict = detected::undecided;
    return found;
  }

 private:
  bool lacks_many() const {
    constexpr std::size_t very_few = 20;  // one in so many
    return missing_ * very_few > missing_ + found_.pairs.size();
  }

  series_driver base_, now_;
  pair_test test_;
  splitmix64 order_;
  detection found_;
  std::size_t missing_ = 0;
  double began_ = 0;
};

struct matched {
  work base, now;
};

// The same but for the mode. Direct knows neither temperature nor advice.
bool is_same_in(mode mode, const work& base, work now) {
  if (now.mode != mode) return false;
  now.mode = base.mode;
  now.temperature = base.temperature;
  now.advice = base.advice;
  return now == base;
}

std::vector<matched> matches(const run_request& request, const std::vector<work>& works) {
  std::vector<matched> found;
  if (!request.against.empty()) {
    for (const work& each : works) found.push_back({each, each});
    return found;
  }
  for (const work& each : works) {
    const auto same =
        std::ranges::find_if(works, [&](const work& other) { return is_same_in(request.modes.back(), each, other); });
    if (each.mode == request.modes.front() && same != works.end()) found.push_back({each, *same});
  }
  return found;
}

void measure_pairs(std::vector<contest>& all, const clock& clock, std::uint64_t most, double planned) {
  const std::uint64_t began = clock.after();
  const std::function<double()> elapsed = [&] { return clock.seconds(clock.after() - began); };
  bool is_open = true;
  for (std::uint64_t round = 0; round < most && is_open && !interrupted(); ++round) {
    is_open = false;
    for (std::size_t turn = 0; turn < all.size() && !interrupted(); ++turn) {
      contest& next = all[(static_cast<std::size_t>(round) + turn) % all.size()];
      if (!next.wants_more()) continue;
      is_open = true;
      progress::show_round({round, most, turn, all.size(), elapsed(), planned}, title(next.subject()));
      next.measure_pair(round, elapsed(), elapsed);
    }
  }
}

// Series that are invalid or were not measured; of two targets, also those of which one was verified.
std::string why_undecidable(const series& base, const series& now) {
  if (base.work == now.work) return why_not_comparable(base, now);
  for (const series* each : {&base, &now}) {
    if (!each->invalid.empty()) return "a series is invalid: " + each->invalid.front();
    if (!each->not_available.empty()) return "not measured: " + each->not_available;
  }
  return {};
}

const series* series_of(const std::vector<series>& all, const work& work) {
  const auto found = std::ranges::find(all, work, &series::work);
  return found == all.end() ? nullptr : &*found;
}

// The report does not have the series that these notes are about.
std::vector<std::string> notes_of(const series& of) {
  std::vector<std::string> notes = of.notes;
  if (of.measured() && of.verification.result == verification::verdict::unknown) notes.push_back(of.verification.text);
  return notes;
}

}  // namespace

report detected_run(const run_request& request) {
  if (ranks::are_several()) throw usage_error("--detect: it has no meaning for several ranks; run it without mpirun");
  const bool has_two = !request.against.empty();
  if (!has_two && request.modes.size() != 2)
    throw usage_error("--detect compares two targets, or two modes of one: name a second PATH, or give two --modes");
  const data_file file({request.path, request.file_size, request.block, request.overwrite, request.seed});
  std::optional<data_file> other;
  if (has_two)
    other.emplace(data_file_request{request.against, request.file_size, request.block, request.overwrite,
                                    run_seed(request.seed, 1)});
  const data_file& second_file = has_two ? *other : file;
  report out = begun_run(request, request.seed, request.path, file);
  report second = begun_run(request, request.seed, has_two ? request.against : request.path, second_file);
  const clock clock = clock::calibrated();
  const std::vector<matched> all = matches(
      request, plan(request, both_allow(request, file, second_file, out), std::min(file.bytes(), second_file.bytes())));
  if (all.empty()) throw usage_error("--detect: the two modes have no series in common; see --ops");
  if (file.bytes() != second_file.bytes() && request.working_sets.empty())
    out.notes.push_back(fmt::format("the files differ in size; of both, the first {} are used",
                                    size_text(std::min(file.bytes(), second_file.bytes()))));
  if (has_two)
    out.notes.push_back(
        fmt::format("The series are those of {0}. Of {1}, there is the median of each run; for its series, measure it "
                    "alone: qd1 run {1}",
                    request.path, request.against));
  std::optional<platform::hardware_cycles> cycles;
  if (request.cycles && !cycles.emplace().why_not().empty()) out.notes.push_back("no cycles/op: " + cycles->why_not());
  const run_setup setup{clock, file, out.machine, request.engine, cycles ? &*cycles : nullptr};
  const run_setup second_setup{clock, second_file, second.machine, request.engine, cycles ? &*cycles : nullptr};
  constexpr double error = 0.05;
  std::vector<contest> contests;
  contests.reserve(all.size());
  for (const auto& [base, now] : all)
    contests.emplace_back(base, now, out, second, setup, second_setup, request.detect,
                          error / static_cast<double>(all.size()));
  const double planned = static_cast<double>(all.size()) * 2 * request.seconds * with_warm_up;
  progress::tell_plan(fmt::format("{} comparisons of up to {} pairs of runs: at most", all.size(), request.rounds),
                      planned);
  const data_checks data(file);
  const data_checks second_data(second_file);
  measure_amid(out, clock, [&] {
    platform::drop_cached_pages(file.path());
    if (has_two) platform::drop_cached_pages(second_file.path());
    measure_pairs(contests, clock, request.rounds, planned);
    for (const contest& each : contests) {
      const auto add = [](report& to, std::vector<series> found) {
        for (series& one : found) to.series.push_back(std::move(one));
      };
      add(out, each.base_series());
      add(has_two ? second : out, each.now_series());
    }
    data.judge(out);
    if (has_two) second_data.judge(second);
  });
  for (std::size_t each = 0; each < all.size(); ++each) {
    const series* const base = series_of(out.series, all[each].base);
    const series* const now = series_of((has_two ? second : out).series, all[each].now);
    out.detections.push_back(contests[each].finished(why_undecidable(*base, *now)));
    if (has_two) out.detections.back().notes = notes_of(*now);
  }
  return out;
}

std::vector<report> repeated_runs(const run_request& request) {
  std::optional<turns> turns;
  if (!request.turns.empty()) turns.emplace(request.turns);
  const data_file file({request.path, request.file_size, request.block, request.overwrite, request.seed});
  return repeat_runs(request.repeat, request.seed,
                     [&](std::uint64_t seed) { return run_once(request, seed, file, turns); });
}

report run(const run_request& request) {
  run_request once = request;
  once.repeat = 1;
  return std::move(repeated_runs(once).front());
}

exit_status verdict(const report& report) {
  if (!report.valid()) return exit_invalid;
  const auto is_undecidable = [](const detection& each) { return !each.not_decidable.empty(); };
  const auto is_undecided = [](const detection& each) { return each.verdict == detected::undecided; };
  if (std::ranges::any_of(report.detections, is_undecidable)) return exit_invalid;
  if (std::ranges::any_of(report.detections, is_undecided)) return exit_inconclusive;
  const bool measured =
      std::any_of(report.series.begin(), report.series.end(), [](auto& each) { return each.measured(); });
  return measured ? exit_pass : exit_usage;
}

}  // namespace qd1
