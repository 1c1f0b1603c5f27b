// SPDX-License-Identifier: BSL-1.0
// qd1 reproduce: a published experiment on this machine, and what of it repeats.
#include "reproduce/reproduce.hpp"

#include "commands/commands.hpp"
#include "commands/common.hpp"
#include "measure/interruption.hpp"
#include "output/reproduction.hpp"
#include "output/wording.hpp"
#include "platform/process.hpp"
#include "reproduce/experiment.hpp"
#include "text/printable.hpp"

#include <fmt/format.h>

#include <memory>

namespace qd1 {
namespace {

struct reproduce_state {
  reproduce_request request;
  bool only_plan = false;
  bool create = false;
  exports files;
};

void add_reproduce_options(options& to, reproduce_state& own) {
  reproduce_request& request = own.request;
  std::string about = "The experiment:";
  option& experiment = to.text("EXPERIMENT", "WORD", request.experiment, "");
  for (const qd1::experiment* each : experiments()) {
    about += fmt::format("\n{}: {} ({})", each->about.name, each->about.title, each->about.author);
    experiment.choices.emplace_back(each->about.name);
  }
  experiment.help = about + "\nOne of";
  experiment.required = true;
  add_paths(to, request.paths).help =
      "Files, directories or block devices, one for each drive. Default: temporary files in the current directory. "
      "Devices and files that qd1 did not create are only read, unless --overwrite is given";
  add_time(to, request.seconds, "a measurement. Default: as published");
  add_file_size(to, request.file_size).help =
      "Bytes of each file. Default: 1GiB, or a quarter of the memory or the disk that is free";
  to.flag("--allow-tuning", request.allow_tuning,
          "Also compare I/O schedulers, and reads with and without read-ahead: changes these settings, and restores "
          "them, even after Ctrl-C or a crash. Needs root");
  to.flag("--dry-run", own.only_plan, "Only print what would be done, and how long it would take");
  add_seed(to, request.seed);
  add_overwrite(to, request.overwrite);
  add_create(to, own.create);
}

}  // namespace

command reproduce_command() {
  const auto own = std::make_shared<reproduce_state>();
  command made{"reproduce", "Repeat a published experiment, and report what repeats", {}, {}};
  add_reproduce_options(made.options, *own);
  own->files.declare(made.options, true);
  made.run = [own](const std::string& command_line) -> int {
    own->request.command_line = command_line;
    if (own->only_plan) {
      for (const std::string& line : planned_reproduction(own->request).plan) print(stdout, wrapped(line));
      return exit_pass;
    }
    require_meant(own->request.paths, own->create);
    own->files.open();
    heed_interrupts();
    platform::outlive_readers();
    const reproduction found = reproduce(own->request);
    const std::vector<std::string> failures = own->files.write(found);
    own->files.show(text(found));
    return report_failures(failures, interrupted() ? exit_interrupted : verdict(found));
  };
  return made;
}

}  // namespace qd1
