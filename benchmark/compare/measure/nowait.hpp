// SPDX-License-Identifier: BSL-1.0
// The cheapest attempt at a read that does not wait.
#pragma once

#include "measure/competitor.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <cstdint>

namespace compare {

/// Reads a block like preadv2() with RWF_NOWAIT, and waits for what is not in memory: a busy machine may have evicted
/// it.
inline ssize_t read_nowait(int file, void* buffer, std::uint64_t offset) {
  const iovec into{buffer, block};
  const ssize_t answer = ::preadv2(file, &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  return answer < 0 && errno == EAGAIN ? ::preadv2(file, &into, 1, static_cast<off_t>(offset), 0) : answer;
}

}  // namespace compare
