// SPDX-License-Identifier: BSL-1.0
// qio, a reader on a context.
#include "measure/scan.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, competitor.path()).value();
  competitor.in_parallel([&](compare::round& round) { context.run(compare::scan(file, round)); });
}
