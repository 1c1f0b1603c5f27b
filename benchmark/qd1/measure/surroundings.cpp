// SPDX-License-Identifier: BSL-1.0
#include "measure/surroundings.hpp"

#include "machine/find.hpp"
#include "measure/conditions.hpp"
#include "measure/disruptions.hpp"
#include "measure/interruption.hpp"
#include "measure/noise.hpp"
#include "measure/progress.hpp"
#include "ranks/ranks.hpp"
#include <qio/version.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <random>

namespace qd1 {
namespace {

constexpr double listening_seconds = 0.5;

void judge_noise(report& out) {
  for (series& each : out.series) {
    each.trusted_fraction = trusted_fraction(each, *out.noise_before, *out.noise_after);
    if (each.trusted_fraction)
      out.trusted_fraction = std::min(out.trusted_fraction.value_or(1), *each.trusted_fraction);
  }
}

}  // namespace

report begun_report(const std::string& command_line) {
  report out;
  out.version = fmt::format("{}.{}.{}", QIO_VERSION_MAJOR, QIO_VERSION_MINOR, QIO_VERSION_PATCH);
  out.started_seconds = std::time(nullptr);
  out.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(out.started_seconds));
  out.command_line = command_line;
  std::random_device random;
  out.runs = {fmt::format("{:08x}{:08x}", random(), random())};
  return out;
}

report begun_report(const measurement_request& request, std::uint64_t seed) {
  report out = begun_report(request.command_line);
  out.settings.seed = seed;
  out.settings.percentiles = chosen_percentiles(request.percentiles);
  return out;
}

void measure_amid(report& out, const clock& clock, const std::function<void()>& measure) {
  out.advice = advise(out.machine);
  const machine_counters before = count(out.machine);
  out.noise_before = listen(clock, listening_seconds);
  ranks::wait_for_all();
  const disruptions disruptions(clock);
  measure();
  out.noise_after = listen(clock, listening_seconds);
  progress::clear();
  out.counters = count(out.machine) - before;
  out.memory_after = find_memory();
  disruptions.judge(out);
  out.clock = clock.facts();
  judge_conditions(out);
  judge_noise(out);
  out.complete = !interrupted();
}

}  // namespace qd1
