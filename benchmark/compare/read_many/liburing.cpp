// SPDX-License-Identifier: BSL-1.0
// io_uring by hand: all reads of a batch by one call, which waits for them.
#include "measure/liburing.hpp"

#include "measure/depth.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY);
  compare::ring ring(compare::depth);
  compare::page buffers[compare::depth];
  competitor.in_parallel([&](compare::round& round) {
    ring.read_in_batches(round, buffers, [&](io_uring_sqe* entry, std::uint64_t index, std::uint64_t offset) {
      io_uring_prep_read(entry, file, buffers[index].bytes, compare::block, offset);
    });
  });
}
