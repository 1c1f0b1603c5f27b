// SPDX-License-Identifier: BSL-1.0
// qio, a reader on a context, which finds out how much to read ahead.
#include "measure/scan.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = compare::direct_or_none(qio::direct_file::open(context, competitor.path()));
  competitor.in_parallel([&](compare::round& round) { context.run(compare::scan(file, round)); });
}
