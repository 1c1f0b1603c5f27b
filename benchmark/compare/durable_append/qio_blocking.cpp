// SPDX-License-Identifier: BSL-1.0
// qio without a context: one system call.
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto file = compare::direct_or_none(qio::direct_file::open(competitor.path(), qio::access::read_write));
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_append(buffer.data());
      const auto bytes = file.write_at(offset, buffer, {.durable = true});
      round.finished_write(offset, static_cast<std::int64_t>(bytes.value()), buffer.data());
    }
  });
}
