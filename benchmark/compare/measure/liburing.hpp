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

 private:
  io_uring ring_{};
};

}  // namespace compare
