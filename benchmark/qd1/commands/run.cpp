// SPDX-License-Identifier: BSL-1.0
// qd1 run: one transfer at a time, or a profile.
#include "measure/run.hpp"

#include "commands/commands.hpp"
#include "commands/common.hpp"
#include "depth/ladder.hpp"
#include "depth/profiles.hpp"
#include "failure.hpp"
#include "merge/of_ranks.hpp"
#include "platform/names.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace qd1 {
namespace {

struct run_state {
  run_request request;
  std::vector<std::string> paths;
  bool create = false;
  report_options report;
};

void add_profile(options& to, std::string& profile) {
  std::vector<std::string> names;
  for (const qd1::profile& each : profiles()) names.emplace_back(each.name);
  option& added = to.word("--profile", profile, names,
                          "Measure the rows of CrystalDiskMark and KDiskMark instead: direct reads, then writes, "
                          "sequential 1 MiB with 8 and 1 in flight, random 4 KiB with 32 and 1. mix adds rows with "
                          "70 % reads. Profiles");
  added.decides = "what is measured";
  added.instead_of = {"--modes",  "--ops",    "--block",       "--order", "--zipf-theta", "--reads",
                      "--writes", "--advice", "--working-set", "--rate",  "--poisson",    "--samples"};
}

// The same of the loads that the profile consists of.
ladder_request loads_of(const run_request& from) {
  const profile& wanted = *profile_named(from.profile);
  ladder_request made;
  static_cast<measurement_request&>(made) = from;
  made.loads = loads_of(wanted);
  made.profile = from.profile;
  if (!from.path.empty()) made.paths = {from.path};
  made.block = largest_block(wanted);
  made.file_size = from.file_size;
  made.seconds = from.seconds;
  made.rounds = from.rounds;
  made.engine.name = from.engine;
  made.cycles = from.cycles;
  made.turns = from.turns;
  if (from.quick) made.notes.emplace_back(quick_note);
  return made;
}

// Enough pairs for most hosts, of runs as long as the rounds of a single run.
constexpr std::uint64_t most_pairs = 200;
constexpr double seconds_of_run = 0.25;
constexpr std::uint64_t samples_of_run = 50'000;

void add_detect(options& to, run_request& request) {
  option& added = to.percent(
      "--detect", request.detect,
      "Compare two PATHs, or two --modes of one: measure both in turn, in pairs of short runs in random order, until "
      "each series is known to differ, or not to differ by this much. --rounds: pairs at most (200); --time: of all "
      "runs "
      "of a series (50s). Exit status: 0 decided, 3 undecided, 4 invalid");
  added.preset.clear();
  added.decides = "how many runs are made";
  added.instead_of = {"--repeat", "--gate", "--gate-vs", "--profile", "--turns", "--quick"};
  added.take = [take = added.take, &request](const std::vector<std::string>& typed) {
    std::string number = typed.back();
    if (number.ends_with('%')) number.pop_back();
    take({number});
    if (request.detect <= 0) throw usage_error("--detect: it must be more than 0 %");
    request.rounds = most_pairs;
    request.seconds = most_pairs * seconds_of_run;
    request.samples = most_pairs * samples_of_run;
  };
}

// Throws usage_error.
void settle_targets(const std::vector<std::string>& paths, run_request& request) {
  if (!paths.empty()) request.path = paths.front();
  if (paths.size() < 2) return;
  if (request.detect <= 0)
    throw usage_error(fmt::format("{}: a second PATH is compared with the first; add --detect 2%", paths.back()));
  request.against = paths.back();
}

void add_run_options(options& to, run_state& own) {
  run_request& request = own.request;
  // The first of the options: those that are given beside it hold.
  to.flag("--quick", request.quick,
          "A first look, labeled QUICK: 0.5 s and 10 rounds for each series, and a file of 64MiB")
      .take = [&request](const std::vector<std::string>&) {
    request.quick = true;
    request.seconds = 0.5;
    request.rounds = 10;  // fewer than 8 support no interval
    if (request.path.empty() && !request.file_size) request.file_size = std::uint64_t(64) << 20;
  };
  add_detect(to, request);
  add_profile(to, request.profile);
  add_paths(to, own.paths, "A file, a directory or a block device; with --detect, a second one to compare with it.")
      .most = 2;
  add_modes(to, request.modes);
  to.some_of("--ops", request.operations, "Operations to measure").preset = "read,write";
  add_block(to, request.block);
  add_order(to, request.order, request.zipf_theta);
  add_file_size(to, request.file_size);
  add_reads(to, request.reads);
  add_writes(to, request.writes);
  to.some_of(
      "--advice", request.advice,
      fmt::format("Hints for the system about the order of reads that are not direct ({})", platform::advice_calls));
  to.sizes("--working-set", request.working_sets, "Bytes from which offsets are chosen. Default: the whole file");
  to.number("--rate", request.rate, 1e-3, 1e9,
            "Open loop: start this many transfers per second, and measure from when each should have started. The wait "
            "in between spins on a CPU, so there is no CPU/op");
  to.flag("--poisson", request.poisson, "With --rate: at random intervals, as from many independent callers").needs =
      "--rate";
  to.count("--samples", request.samples, 1, std::uint64_t(1) << 40, "Transfers of a series, at most");
  to.flag("--cycles", request.cycles, "Also count CPU cycles; adds work to each context switch");
  add_time(to, request.seconds, "a series, at most");
  add_rounds(to, request.rounds);
  to.text("--turns", "FILE", request.turns,
          "Each round waits its turn with those of other runs that name this file. For runs side by side: whatever the "
          "host does affects them alike, so compare detects smaller differences");
  add_engine(to, request.engine);
  add_measurement(to, request);
}

}  // namespace

command run_command() {
  const auto own = std::make_shared<run_state>();
  command made{"run", "Measure latency, one transfer at a time, or a well-known profile", {}, {}, true};
  add_run_options(made.options, *own);
  add_create(made.options, own->create);
  own->report.declare_repeat(made.options);
  own->report.declare_details(made.options);
  own->report.declare(made.options);
  made.run = [own](const std::string& command_line) -> int {
    settle_order(own->request.order, own->request.zipf_theta);
    settle_targets(own->paths, own->request);
    require_meant(own->paths, own->create);
    own->report.prepare(own->request, command_line);
    if (own->request.detect > 0) return own->report.finish(detected_run(own->request));
    const bool by_profile = !own->request.profile.empty();
    const auto found =
        in_one_of_all_ranks(by_profile ? repeated_loads(loads_of(own->request)) : repeated_runs(own->request));
    return found ? own->report.finish(*found) : exit_pass;  // the first rank answers for all
  };
  return made;
}

}  // namespace qd1
