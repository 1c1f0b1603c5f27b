// SPDX-License-Identifier: BSL-1.0
// qio, a reader without a context: one block at a time.
#include "measure/scan.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto file = compare::direct_or_none(qio::direct_file::open(competitor.path()));
  competitor.in_parallel([&](compare::round& round) { compare::scan_blocking(file, round); });
}
