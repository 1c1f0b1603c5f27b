// SPDX-License-Identifier: BSL-1.0
// A system call for each read, which fails instead of waiting for the device.
#include "measure/competitor.hpp"
#include "measure/depth.hpp"

#include <sys/uio.h>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY);
  compare::page buffers[compare::depth];
  competitor.in_parallel([&](compare::round& round) {
    while (round.has_next())
      for (std::size_t index = 0; index < compare::depth && round.has_next(); ++index) {
        const std::uint64_t offset = round.next_read();
        const iovec into{buffers[index].bytes, compare::block};
        const ssize_t answer = ::preadv2(file, &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
        round.finished_read(offset, compare::of_system_call(answer), into.iov_base);
      }
  });
}
