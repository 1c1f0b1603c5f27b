// SPDX-License-Identifier: BSL-1.0
// qio, one coroutine for each read in flight, on one context.
#include "measure/depth.hpp"
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, competitor.path()).value();
  auto buffers = compare::buffers_for(compare::depth);
  competitor.in_parallel([&](compare::round& round) { compare::read_in_parallel(context, file, buffers, round); });
}
