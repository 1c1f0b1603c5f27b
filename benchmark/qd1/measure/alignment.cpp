// SPDX-License-Identifier: BSL-1.0
#include "measure/alignment.hpp"

#include "failure.hpp"

#include <fmt/format.h>

namespace qd1 {

void require_alignment(const work& work, const qio::alignment& needed) {
  const std::uint32_t block = work.operation == operation::read ? needed.read : needed.write;
  if (work.block % block == 0) return;
  throw usage_error(
      fmt::format("--block: {} is not a multiple of {}, which direct I/O on this file needs; the next is {}",
                  work.block, block, (work.block / block + 1) * block));
}

}  // namespace qd1
