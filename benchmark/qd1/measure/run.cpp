// SPDX-License-Identifier: BSL-1.0
#include "measure/run.hpp"

#include "machine/find.hpp"
#include "measure/conditions.hpp"
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "measure/offsets.hpp"
#include "measure/plan.hpp"
#include "measure/progress.hpp"
#include "measure/series.hpp"
#include "measure/surroundings.hpp"
#include "measure/turns.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace {

std::vector<operation> allowed_operations(const run_request& request, const data_file& file, report& out) {
  std::vector<operation> wanted = request.operations.value_or(std::vector{operation::read, operation::write});
  if (file.why_read_only().empty() || std::find(wanted.begin(), wanted.end(), operation::write) == wanted.end())
    return wanted;
  if (request.operations) throw usage_error(file.why_read_only());
  out.notes.push_back("reads only: " + file.why_read_only());
  return {operation::read};
}

offset_source offsets_of(const work& work, std::uint64_t seed) {
  if (work.temperature == temperature::cold) return unvisited_offsets(seed, work.working_set, work.block);
  return random_offsets(seed, work.working_set, work.block);
}

// What is allowed to a round. All rounds together transfer as often as was asked for; cold ones read no block twice.
limits limits_of(const work& work, const settings& settings, std::uint64_t round) {
  const std::uint64_t samples = work.temperature == temperature::cold
                                    ? std::min(settings.samples, work.working_set / work.block / 2)
                                    : settings.samples;
  const auto until = [&](std::uint64_t rounds) {
    return samples / settings.rounds * rounds + samples % settings.rounds * rounds / settings.rounds;
  };
  return {until(round + 1) - until(round), settings.seconds / static_cast<double>(settings.rounds)};
}

// In which round which processor is measured on: all that may be, as evenly as it goes. It matters which: interrupts of
// a device come to one of them, and a thread on another waits longer.
std::optional<std::uint64_t> processor_of(std::uint64_t round, std::uint64_t rounds) {
  static const std::vector<std::uint64_t> allowed = platform::allowed_processors();
  if (allowed.empty()) return std::nullopt;
  const std::uint64_t count = allowed.size();
  return allowed[rounds >= count ? round % count : (2 * round + 1) * count / (2 * rounds)];
}

// A series that is under way.
struct course_of_series {
  tally found;
  offset_source next_offset;
};

// Round after round, each time beginning with another series. So whatever changes while the run goes on meets all
// series, and differs between the rounds of each. But where other runs take turns, what goes before a series has to be
// the same in all of them: reads over a ring took 6 % longer right after blocking ones than after their like.
void measure_all(const std::vector<work>& works, const laboratory& laboratory, std::optional<turns>& turns,
                 report& out) {
  std::vector<course_of_series> all;
  all.reserve(works.size());
  for (const work& each : works) all.push_back({tally(each), offsets_of(each, out.settings.seed)});
  platform::drop_cached_pages(laboratory.file.path());  // who knows how they came there
  const std::uint64_t began = laboratory.clock.after();
  for (std::uint64_t round = 0; round < out.settings.rounds; ++round) {
    const auto processor = processor_of(round, out.settings.rounds);
    if (turns) turns->pass();
    const std::size_t first = turns ? 0 : static_cast<std::size_t>(round);
    for (std::size_t turn = 0; turn < all.size(); ++turn) {
      auto& [found, next_offset] = all[(first + turn) % all.size()];
      const limits most = limits_of(found.subject(), out.settings, round);
      if (interrupted() || !found.wants_more() || most.samples == 0) continue;
      progress::show(fmt::format("round {}/{}, {}/{}: {}", round + 1, out.settings.rounds, turn + 1, all.size(),
                                 title(found.subject())));
      const double start = laboratory.clock.seconds(laboratory.clock.after() - began);
      measure_round(found, laboratory, next_offset, {most, start, processor});
    }
  }
  for (const auto& [found, _] : all)
    if (found.has_begun()) out.series.push_back(found.finished());
}

}  // namespace

report run(const run_request& request) {
  report out = begun_report(request.command_line);
  std::optional<turns> turns;
  if (!request.turns.empty()) turns.emplace(request.turns);
  const data_file file({request.path, request.file_size, request.block, request.overwrite, request.seed});
  const clock clock = clock::calibrated();
  out.machine = find_machine(request.path.empty() ? "." : request.path);
  out.settings = {request.path,    file.bytes(),   request.block,  request.samples,
                  request.seconds, request.rounds, request.engine, request.seed};
  const std::vector<work> works = plan(request, allowed_operations(request, file, out), file.bytes());
  const laboratory laboratory{clock, file, out.machine, request.engine};
  measure_amid(out, clock, [&] {
    measure_all(works, laboratory, turns, out);
    for (series& each : out.series) each.turns = request.turns;
    judge_data(file, out);
  });
  return out;
}

exit_status verdict(const report& report) {
  if (!report.valid()) return exit_invalid;
  const bool measured =
      std::any_of(report.series.begin(), report.series.end(), [](auto& each) { return each.measured(); });
  return measured ? exit_pass : exit_usage;
}

}  // namespace qd1
