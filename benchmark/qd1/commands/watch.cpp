// SPDX-License-Identifier: BSL-1.0
// qd1 watch: the latency of one transfer after the other, as it comes.
#include "watch/watch.hpp"

#include "commands/commands.hpp"
#include "commands/common.hpp"
#include "failure.hpp"
#include "measure/interruption.hpp"
#include "output/color.hpp"
#include "output/watched.hpp"
#include "text/printable.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace qd1 {
namespace {

struct watch_state {
  watch_request request;
  bool create = false;
};

void add_watch_options(options& to, watch_state& own) {
  watch_request& request = own.request;
  add_path(to, request.path);
  to.one_of("--modes", request.mode, "Mode to watch");
  to.one_of("--ops", request.operation, "Operation to watch");
  add_block(to, request.block);
  to.seconds("--interval", request.interval, "Time from the start of a transfer to that of the next");
  to.count("--count", request.count, 1, request.count, "End after this many transfers. Default: at Ctrl-C")
      .preset.clear();
  add_file_size(to, request.file_size);
  add_reads(to, request.reads);
  add_writes(to, request.writes, true);
  add_seed(to, request.seed);
  add_overwrite(to, request.overwrite);
  add_create(to, own.create);
}

// At once, so that a program that reads a pipe sees each line when it is printed.
void show(const std::string& text) {
  fmt::print("{}", colored(printable(text)));
  if (std::fflush(stdout) != 0) throw usage_error("standard output: cannot be written");
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

int status_of(const watched& found) {
  if (!found.failure.empty() || !found.invalid.empty()) return exit_invalid;
  return interrupted() ? exit_interrupted : exit_pass;
}

}  // namespace

command watch_command() {
  const auto own = std::make_shared<watch_state>();
  command made{"watch", "Print the latency of one transfer per interval, as it comes", {}, {}};
  add_watch_options(made.options, *own);
  made.run = [own](const std::string&) -> int {
    require_meant({own->request.path}, own->create);
    heed_interrupts();
    const watched found = watch(
        own->request, {[](const watch_subject& subject) { show(heading(subject)); },
                       [&](const watched_transfer& seen) { show(line_of(seen, now_ms(), own->request.interval)); }});
    if (!found.failure.empty()) print(stderr, fmt::format("qd1: {}: {}\n", found.subject.target, found.failure));
    show(summary_text(found));
    return status_of(found);
  };
  return made;
}

}  // namespace qd1
