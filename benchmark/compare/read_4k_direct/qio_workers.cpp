// SPDX-License-Identifier: BSL-1.0
// qio, one coroutine on a context, over worker threads.
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = compare::context_over(qio::engine_kind::workers);
  auto file = compare::direct_or_none(qio::direct_file::open(context, competitor.path()));
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  competitor.one_at_a_time([&](compare::round& round) { context.run(compare::read_in_turn(file, buffer, round)); });
}
