// SPDX-License-Identifier: BSL-1.0
#include "measure/run.hpp"

#include "machine/find.hpp"
#include "measure/conditions.hpp"
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "measure/noise.hpp"
#include "measure/offsets.hpp"
#include "measure/plan.hpp"
#include "measure/progress.hpp"
#include "measure/series.hpp"
#include <qio/version.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

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

void measure_all(const std::vector<work>& works, const laboratory& laboratory, std::uint64_t seed, report& out) {
  for (const work& each : works) {
    if (interrupted()) return;
    progress::show(fmt::format("{}/{} {}", out.series.size() + 1, works.size(), title(each)));
    out.series.push_back(measure(each, laboratory, offsets_of(each, seed)));
  }
}

void judge_noise(report& out) {
  for (series& each : out.series) {
    each.trusted_fraction = trusted_fraction(each, *out.noise_before, *out.noise_after);
    if (each.trusted_fraction)
      out.trusted_fraction = std::min(out.trusted_fraction.value_or(1), *each.trusted_fraction);
  }
}

constexpr double listening_seconds = 0.5;

}  // namespace

report run(const run_request& request) {
  report out;
  out.version = fmt::format("{}.{}.{}", QIO_VERSION_MAJOR, QIO_VERSION_MINOR, QIO_VERSION_PATCH);
  out.started_seconds = std::time(nullptr);
  out.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(out.started_seconds));
  out.command_line = request.command_line;

  const data_file file({request.path, request.file_size, request.block, request.overwrite, request.seed});
  const clock clock = clock::calibrated();
  out.machine = find_machine(request.path.empty() ? "." : request.path);
  out.advice = advise(out.machine);
  out.settings = {request.path,    file.bytes(),   request.block, request.samples,
                  request.seconds, request.engine, request.seed};
  const std::vector<work> works = plan(request, allowed_operations(request, file, out), file.bytes());
  const laboratory laboratory{clock, file, out.machine, {request.samples, request.seconds}, request.engine};

  const machine_counters before = count(out.machine);
  out.noise_before = listen(clock, listening_seconds);
  measure_all(works, laboratory, request.seed, out);
  out.noise_after = listen(clock, listening_seconds);
  progress::clear();
  out.counters = count(out.machine) - before;
  out.memory_after = find_memory();
  judge_conditions(file, out);
  judge_noise(out);
  out.complete = !interrupted();
  out.clock = clock.facts();
  return out;
}

exit_status verdict(const report& report) {
  if (!report.valid()) return exit_invalid;
  const bool measured =
      std::any_of(report.series.begin(), report.series.end(), [](auto& each) { return each.measured(); });
  return measured ? exit_pass : exit_usage;
}

}  // namespace qd1
