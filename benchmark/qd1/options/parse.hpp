// SPDX-License-Identifier: BSL-1.0
// A command line by the tables of the commands' options.
#pragma once

#include "options/options.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace qd1 {

/// The program, as its help shows it.
struct program {
  std::string name;
  std::string about;
  std::string version;
  std::vector<command> commands;
  std::size_t columns = 80;  ///< of the help of a command
};

/// A file that was named on the command line, and the option that named it.
struct named_file {
  const option* by;
  std::string path;
};

struct parsed {
  const command* chosen = nullptr;  ///< nullptr: nothing is left to be done
  int status = 0;                   ///< then the exit status
  std::vector<named_file> files = {};
};

/// Hands what was typed to the options of the command that was typed. Prints help, version and what the parser
/// refuses; an option that refuses its value throws usage_error.
parsed parse(const program& program, int argc, const char* const* argv);

}  // namespace qd1
