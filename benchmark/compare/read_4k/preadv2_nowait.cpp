// SPDX-License-Identifier: BSL-1.0
// The cheapest attempt that cannot block.
#include "measure/competitor.hpp"
#include "measure/nowait.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY);
  compare::page buffer;
  if (compare::read_nowait(file, buffer.bytes, 0) < 0 && errno == EOPNOTSUPP)
    compare::cannot_be_had("RWF_NOWAIT", "this file system does not know it");
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_read();
      const ssize_t bytes = compare::read_nowait(file, buffer.bytes, offset);
      round.finished_read(offset, compare::of_system_call(bytes), buffer.bytes);
    }
  });
}
