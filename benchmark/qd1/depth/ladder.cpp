// SPDX-License-Identifier: BSL-1.0
#include "depth/ladder.hpp"

#include "depth/field.hpp"
#include "depth/sharing.hpp"
#include "depth/step.hpp"
#include "failure.hpp"
#include "machine/find.hpp"
#include "measure/alignment.hpp"
#include "measure/data_checks.hpp"
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "measure/offset_order.hpp"
#include "measure/progress.hpp"
#include "measure/repeat.hpp"
#include "measure/surroundings.hpp"
#include "pressure/pressure.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <iterator>

namespace qd1 {
namespace {

constexpr double time_with_warm_up = 1.1;

// Those that have been made are kept in place: targets refer to them.
std::deque<data_file> files_of(const ladder_request& request) {
  std::deque<data_file> files;
  const auto add = [&](const std::string& path) {
    files.emplace_back(
        data_file_request{path, request.file_size, request.block, request.overwrite, request.seed + files.size()});
    if (request.reads < 1 && !files.back().why_read_only().empty()) throw usage_error(files.back().why_read_only());
  };
  for (const std::string& each : request.paths) add(each);
  if (files.empty()) add("");
  return files;
}

// The host, and each device under any of the targets once.
machine_facts facts_of(const std::vector<target>& targets) {
  machine_facts all = targets.front().machine;
  for (const target& each : targets)
    for (const device_facts& device : each.machine.devices)
      if (std::ranges::find(all.devices, device.name, &device_facts::name) == all.devices.end())
        all.devices.push_back(device);
  return all;
}

field field_of(const ladder_request& request, const settings& settings, const clock& clock,
               const std::deque<data_file>& files) {
  field found{clock, settings, {}, {}, request.engine, request.timed, request.pinned};
  for (std::size_t each = 0; each < files.size(); ++each) {
    const bool is_named = each < request.paths.size();
    found.targets.push_back({files[each], find_machine(is_named ? request.paths[each] : ".")});
  }
  found.machine = facts_of(found.targets);
  return found;
}

void require_direct_blocks(const work& work, const field& field) {
  if (!traits(work.mode).is_direct) return;
  for (const target& each : field.targets)
    if (const auto file = qio::direct_file::open(each.file.path()); file)
      require_alignment(work, file.value().alignment());
}

// The least of the targets' sizes: workers of all of them choose from as much.
std::uint64_t working_set(const std::deque<data_file>& files) {
  std::uint64_t least = files.front().bytes();
  for (const data_file& each : files) least = std::min(least, each.bytes());
  return least;
}

std::vector<planned_load> loads_of_ladder(const ladder_request& request, std::uint64_t targets) {
  require_cold_once(request.order, request.temperature);
  std::vector<planned_load> all;
  for (const mode mode : request.modes)
    for (const std::uint64_t workers : request.workers)
      for (const std::uint64_t depth : request.depths) {
        work each;
        each.mode = mode;
        each.operation = request.reads > 0 ? operation::read : operation::write;
        each.form = form::asynchronous;
        each.temperature = traits(mode).keeps_pages ? request.temperature : temperature::warm;
        each.durability = request.durability;
        each.block = request.block;
        each.load = {workers, depth, 1, std::nullopt, request.order, request.zipf_theta, 1};
        for (std::uint64_t only = 0; request.each_alone && only < targets; ++only) {
          each.load.only = only;
          all.push_back({each, request.reads});
        }
        each.load.only.reset();
        each.load.targets = targets;
        all.push_back({each, request.reads});
      }
  return all;
}

std::vector<planned_load> plan(const ladder_request& request, const std::deque<data_file>& files, report& out) {
  std::vector<planned_load> all = request.loads.empty() ? loads_of_ladder(request, files.size()) : request.loads;
  if (const std::string why = files.front().why_read_only(); !request.loads.empty() && !why.empty()) {
    std::erase_if(all, [](const planned_load& each) { return each.reads < 1; });
    out.notes.push_back("reads only: " + why);
  }
  for (planned_load& each : all) each.work.working_set = working_set(files);
  return all;
}

std::vector<step> steps_of(const std::vector<planned_load>& loads, const field& field, const ladder_request& request) {
  std::vector<step> steps;
  for (const planned_load& each : loads) {
    require_direct_blocks(each.work, field);
    steps.emplace_back(each, field, request.seconds / static_cast<double>(request.rounds));
  }
  if (!request.before_measuring) return steps;
  std::vector<work> works;
  for (const step& each : steps) std::ranges::copy(each.works(), std::back_inserter(works));
  request.before_measuring(works);
  return steps;
}

report measure_once(const ladder_request& request, std::uint64_t seed, const std::deque<data_file>& files) {
  report out = begun_report(request, seed);
  out.kind = report_kind::depth;
  out.notes = request.notes;
  std::optional<turns> turns;
  if (!request.turns.empty()) turns.emplace(request.turns);
  const clock clock = clock::calibrated();
  std::optional<platform::hardware_cycles> cycles;  // before there are workers: their cycles count, too
  if (request.cycles && !cycles.emplace().why_not().empty()) out.notes.push_back("no cycles/op: " + cycles->why_not());
  field field = field_of(request, out.settings, clock, files);
  field.cycles = cycles ? &*cycles : nullptr;
  out.machine = field.machine;
  out.settings.path = fmt::format("{}", fmt::join(request.paths, " "));
  out.settings.targets = request.paths;
  out.settings.file_size = working_set(files);
  out.settings.block = request.loads.empty() ? request.block : 0;
  out.settings.samples = 0;  // as many as there are in the time
  out.settings.seconds = request.seconds;
  out.settings.rounds = request.rounds;
  out.settings.engine = request.engine.name;
  out.settings.profile = request.profile;
  std::vector<step> steps = steps_of(plan(request, files, out), field, request);
  // Only now: files that are being filled would be most of what is in so little memory.
  std::optional<memory_pressure> pressure;
  if (request.memory) pressure.emplace(*request.memory);
  const double planned = static_cast<double>(steps.size()) * request.seconds * time_with_warm_up;
  progress::tell_plan(
      fmt::format("{} steps, {} rounds, {:g} s each: about", steps.size(), request.rounds, request.seconds), planned);
  const std::vector<data_checks> data(files.begin(), files.end());
  measure_amid(out, clock, [&] {
    const std::uint64_t began = clock.after();
    out.series = measure_rounds(steps, clock, request.rounds, planned, request.after_round, turns);
    note_turns(out.series, request.turns, clock.seconds(clock.after() - began));
    note_scaling(out, field.targets);
    for (const data_checks& each : data) each.judge(out);
  });
  return out;
}

}  // namespace

std::vector<report> repeated_loads(const ladder_request& request) {
  const std::deque<data_file> files = files_of(request);
  return repeat_runs(request.repeat, request.seed,
                     [&](std::uint64_t seed) { return measure_once(request, seed, files); });
}

report measure_loads(const ladder_request& request) {
  ladder_request once = request;
  once.repeat = 1;
  return std::move(repeated_loads(once).front());
}

}  // namespace qd1
