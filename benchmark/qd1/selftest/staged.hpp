// SPDX-License-Identifier: BSL-1.0
// Measurements in which something is wrong on purpose: real files, the real clock and the program's own loops.
#pragma once

#include "measure/run.hpp"
#include "measure/series.hpp"
#include "report.hpp"
#include "selftest/attack.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace qd1 {

/// A report of what `measure` measures on a temporary file of 4 MiB in the directory, judged as that of any other run.
report staged(const std::string& directory, const clock& clock,
              const std::function<void(report&, const run_setup&)>& measure);

/// Blocking reads in the mode within the file, one round.
series staged_reads(const run_setup& setup, mode mode, temperature temperature, const limits& most,
                    const offset_source& next_offset);

/// Does what a transfer is to take, given its number. Called within the time that is taken.
using staged_transfer = std::function<void(std::uint64_t number)>;

/// The same loop with transfers that are staged, in rounds of the same length. The offsets have no meaning.
series staged_transfers(const clock& clock, const work& work, const limits& most, std::uint64_t rounds,
                        const staged_transfer& transfer, const std::function<void()>& between = {});

/// Computes until so much time has passed.
void spin_for(const clock& clock, double seconds);

/// `qd1 run`, short: blocking reads of 4 MiB.
run_request short_run(const std::string& path, mode mode);

/// Where the report contains the words: in what makes series invalid, or anywhere.
finding refused(const report& found, std::string_view words);
finding named(const report& found, std::string_view words);

/// Why the first series could not be measured; empty: it was, or it is invalid.
std::string why_not_measured(const report& found);

}  // namespace qd1
