// SPDX-License-Identifier: BSL-1.0
#include "commands/commands.hpp"

namespace qd1 {

void add_all_commands(std::vector<command>& to) {
  to.push_back(run_command());
  to.push_back(depth_command());
  to.push_back(memory_command());
  to.push_back(watch_command());
  to.push_back(reproduce_command());
  to.push_back(env_command());
  to.push_back(selftest_command());
  to.push_back(compare_command());
  to.push_back(merge_command());
  to.push_back(manual_command(to));
  to.push_back(completion_command(to));
  to.push_back(schema_command());
}

}  // namespace qd1
