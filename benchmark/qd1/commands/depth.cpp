// SPDX-License-Identifier: BSL-1.0
// qd1 depth: many transfers in flight, and what each further one brings.
#include "commands/commands.hpp"
#include "commands/common.hpp"
#include "depth/ladder.hpp"
#include "failure.hpp"
#include "merge/of_ranks.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace qd1 {
namespace {

constexpr std::uint64_t most_in_flight = 1 << 16;
constexpr std::uint64_t most_memory = std::uint64_t(1) << 30;  // of buffers, for each worker

struct depth_state {
  ladder_request request;
  bool untimed = false;
  bool create = false;
  report_options report;
};

void add_load(options& to, ladder_request& request) {
  add_paths(to, request.paths);
  add_modes(to, request.modes);
  to.percent("--mix", request.reads, "Percentage of the transfers that read; the others write");
  add_order(to, request.order, request.zipf_theta);
  add_block(to, request.block);
  to.counts("--depths", request.depths, 1, most_in_flight,
            "Transfers that each worker keeps in flight; each number is a step of the ladder");
  to.counts("--workers", request.workers, 1, 1024,
            "Threads for each PATH, each with its own context; each number is measured with all depths");
  to.flag("--alone", request.each_alone,
          "Also measure each PATH alone, and report the throughput of all together as a fraction of the sum");
  add_file_size(to, request.file_size);
  add_reads(to, request.temperature);
  add_writes(to, request.durability, false);
}

void add_measuring(options& to, depth_state& own) {
  ladder_request& request = own.request;
  add_time(to, request.seconds, "a step");
  add_rounds(to, request.rounds);
  to.flag("--no-clock", own.untimed,
          "Do not read the clock for each transfer: the most operations per second, but no latencies");
  to.flag("--pin", request.pinned, "Keep each worker on one CPU, those near the device first");
  add_engine(to, request.engine.name);
  to.word("--wait", request.engine.waiting, {"sleep", "spin"}, "How workers wait for completions");
  to.flag("--polled", request.engine.polled, "Poll the device for completions, where it has queues for that");
  to.flag("--registered", request.engine.registered,
          "Transfer to and from memory that is registered with the ring, which takes less CPU time");
  add_measurement(to, request);
  add_create(to, own.create);
}

void require_possible(const ladder_request& request) {
  const std::uint64_t depth = request.depths.back();
  if (request.block > most_memory / depth)
    throw usage_error(
        fmt::format("--depths: {} transfers of {} bytes take more than {} of memory for each worker; at "
                    "most {} fit",
                    depth, request.block, size_text(most_memory), most_memory / request.block));
  if (request.each_alone && request.paths.size() < 2)
    throw usage_error(fmt::format("--alone: there is only {} target; name at least two",
                                  std::max<std::size_t>(request.paths.size(), 1)));
}

}  // namespace

command depth_command() {
  const auto own = std::make_shared<depth_state>();
  command made{"depth", "Measure with many transfers in flight", {}, {}, true};
  add_load(made.options, own->request);
  add_measuring(made.options, *own);
  own->report.declare_repeat(made.options);
  own->report.declare(made.options);
  made.run = [own](const std::string& command_line) -> int {
    own->request.timed = !own->untimed;
    settle_order(own->request.order, own->request.zipf_theta);
    require_possible(own->request);
    require_meant(own->request.paths, own->create);
    own->report.prepare(own->request, command_line);
    const auto found = in_one_of_all_ranks(repeated_loads(own->request));
    return found ? own->report.finish(*found) : exit_pass;  // the first rank answers for all
  };
  return made;
}

}  // namespace qd1
