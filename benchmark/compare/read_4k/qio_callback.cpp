// SPDX-License-Identifier: BSL-1.0
// qio, an operation whose callback starts the next one.
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, competitor.path()).value();
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  compare::reader one(file, buffer);
  competitor.one_at_a_time([&](compare::round& round) {
    one.read_next(round);
    context.run();
  });
}
