// SPDX-License-Identifier: BSL-1.0
// The best that a log by hand can do: sixteen records in each direct write, durable by RWF_DSYNC.
#include "measure/competitor.hpp"

#include <sys/uio.h>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_WRONLY | O_DIRECT);
  compare::page buffer{};
  std::uint64_t offset = 0;
  competitor.in_parallel([&](compare::round& round) {
    while (round.has_next()) {
      for (std::size_t each = 0; each < 16 && round.has_next(); ++each) {
        const std::uint64_t number = round.next_record();
        std::memcpy(buffer.bytes + 100 * each, &number, sizeof number);
      }
      const iovec whole{buffer.bytes, compare::block};
      round.finished_record(
          compare::of_system_call(::pwritev2(file, &whole, 1, static_cast<off_t>(offset), RWF_DSYNC)));
      offset = (offset + compare::block) % competitor.bytes();
    }
  });
}
