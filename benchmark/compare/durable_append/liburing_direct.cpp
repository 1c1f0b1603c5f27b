// SPDX-License-Identifier: BSL-1.0
// io_uring by hand: a direct write, durable by RWF_DSYNC.
#include "measure/liburing.hpp"

#include <sys/uio.h>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_WRONLY | O_DIRECT);
  compare::ring ring(8);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_append(buffer.bytes);
      const int bytes = ring.carry_out([&](io_uring_sqe* entry) {
        io_uring_prep_write(entry, file, buffer.bytes, compare::block, offset);
        entry->rw_flags = RWF_DSYNC;
      });
      round.finished_write(offset, bytes, buffer.bytes);
    }
  });
}
