// SPDX-License-Identifier: BSL-1.0
// qio, one coroutine that reads one block after the other, into memory that the context has registered.
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create({.registered_bytes = compare::block}).value();
  auto file = compare::direct_or_none(qio::direct_file::open(context, competitor.path()));
  auto buffer = compare::registered_buffers(context).front();
  competitor.one_at_a_time([&](compare::round& round) { context.run(compare::read_in_turn(file, buffer, round)); });
}
