// SPDX-License-Identifier: BSL-1.0
// qio, one coroutine on a context that waits awake.
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create({.waiting = qio::wait_policy::spin}).value();
  auto file = compare::direct_or_none(qio::direct_file::open(context, competitor.path(), qio::access::read_write));
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  competitor.one_at_a_time([&](compare::round& round) { context.run(compare::write_in_turn(file, buffer, round)); });
}
