// SPDX-License-Identifier: BSL-1.0
// What about the file and the host bears on the figures of a finished run, said in words.
#pragma once

#include "measure/data_file.hpp"
#include "report.hpp"

#include <cstddef>
#include <span>

namespace qd1 {

/// Makes reads invalid that no device had to be asked for, and notes data that compress.
void judge_data(const data_file& file, report& run);

/// Notes what the host did: time stolen by other guests, heat, limits of memory.
void judge_conditions(report& run);

/// Bits a byte by the frequencies of its bytes: 8 for what does not compress, 0 for zeros.
double entropy(std::span<const std::byte> data);

}  // namespace qd1
