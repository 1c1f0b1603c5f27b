// SPDX-License-Identifier: BSL-1.0
// qio, one coroutine that awaits one read after the other.
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = compare::direct_or_none(qio::direct_file::open(context, competitor.path()));
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  competitor.in_parallel([&](compare::round& round) { context.run(compare::read_in_turn(file, buffer, round)); });
}
