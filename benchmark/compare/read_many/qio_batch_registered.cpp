// SPDX-License-Identifier: BSL-1.0
// qio, all reads of a batch as one operation, into memory that the context has registered.
#include "measure/depth.hpp"
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create({.registered_bytes = compare::depth * compare::block}).value();
  auto file = qio::cached_file::open(context, competitor.path()).value();
  auto buffers = compare::registered_buffers(context);
  auto batch = compare::requests_for(buffers);
  competitor.in_parallel(
      [&](compare::round& round) { context.run(compare::read_in_batches(file, std::span(batch), round)); });
}
