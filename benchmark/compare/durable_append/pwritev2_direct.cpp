// SPDX-License-Identifier: BSL-1.0
// The system call: direct, and durable by RWF_DSYNC.
#include "measure/competitor.hpp"

#include <sys/uio.h>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_WRONLY | O_DIRECT);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_append(buffer.bytes);
      const iovec whole{buffer.bytes, compare::block};
      const ssize_t bytes = ::pwritev2(file, &whole, 1, static_cast<off_t>(offset), RWF_DSYNC);
      round.finished_write(offset, compare::of_system_call(bytes), buffer.bytes);
    }
  });
}
