// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

int main(int argc, char** argv) { return qd1::command_line(argc, argv); }
