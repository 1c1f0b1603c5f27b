// SPDX-License-Identifier: BSL-1.0
// io_uring by hand, 4 blocks of 512 KiB in flight.
#include "measure/scan_by_ring.hpp"

int main(int argc, char** argv) { return compare::scan_by_ring(argc, argv, 4, 512 * 1024); }
