// SPDX-License-Identifier: BSL-1.0
// qio, one coroutine on a context.
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, competitor.path(), qio::access::read_write).value();
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  competitor.one_at_a_time([&](compare::round& round) { context.run(compare::write_in_turn(file, buffer, round)); });
}
