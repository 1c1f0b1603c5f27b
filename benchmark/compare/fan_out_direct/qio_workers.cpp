// SPDX-License-Identifier: BSL-1.0
// qio, one coroutine for each read in flight, on one context, over worker threads.
#include "measure/depth.hpp"
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = compare::context_over(qio::engine_kind::workers);
  auto file = compare::direct_or_none(qio::direct_file::open(context, competitor.path()));
  auto buffers = compare::buffers_for(compare::depth);
  competitor.in_parallel([&](compare::round& round) { compare::read_in_parallel(context, file, buffers, round); });
}
