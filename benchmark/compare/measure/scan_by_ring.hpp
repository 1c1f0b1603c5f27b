// SPDX-License-Identifier: BSL-1.0
// A direct scan over io_uring by hand, with as many blocks in flight from beginning to end.
#pragma once

#include "measure/liburing.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <memory>

namespace compare {

/// Memory in transparent huge pages, if the kernel has some.
inline std::unique_ptr<page[], void (*)(page*)> huge_pages(std::size_t bytes) {
  constexpr std::size_t huge = std::size_t(2) << 20;
  const std::size_t rounded = (bytes + huge - 1) / huge * huge;
  auto* const memory = static_cast<page*>(std::aligned_alloc(huge, rounded));
  if (memory == nullptr) fail("aligned_alloc", std::strerror(errno));
  ::madvise(memory, rounded, MADV_HUGEPAGE);
  return {memory, [](page* each) { std::free(each); }};
}

/// `depth` blocks of `bytes` bytes, handed over as they become free, in whatever order they complete.
inline int scan_by_ring(int argc, char** argv, unsigned depth, std::size_t bytes, bool in_huge_pages = false) {
  competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY | O_DIRECT);
  ring ring(depth);
  const std::unique_ptr<page[], void (*)(page*)> memory =
      in_huge_pages
          ? huge_pages(depth * bytes)
          : std::unique_ptr<page[], void (*)(page*)>(new page[depth * bytes / block], [](page* all) { delete[] all; });
  const auto offsets = std::make_unique<std::uint64_t[]>(depth);
  const auto buffer = [&](std::uint64_t index) { return memory[index * bytes / block].bytes; };
  competitor.in_parallel([&](round& round) {
    const std::uint64_t end = round.bytes_left();
    std::uint64_t next = 0;
    const auto read_next = [&](std::uint64_t index) {
      if (next >= end) return;
      const auto length = static_cast<unsigned>(std::min<std::uint64_t>(bytes, end - next));
      io_uring_sqe* const entry = io_uring_get_sqe(ring.get());
      io_uring_prep_read(entry, file, buffer(index), length, next);
      io_uring_sqe_set_data64(entry, index);
      offsets[index] = next;
      next += length;
    };
    for (unsigned index = 0; index < depth; ++index) read_next(index);
    while (round.has_next()) {
      io_uring_submit_and_wait(ring.get(), 1);
      io_uring_cqe* completion = nullptr;
      while (io_uring_peek_cqe(ring.get(), &completion) == 0) {
        const std::uint64_t index = completion->user_data;
        const std::int64_t answer = completion->res;
        io_uring_cqe_seen(ring.get(), completion);
        round.scanned(offsets[index], buffer(index), answer);
        read_next(index);
      }
    }
  });
  return 0;
}

}  // namespace compare
