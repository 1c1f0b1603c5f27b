// SPDX-License-Identifier: BSL-1.0
// qd1 selftest: known attacks on this machine, and whether qd1 notices them; and what it makes of known latencies.
#include "selftest/selftest.hpp"

#include "commands/commands.hpp"
#include "commands/common.hpp"
#include "failure.hpp"
#include "measure/interruption.hpp"
#include "measure/progress.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"
#include "selftest/calibration.hpp"
#include "text/printable.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

namespace qd1 {
namespace {

struct selftest_state {
  std::string path = ".";
  bool calibrates = false;
  calibration_plan plan;
  output_file json;
};

exit_status attack_here(const selftest_state& own) {
  const bool shows = !own.json.is_standard_output();
  const selftest found = carry_out(no_attack(), known_attacks(), own.path, [shows](const std::string& line) {
    if (!shows) return;
    print(stdout, line + '\n');
    std::fflush(stdout);  // an attack takes seconds
  });
  if (own.json.is_wanted()) own.json.write(json(found));
  if (shows) print(stdout, closing(found) + '\n');
  return verdict(found);
}

exit_status calibrate_here(const selftest_state& own) {
  const calibration found = calibrate(
      own.plan, [&own](std::uint64_t run) { progress::show(fmt::format("run {} of {}", run + 1, own.plan.runs)); });
  progress::clear();
  if (own.json.is_wanted()) own.json.write(json(found));
  if (!own.json.is_standard_output()) print(stdout, text(found));
  return exit_pass;
}

int run_selftest(const selftest_state& own) {
  if (platform::kind_of(own.path) != platform::file_kind::directory)
    throw usage_error(own.path + ": name a directory, in which files are made for the time of the test");
  own.json.open();
  heed_interrupts();
  platform::outlive_readers();
  const exit_status status = own.calibrates ? calibrate_here(own) : attack_here(own);
  return interrupted() ? exit_interrupted : status;
}

}  // namespace

command selftest_command() {
  const auto own = std::make_shared<selftest_state>();
  command made{"selftest", "Attack measurements in known ways, and report what qd1 notices", {}, {}};
  add_path(made.options, own->path,
           "A directory on the file system to test, for temporary files. Exit status: 0 all attacks that could be "
           "tried were noticed, 1 one was not")
      .preset = own->path;
  made.options.flag("--calibrate", own->calibrates,
                    "Measure transfers of known length instead, and print by how much the figures are off, how often "
                    "intervals hold, and what qd1 adds to each transfer");
  made.options.count("--runs", own->plan.runs, 1, 1000, "With --calibrate: runs, of little more than a second each")
      .needs = "--calibrate";
  add_format(made.options, "--json", own->json, "what was found");
  made.run = [own](const std::string&) { return run_selftest(*own); };
  return made;
}

}  // namespace qd1
