// SPDX-License-Identifier: BSL-1.0
#include "memory/memory.hpp"

#include "depth/step.hpp"
#include "failure.hpp"
#include "machine/find.hpp"
#include "measure/data_checks.hpp"
#include "measure/data_file.hpp"
#include "measure/progress.hpp"
#include "measure/repeat.hpp"
#include "measure/rounds.hpp"
#include "measure/surroundings.hpp"
#include "memory/binding.hpp"
#include "platform/file.hpp"
#include "pressure/pressure.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

namespace qd1 {
namespace {

constexpr std::uint64_t least_memory = std::uint64_t(64) << 20;  // what is left beside ballast still holds this process

constexpr double time_with_warm_up = 1.1;

constexpr std::uint64_t ballast_leaves = 4;  // the part, of the memory

// All sizes are parts of the memory.
struct sizes {
  std::uint64_t memory;
  std::uint64_t beside_ballast;  ///< what is left of it
  std::uint64_t small, fitting, larger;
};

sizes sizes_of(std::uint64_t memory, std::uint64_t block) {
  const auto whole = [&](std::uint64_t bytes) { return bytes / block * block; };
  return {memory, memory / ballast_leaves, whole(memory / 8), whole(memory / 2), whole(memory / 2 * 3)};
}

work work_of(operation what, std::uint64_t within, std::uint64_t memory, std::uint64_t block) {
  work made;
  made.mode = mode::cached;
  made.operation = what;
  made.block = block;
  made.working_set = within;
  made.memory = memory;
  return made;
}

// Each read cold, then again. In this order, so that memory has to be made short as seldom as possible.
std::vector<work> plan(const sizes& sizes, std::uint64_t block, bool writes) {
  std::vector<work> all;
  const auto add_reads = [&](std::uint64_t within, std::uint64_t memory) {
    work each = work_of(operation::read, within, memory, block);
    for (const temperature state : {temperature::cold, temperature::warm}) {
      each.temperature = state;
      all.push_back(each);
    }
  };
  add_reads(sizes.fitting, sizes.memory);
  add_reads(sizes.larger, sizes.memory);
  add_reads(sizes.fitting, sizes.beside_ballast);
  if (!writes) return all;
  for (const std::uint64_t memory : {sizes.beside_ballast, sizes.memory})
    for (const std::uint64_t within : {sizes.fitting, sizes.small})
      all.push_back(work_of(operation::write, within, memory, block));
  return all;
}

// So that what is to come into memory counts there where memory is short.
void make_short(std::optional<memory_pressure>& pressure, const data_file& file, std::uint64_t bytes) {
  pressure.reset();
  platform::drop_cached_pages(file.path());
  pressure.emplace(bytes);
}

std::optional<std::uint64_t> most_dirty(const series& of) {
  std::optional<std::uint64_t> most;
  for (const slice& each : of.slices)
    if (each.dirty_bytes) most = std::max(most.value_or(0), *each.dirty_bytes);
  return most;
}

void describe(series& found, const memory_pressure& pressure, std::optional<std::uint64_t> hits) {
  shortage& memory = found.shortage.emplace();
  pressure.describe(memory);
  memory.dirty_most = most_dirty(found);
  memory.limit_hits = hits;
  if (!found.measured()) return;
  const binding bound = binding_of(found);
  memory.bound = bound.bound;
  found.notes.push_back(fmt::format("{}: {}", name(bound.bound), bound.evidence));
}

// Memory is made short where it is not yet as short as the next step needs it.
class memory_limit {
 public:
  explicit memory_limit(const data_file& file) : file_(file) {}

  const memory_pressure& set(std::uint64_t bytes) {
    if (std::exchange(bytes_, bytes) != bytes) make_short(pressure_, file_, bytes);
    return *pressure_;
  }

 private:
  const data_file& file_;
  std::optional<memory_pressure> pressure_;
  std::uint64_t bytes_ = 0;
};

// A step of one round, in so much memory. What it keeps for that takes memory itself, and so lives no longer.
class step_in_memory {
 public:
  step_in_memory(const work& work, const field& field, double seconds, memory_limit& limit)
      : work_(work), field_(field), seconds_(seconds), limit_(&limit) {}

  const work& subject() const noexcept { return work_; }
  bool wants_more() const noexcept { return found_.empty(); }

