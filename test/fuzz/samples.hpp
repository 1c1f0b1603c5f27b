// Short reports of each kind that qd1 writes, with every member that a report may have.
#pragma once

#include "report.hpp"

#include <string>
#include <vector>

namespace fuzz {

/// Of qd1 run, depth, memory and merge, in this order.
std::vector<qd1::report> sample_reports();

}  // namespace fuzz
