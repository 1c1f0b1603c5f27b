// SPDX-License-Identifier: BSL-1.0
// qd1 memory: buffered transfers while memory is enough, short, or full.
#include "memory/memory.hpp"

#include "commands/commands.hpp"
#include "commands/common.hpp"
#include "merge/of_ranks.hpp"

#include <memory>

namespace qd1 {
namespace {

struct memory_state {
  memory_request request;
  bool create = false;
  report_options report;
};

void add_memory_options(options& to, memory_request& request) {
  add_path(to, request.path);
  to.size(
      "--memory", request.memory,
      "Bytes to leave for the file's pages; file sizes are fractions and multiples of it. Default: an eighth of what "
      "is available, at most 1GiB");
  add_block(to, request.block);
  add_time(to, request.seconds, "a step, at most; cold ones end when each block has been read");
  add_measurement(to, request);
}

}  // namespace

command memory_command() {
  const auto own = std::make_shared<memory_state>();
  command made{"memory", "Measure buffered transfers while memory is enough, short, or full", {}, {}};
  add_memory_options(made.options, own->request);
  add_create(made.options, own->create);
  own->report.declare_repeat(made.options);
  own->report.declare(made.options);
  made.run = [own](const std::string& command_line) {
    require_meant({own->request.path}, own->create);
    own->report.prepare(own->request, command_line);
    return own->report.finish(in_one(repeated_memory(own->request)));
  };
  return made;
}

}  // namespace qd1
