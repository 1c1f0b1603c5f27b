// SPDX-License-Identifier: BSL-1.0
// qd1 selftest: known attacks on this machine, and whether qd1 notices them.
#include "selftest/selftest.hpp"

#include "commands/commands.hpp"
#include "commands/common.hpp"
#include "failure.hpp"
#include "measure/interruption.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"
#include "text/printable.hpp"

#include <cstdio>
#include <memory>
#include <string>

namespace qd1 {
namespace {

struct selftest_state {
  std::string path = ".";
  output_file json;
};

int run_selftest(const selftest_state& own) {
  if (platform::kind_of(own.path) != platform::file_kind::directory)
    throw usage_error(own.path + ": name a directory, in which files are made for the time of the test");
  own.json.open();
  heed_interrupts();
  platform::outlive_readers();
  const bool shows = !own.json.is_standard_output();
  const selftest found = carry_out(no_attack(), known_attacks(), own.path, [shows](const std::string& line) {
    if (!shows) return;
    print(stdout, line + '\n');
    std::fflush(stdout);  // an attack takes seconds
  });
  if (own.json.is_wanted()) own.json.write(json(found));
  if (shows) print(stdout, closing(found) + '\n');
  return interrupted() ? exit_interrupted : verdict(found);
}

}  // namespace

command selftest_command() {
  const auto own = std::make_shared<selftest_state>();
  command made{"selftest", "Attack measurements in known ways, and report what qd1 notices", {}, {}};
  add_path(made.options, own->path,
           "A directory on the file system to test, for temporary files. Exit status: 0 all attacks that could be "
           "tried were "
           "noticed, 1 one was not")
      .preset = own->path;
  add_format(made.options, "--json", own->json, "what was found");
  made.run = [own](const std::string&) { return run_selftest(*own); };
  return made;
}

}  // namespace qd1
