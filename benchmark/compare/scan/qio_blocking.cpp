// SPDX-License-Identifier: BSL-1.0
// qio, a reader without a context.
#include "measure/scan.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto file = qio::cached_file::open(competitor.path()).value();
  competitor.in_parallel([&](compare::round& round) { compare::scan_blocking(file, round); });
}
