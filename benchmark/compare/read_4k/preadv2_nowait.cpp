// SPDX-License-Identifier: BSL-1.0
// The cheapest attempt that cannot block.
#include "measure/competitor.hpp"

#include <sys/uio.h>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY);
  compare::page buffer;
  const iovec vector{buffer.bytes, compare::block};
  if (::preadv2(file, &vector, 1, 0, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP)
    compare::cannot_be_had("RWF_NOWAIT", "this file system does not know it");
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_read();
      const ssize_t bytes = ::preadv2(file, &vector, 1, static_cast<off_t>(offset), RWF_NOWAIT);
      round.finished_read(offset, compare::of_system_call(bytes), buffer.bytes);
    }
  });
}
