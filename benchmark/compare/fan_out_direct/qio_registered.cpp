// SPDX-License-Identifier: BSL-1.0
// qio, one coroutine for each read in flight, on one context, into memory that it has registered.
#include "measure/depth.hpp"
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create({.registered_bytes = compare::depth * compare::block}).value();
  auto file = compare::direct_or_none(qio::direct_file::open(context, competitor.path()));
  auto buffers = compare::registered_buffers(context);
  competitor.in_parallel([&](compare::round& round) { compare::read_in_parallel(context, file, buffers, round); });
}
