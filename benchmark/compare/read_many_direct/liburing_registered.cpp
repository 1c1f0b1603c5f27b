// SPDX-License-Identifier: BSL-1.0
// The same with a registered file and registered buffers: the kernel looks none of them up.
#include "measure/depth.hpp"
#include "measure/liburing.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  compare::ring ring(compare::depth);
  compare::page buffers[compare::depth];
  ring.register_resources(competitor.open(O_RDONLY | O_DIRECT), buffers, compare::depth);
  competitor.in_parallel([&](compare::round& round) {
    ring.read_in_batches(round, buffers, [&](io_uring_sqe* entry, std::uint64_t index, std::uint64_t offset) {
      io_uring_prep_read_fixed(entry, 0, buffers[index].bytes, compare::block, offset, static_cast<int>(index));
      entry->flags |= IOSQE_FIXED_FILE;
    });
  });
}
