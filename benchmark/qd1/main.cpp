// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"
#include "platform/process.hpp"

int main(int argc, char** argv) {
  const qd1::platform::utf8_output utf8;
  return qd1::command_line(argc, argv);
}