  void measure_round(std::uint64_t round, double start) {
    const memory_pressure& pressure = limit_->set(*work_.memory);
    field field = field_;
    field.dirty_bytes = [&pressure] { return pressure.dirty_bytes(); };
    step step({work_, work_.operation == operation::read ? 1. : 0.}, field, seconds_);
    const auto hits_before = memory_limit_hits();
    step.measure_round(round, start);
    const auto hits = memory_limit_hits();
    found_ = step.finished();
    describe(found_.front(), pressure, hits && hits_before ? std::optional(*hits - *hits_before) : std::nullopt);
  }

  std::vector<series> finished() const { return found_; }

 private:
  work work_;
  const field& field_;
  double seconds_;
  memory_limit* limit_;
  std::vector<series> found_;
};

static_assert(round_driver<step_in_memory>);

// To this process: of the machine, and within its groups' limits.
std::optional<std::uint64_t> available_memory() {
  const host_facts host = find_machine(".").host;
  const auto available = host.memory.available_bytes, limit = host.limits.memory_bytes;
  return available && limit ? std::min(available, limit) : available ? available : limit;
}

void require_possible(const memory_request& request, std::uint64_t memory) {
  if (!platform::tells_cached_pages())
    throw usage_error(
        "this system does not report which pages of a file are in memory, and cannot limit them for a process; qd1 "
        "memory needs both");
  if (memory < least_memory)
    throw usage_error(
        fmt::format("--memory: {} is too little, because this process needs some of it; at least {} is needed",
                    size_text(memory), size_text(least_memory)));
  if (const auto available = available_memory(); available && *available < memory)
    throw usage_error(fmt::format("--memory: {} is more than the {} that are available here", size_text(memory),
                                  size_text(*available >> 20 << 20)));
  if (request.block == 0 || request.block > memory / 64)
    throw usage_error(fmt::format("--block: {} is too large for {} of memory; it can be at most {}", request.block,
                                  size_text(memory), size_text(memory / 64)));
  try {
    memory_pressure::require(memory / ballast_leaves);
  } catch (const usage_error& refused) {
    throw usage_error(fmt::format("--memory: of {}, ballast leaves {}: {}", size_text(memory),
                                  size_text(memory / ballast_leaves), refused.what()));
  }
}

}  // namespace

std::uint64_t default_memory() {
  const std::uint64_t available = available_memory().value_or(least_memory * 8);
  return std::clamp(std::bit_floor(available / 8), least_memory, std::uint64_t(1) << 30);
}

namespace {

report measure_once(const memory_request& request, std::uint64_t seed, const sizes& sizes, const data_file& file) {
  report out = begun_report(request, seed);
  out.kind = report_kind::memory;
  const clock clock = clock::calibrated();
  out.machine = find_machine(request.path.empty() ? "." : request.path);
  out.settings.path = request.path;
  out.settings.targets = {request.path};
  out.settings.file_size = file.bytes();
  out.settings.block = request.block;
  out.settings.samples = 0;  // as many as there are in the time
  out.settings.seconds = request.seconds;
  out.settings.rounds = 1;
  out.settings.engine = "auto";
  if (!file.why_read_only().empty()) out.notes.push_back("reads only: " + file.why_read_only());
  const field field{clock, out.settings, {{file, out.machine}}, out.machine, {}, true, false, true};
  const std::vector<work> works = plan(sizes, request.block, file.why_read_only().empty());
  if (request.before_measuring) request.before_measuring(works);
  const double planned = static_cast<double>(works.size()) * request.seconds * time_with_warm_up;
  progress::tell_plan(fmt::format("{} steps, up to {:g} s each: at most", works.size(), request.seconds), planned);
  const data_checks data(file);
  measure_amid(out, clock, [&] {
    memory_limit limit(file);
    std::vector<step_in_memory> steps;
    steps.reserve(works.size());
    for (const work& each : works) steps.emplace_back(each, field, request.seconds, limit);
    std::optional<turns> no_turns;
    out.series = measure_rounds(steps, clock, 1, planned, request.after_round, no_turns);
    data.judge(out);
  });
  return out;
}

}  // namespace

std::vector<report> repeated_memory(const memory_request& request) {
  const sizes sizes = sizes_of(request.memory.value_or(default_memory()), request.block);
  require_possible(request, sizes.memory);
  const data_file file({request.path, sizes.larger, request.block, request.overwrite, request.seed});
  return repeat_runs(request.repeat, request.seed,
                     [&](std::uint64_t seed) { return measure_once(request, seed, sizes, file); });
}

report measure_memory(const memory_request& request) {
  memory_request once = request;
  once.repeat = 1;
  return std::move(repeated_memory(once).front());
}

}  // namespace qd1
