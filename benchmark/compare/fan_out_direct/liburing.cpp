// SPDX-License-Identifier: BSL-1.0
// io_uring by hand: reap all that is there, put as many new reads in, submit them with one call.
#include "measure/liburing.hpp"

#include "fan_out/depth.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY | O_DIRECT);
  compare::ring ring(compare::depth);
  compare::page buffers[compare::depth];
  std::uint64_t offsets[compare::depth];

  competitor.in_parallel([&](compare::round& round) {
    std::size_t in_flight = 0;
    const auto read_next = [&](std::uint64_t index) {
      if (!round.has_next()) return;
      offsets[index] = round.next_read();
      io_uring_sqe* const entry = io_uring_get_sqe(ring.get());
      io_uring_prep_read(entry, file, buffers[index].bytes, compare::block, offsets[index]);
      io_uring_sqe_set_data64(entry, index);
      ++in_flight;
    };
    for (std::uint64_t index = 0; index < compare::depth; ++index) read_next(index);
    while (in_flight != 0) {
      io_uring_submit_and_wait(ring.get(), 1);
      unsigned head;
      unsigned count = 0;
      io_uring_cqe* completion;
      io_uring_for_each_cqe(ring.get(), head, completion) {
        ++count;
        --in_flight;
        const std::uint64_t index = completion->user_data;
        round.finished_read(offsets[index], completion->res, buffers[index].bytes);
        read_next(index);
      }
      io_uring_cq_advance(ring.get(), count);
    }
  });
}
