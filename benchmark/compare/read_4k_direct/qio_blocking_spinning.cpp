// SPDX-License-Identifier: BSL-1.0
// qio, blocking, on a context that waits awake.
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create({.waiting = qio::wait_policy::spin}).value();
  auto file = compare::direct_or_none(qio::direct_file::open(context, competitor.path()));
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_read();
      const std::size_t bytes = context.run(file.async_read_at(offset, buffer)).value();
      round.finished_read(offset, static_cast<std::int64_t>(bytes), buffer.data());
    }
  });
}
