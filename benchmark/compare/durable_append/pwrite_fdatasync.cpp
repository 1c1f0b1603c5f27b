// SPDX-License-Identifier: BSL-1.0
// Two system calls: a write into the page cache, and a sync.
#include "measure/competitor.hpp"

#include <sys/uio.h>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_WRONLY);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_append(buffer.bytes);
      ssize_t bytes = ::pwrite(file, buffer.bytes, compare::block, static_cast<off_t>(offset));
      if (::fdatasync(file) != 0) bytes = -1;
      round.finished_write(offset, compare::of_system_call(bytes), buffer.bytes);
    }
  });
}
