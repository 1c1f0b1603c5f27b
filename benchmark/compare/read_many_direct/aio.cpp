// SPDX-License-Identifier: BSL-1.0
// Linux AIO by hand: all reads of a batch by one call.
#include "measure/aio.hpp"

#include "measure/depth.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  compare::aio aio(competitor.open(O_RDONLY | O_DIRECT), compare::depth);
  compare::page buffers[compare::depth];
  competitor.in_parallel([&](compare::round& round) { aio.read_in_batches(round, buffers); });
}
