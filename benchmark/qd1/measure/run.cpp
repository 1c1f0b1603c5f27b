// SPDX-License-Identifier: BSL-1.0
#include "measure/run.hpp"

#include "machine/find.hpp"
#include "measure/data_checks.hpp"
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "measure/offset_order.hpp"
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

#include <fmt/format.h>

#include <algorithm>

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

 private:
  tally found_;
  offset_source next_offset_;
  pace schedule_;
  const settings& settings_;
  const run_setup& setup_;
};

static_assert(round_driver<series_driver>);

report run_once(const run_request& request, std::uint64_t seed, const data_file& file, std::optional<turns>& turns) {
  report out = begun_report(request, seed);
  const clock clock = clock::calibrated();
  out.machine = find_machine(request.path.empty() ? "." : request.path);
  out.settings.path = request.path;
  out.settings.file_size = file.bytes();
  out.settings.block = request.block;
  out.settings.samples = request.samples;
  out.settings.seconds = request.seconds;
  out.settings.rounds = request.rounds;
  out.settings.engine = request.engine;
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

}  // namespace

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
  const bool measured =
      std::any_of(report.series.begin(), report.series.end(), [](auto& each) { return each.measured(); });
  return measured ? exit_pass : exit_usage;
}

}  // namespace qd1
