// SPDX-License-Identifier: BSL-1.0
// What a report states about the time before and during the measurement, whatever is measured.
#pragma once

#include "measure/clock.hpp"
#include "measure/request.hpp"
#include "report.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace qd1 {

/// A report with when and how it was begun.
report begun_report(const std::string& command_line);
/// The same with the settings that all measurements have. `seed`: of this run.
report begun_report(const measurement_request& request, std::uint64_t seed);

/// Calls `measure`, which fills the series. Adds what the host and the machine did before, during and after it,
/// and what that means for the figures. The report knows its machine already.
void measure_amid(report& out, const clock& clock, const std::function<void()>& measure);

}  // namespace qd1
