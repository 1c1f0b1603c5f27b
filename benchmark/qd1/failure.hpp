// SPDX-License-Identifier: BSL-1.0
// How qd1 ends, and what keeps it from beginning.
#pragma once

#include <stdexcept>

namespace qd1 {

/// The exit status of the process.
enum exit_status : int {
  exit_pass = 0,
  exit_fail = 1,          ///< a gate was not met
  exit_usage = 2,         ///< the request cannot be carried out, so nothing was measured; or an output was lost
  exit_inconclusive = 3,  ///< a gate can be neither met nor missed with so few samples
  exit_invalid = 4,       ///< measured, but not to be believed
  exit_interrupted = 130  ///< by Ctrl-C, SIGTERM or SIGHUP; what there was by then has been written
};

/// The request cannot be carried out. The message names what was wrong, and what is needed.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The user interrupted it before there was anything to report. The message says what has been left or removed.
struct interruption : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace qd1
