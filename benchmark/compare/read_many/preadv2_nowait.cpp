// SPDX-License-Identifier: BSL-1.0
// A system call for each read, which does not wait for the device.
#include "measure/competitor.hpp"
#include "measure/depth.hpp"
#include "measure/nowait.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY);
  compare::page buffers[compare::depth];
  competitor.in_parallel([&](compare::round& round) {
    while (round.has_next())
      for (std::size_t index = 0; index < compare::depth && round.has_next(); ++index) {
        const std::uint64_t offset = round.next_read();
        const ssize_t answer = compare::read_nowait(file, buffers[index].bytes, offset);
        round.finished_read(offset, compare::of_system_call(answer), buffers[index].bytes);
      }
  });
}
