// SPDX-License-Identifier: BSL-1.0
// The commands of qd1: each is a table of options, and what it does.
#pragma once

#include "options/options.hpp"

#include <vector>

namespace qd1 {

command run_command();
command depth_command();
command memory_command();
command watch_command();
command reproduce_command();
command env_command();
command selftest_command();
command compare_command();
command merge_command();
command schema_command();
/// `all` must outlive them: they document it.
command manual_command(const std::vector<command>& all);
command completion_command(const std::vector<command>& all);

/// In the order of the help. `to` must stay where it is.
void add_all_commands(std::vector<command>& to);

}  // namespace qd1
