// SPDX-License-Identifier: BSL-1.0
// io_uring by hand, awake: it looks at the completion queue until the completion is there. On a ring without flags,
// since the kernel then interrupts the one who spins to put it there.
#include "measure/competitor.hpp"

#include <liburing.h>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_WRONLY | O_DIRECT);
  io_uring ring;
  if (io_uring_queue_init(8, &ring, 0) < 0) compare::fail("io_uring_queue_init", "no ring");
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_write(buffer.bytes);
      io_uring_prep_write(io_uring_get_sqe(&ring), file, buffer.bytes, compare::block, offset);
      io_uring_submit(&ring);
      io_uring_cqe* completion = nullptr;
      while (io_uring_peek_cqe(&ring, &completion) != 0) {}
      const int bytes = completion->res;
      io_uring_cqe_seen(&ring, completion);
      round.finished_write(offset, bytes, buffer.bytes);
    }
  });
  io_uring_queue_exit(&ring);
}
