// SPDX-License-Identifier: BSL-1.0
// The program: does what its arguments request, and returns the exit status.
#pragma once

namespace qd1 {

int command_line(int argc, const char* const* argv);

}  // namespace qd1
