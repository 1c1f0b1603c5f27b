// SPDX-License-Identifier: BSL-1.0
// io_uring by hand: one entry, one call that submits and waits, one completion.
#include "measure/liburing.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_WRONLY | O_DIRECT);
  compare::ring ring(8);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_write(buffer.bytes);
      io_uring_prep_write(io_uring_get_sqe(ring.get()), file, buffer.bytes, compare::block, offset);
      io_uring_submit_and_wait(ring.get(), 1);
      io_uring_cqe* completion = nullptr;
      io_uring_peek_cqe(ring.get(), &completion);
      const int bytes = completion->res;
      io_uring_cqe_seen(ring.get(), completion);
      round.finished_write(offset, bytes, buffer.bytes);
    }
  });
}
