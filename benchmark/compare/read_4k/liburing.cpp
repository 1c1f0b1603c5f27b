// SPDX-License-Identifier: BSL-1.0
// io_uring by hand: one entry, one call that submits and waits, one completion.
#include "measure/liburing.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY);
  compare::ring ring(8);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_read();
      const int bytes = ring.carry_out(
          [&](io_uring_sqe* entry) { io_uring_prep_read(entry, file, buffer.bytes, compare::block, offset); });
      round.finished_read(offset, bytes, buffer.bytes);
    }
  });
}
