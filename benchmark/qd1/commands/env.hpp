// SPDX-License-Identifier: BSL-1.0
// qd1 env: the machine as qd1 finds it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace qd1 {

struct env_arguments {
  std::string path = ".";
  std::string json;
};

/// Adds the subcommand, which fills `to`.
CLI::App& add_env(CLI::App& program, env_arguments& to);

/// Prints, and answers the exit status. Throws usage_error.
int env(const env_arguments& arguments);

}  // namespace qd1
