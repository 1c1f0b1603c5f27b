// SPDX-License-Identifier: BSL-1.0
// io_uring by hand: a write into the page cache, and a sync that is linked to it.
#include "measure/liburing.hpp"

#include <sys/uio.h>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_WRONLY);
  compare::ring ring(8);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_append(buffer.bytes);
      io_uring_sqe* const write = io_uring_get_sqe(ring.get());
      io_uring_prep_write(write, file, buffer.bytes, compare::block, offset);
      write->flags |= IOSQE_IO_LINK;
      io_uring_sqe* const sync = io_uring_get_sqe(ring.get());
      io_uring_prep_fsync(sync, file, IORING_FSYNC_DATASYNC);
      io_uring_submit_and_wait(ring.get(), 2);
      int bytes = 0;
      for (int each = 0; each < 2; ++each) {
        io_uring_cqe* completion = nullptr;
        io_uring_wait_cqe(ring.get(), &completion);
        bytes = completion->res < 0 ? completion->res : bytes + completion->res;  // a sync answers 0
        io_uring_cqe_seen(ring.get(), completion);
      }
      round.finished_write(offset, bytes, buffer.bytes);
    }
  });
}
