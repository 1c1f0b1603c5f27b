// SPDX-License-Identifier: BSL-1.0
// The program: what its arguments ask for is done, and the answer is the exit status.
#pragma once

namespace qd1 {

int command_line(int argc, const char* const* argv);

}  // namespace qd1
