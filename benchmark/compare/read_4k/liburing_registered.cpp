// SPDX-License-Identifier: BSL-1.0
// io_uring by hand, with a registered file and buffer: the kernel looks neither of them up.
#include "measure/liburing.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  compare::ring ring(8);
  compare::page buffer;
  ring.register_resources(competitor.open(O_RDONLY), &buffer, 1);
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_read();
      const int bytes = ring.carry_out([&](io_uring_sqe* entry) {
        io_uring_prep_read_fixed(entry, 0, buffer.bytes, compare::block, offset, 0);
        entry->flags |= IOSQE_FIXED_FILE;
      });
      round.finished_read(offset, bytes, buffer.bytes);
    }
  });
}
