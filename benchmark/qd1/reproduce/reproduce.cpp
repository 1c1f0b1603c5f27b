// SPDX-License-Identifier: BSL-1.0
#include "reproduce/reproduce.hpp"

#include "measure/interruption.hpp"
#include "measure/run.hpp"
#include "measure/surroundings.hpp"
#include "reproduce/experiment.hpp"
#include "text/printable.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>

namespace qd1 {
namespace {

std::string minutes(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  return fmt::format("{:.0f} min", std::ceil(seconds / 60));
}

std::string grouped_mebibytes(std::uint64_t bytes) { return grouped(bytes >> 20) + " MiB"; }

std::vector<std::string> outline(const std::vector<planned>& parts) {
  double seconds = 0;
  std::uint64_t bytes = 0;
  for (const planned& each : parts) {
    seconds += seconds_of(each);
    bytes += bytes_written(each);
  }
  std::vector<std::string> lines = {
      fmt::format("{} measurements, about {}{}", parts.size(), minutes(seconds),
                  bytes == 0 ? ""
                             : fmt::format(", and the time that it takes to write {} of data: each makes new files",
                                           grouped_mebibytes(bytes)))};
  for (const planned& each : parts)
    lines.push_back(
        fmt::format("{}, about {}: {}; {}", each.name, minutes(seconds_of(each)), each.purpose, outline_of(each)));
  return lines;
}

reproduction begun(const experiment& which, const reproduce_request& request, const std::vector<planned>& parts) {
  reproduction out;
  const report begun = begun_report(request.command_line);
  out.about = which.about;
  out.version = begun.version;
  out.started = begun.started;
  out.command_line = request.command_line;
  out.plan = outline(parts);
  return out;
}

experiment_part measured_or_not(const planned& part, const std::string& command_line) {
  try {
    return measured(part, command_line);
  } catch (const std::exception& failure) {  // also of memory: the other parts are not lost for it
    return {.name = part.name, .purpose = part.purpose, .found = {}, .not_measured = failure.what()};
  }
}

}  // namespace

reproduction planned_reproduction(const reproduce_request& request) {
  const experiment& which = experiment_named(request.experiment);
  const resources with = resources_for(request, which.targets);
  return begun(which, request, which.plan(with));
}

reproduction reproduce(const reproduce_request& request) {
  const experiment& which = experiment_named(request.experiment);
  const resources with = resources_for(request, which.targets);
  const std::vector<planned> parts = which.plan(with);
  reproduction out = begun(which, request, parts);
  for (const std::string& line : out.plan) print(stderr, line + '\n');
  for (const planned& each : parts) {
    if (interrupted()) break;
    print(stderr, fmt::format("{}/{} {}\n", out.parts.size() + 1, parts.size(), each.name));
    out.parts.push_back(measured_or_not(each, request.command_line));
  }
  out.complete = !interrupted();
  which.judge(with, out);
  return out;
}

exit_status verdict(const reproduction& of) {
  bool any = false;
  for (const experiment_part& each : of.parts) {
    if (each.unchecked) continue;
    if (!each.found.valid()) return exit_invalid;
    any = any || std::ranges::any_of(each.found.series, &series::measured);
  }
  return any ? exit_pass : exit_usage;
}

}  // namespace qd1
