// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "program.hpp"

namespace qd1_test {

// A directory with a report in it.
struct reported : directory {
  reported() {
    CHECK(run_qd1(*this, "run --ops read --json report.json --html report.html --hgrm curve --fio fio" + unhurried)
              .status == 0);
  }
};

}  // namespace qd1_test
