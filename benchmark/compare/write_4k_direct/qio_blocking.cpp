// SPDX-License-Identifier: BSL-1.0
// qio, blocking, without a context.
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto file = compare::direct_or_none(qio::direct_file::open(competitor.path(), qio::access::read_write));
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_write(buffer.data());
      const std::size_t bytes = file.write_at(offset, buffer).value();
      round.finished_write(offset, static_cast<std::int64_t>(bytes), buffer.data());
    }
  });
}
