// SPDX-License-Identifier: BSL-1.0
// The system call that is made for it.
#include "measure/competitor.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_WRONLY | O_DIRECT);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_write(buffer.bytes);
      const ssize_t bytes = ::pwrite(file, buffer.bytes, compare::block, static_cast<off_t>(offset));
      round.finished_write(offset, compare::of_system_call(bytes), buffer.bytes);
    }
  });
}
