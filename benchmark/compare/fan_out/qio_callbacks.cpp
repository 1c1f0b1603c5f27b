// SPDX-License-Identifier: BSL-1.0
// qio, one operation for each read in flight; its callback starts the next one.
#include "measure/depth.hpp"
#include "measure/qio.hpp"

#include <deque>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, competitor.path()).value();
  auto buffers = compare::buffers_for(compare::depth);
  std::deque<compare::reader<qio::async_cached_file>> readers;
  for (qio::aligned_buffer& buffer : buffers) readers.emplace_back(file, buffer);
  competitor.in_parallel([&](compare::round& round) {
    for (auto& each : readers) each.read_next(round);
    context.run();
  });
}
