// SPDX-License-Identifier: BSL-1.0
// A ring as one would set it up by hand for a single thread.
#pragma once

#include "measure/competitor.hpp"

#include <liburing.h>

namespace compare {

class ring {
 public:
  explicit ring(unsigned entries) {
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    const int answer = io_uring_queue_init_params(entries, &ring_, &parameters);
    if (answer < 0) cannot_be_had("io_uring", std::strerror(-answer));
    io_uring_register_ring_fd(&ring_);
  }
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() { io_uring_queue_exit(&ring_); }

  /// From then on operations name the file by the index 0 (with IOSQE_FIXED_FILE), and the buffers by theirs.
  void register_resources(int file, page* buffers, unsigned count) {
    std::vector<iovec> vectors;
    for (unsigned index = 0; index < count; ++index) vectors.push_back({buffers[index].bytes, block});
    const int files = io_uring_register_files(&ring_, &file, 1);
    if (files < 0) fail("io_uring_register_files", std::strerror(-files));
    const int memory = io_uring_register_buffers(&ring_, vectors.data(), count);
    if (memory < 0) fail("io_uring_register_buffers", std::strerror(-memory));
  }

  io_uring* get() noexcept { return &ring_; }

  /// One entry, which `prepare(entry)` fills; one call that submits and waits; one completion, whose answer it is.
  template <class Prepare>
  int carry_out(Prepare&& prepare) {
    prepare(io_uring_get_sqe(&ring_));
    io_uring_submit_and_wait(&ring_, 1);
    io_uring_cqe* completion = nullptr;
    io_uring_peek_cqe(&ring_, &completion);
    const int answer = completion->res;
    io_uring_cqe_seen(&ring_, completion);
    return answer;
  }

  /// Reads into as many buffers at a time as there are: reaps all that is there, puts as many new reads in, by
  /// `prepare(entry, index of the buffer, offset)`, and submits them with one call.
  template <std::size_t Depth, class Prepare>
  void read_in_parallel(round& round, page (&buffers)[Depth], Prepare&& prepare) {
    std::uint64_t offsets[Depth];
    std::size_t in_flight = 0;
    const auto read_next = [&](std::uint64_t index) {
      if (!round.has_next()) return;
      offsets[index] = round.next_read();
      io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
      prepare(entry, index, offsets[index]);
      io_uring_sqe_set_data64(entry, index);
      ++in_flight;
    };
    for (std::uint64_t index = 0; index < Depth; ++index) read_next(index);
    while (in_flight != 0) {
      io_uring_submit_and_wait(&ring_, 1);
      unsigned head;
      unsigned count = 0;
      io_uring_cqe* completion;
      io_uring_for_each_cqe(&ring_, head, completion) {
        ++count;
        --in_flight;
        const std::uint64_t index = completion->user_data;
        round.finished_read(offsets[index], completion->res, buffers[index].bytes);
        read_next(index);
      }
      io_uring_cq_advance(&ring_, count);
    }
  }

  /// Reads in batches of as many as there are buffers: one call submits a batch, and waits for all of it.
  template <std::size_t Depth, class Prepare>
  void read_in_batches(round& round, page (&buffers)[Depth], Prepare&& prepare) {
    std::uint64_t offsets[Depth];
    while (round.has_next()) {
      unsigned batch = 0;
      for (; batch < Depth && round.has_next(); ++batch) {
        offsets[batch] = round.next_read();
        io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
        prepare(entry, std::uint64_t(batch), offsets[batch]);
        io_uring_sqe_set_data64(entry, batch);
      }
      for (unsigned left = batch; left != 0;) {
        io_uring_submit_and_wait(&ring_, left);
        unsigned head;
        unsigned count = 0;
        io_uring_cqe* completion;
        io_uring_for_each_cqe(&ring_, head, completion) {
          ++count;
          const std::uint64_t index = completion->user_data;
          round.finished_read(offsets[index], completion->res, buffers[index].bytes);
        }
        io_uring_cq_advance(&ring_, count);
        left -= count;
      }
    }
  }

 private:
  io_uring ring_{};
};

}  // namespace compare
