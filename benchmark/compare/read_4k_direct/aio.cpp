// SPDX-License-Identifier: BSL-1.0
// Linux AIO by hand: one call that submits, one that waits.
#include "measure/aio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  compare::aio aio(competitor.open(O_RDONLY | O_DIRECT), 1);
  compare::page buffer[1];
  competitor.one_at_a_time([&](compare::round& round) { aio.read_in_parallel(round, buffer); });
}
