// SPDX-License-Identifier: BSL-1.0
// Why several targets together may do less than each alone: what they have in common.
#pragma once

#include "depth/field.hpp"
#include "report.hpp"

#include <string>
#include <vector>

namespace qd1 {

/// "targets 1 and 2 lie on vda", "targets 1, 2 and 3 hang off the root complex pci0000:00": each thing that more than
/// one target needs.
std::vector<std::string> shared_by(const std::vector<target>& targets);

/// Notes in each series of all targets together which fraction of the sum of single targets it reaches, and if that is
/// little, what the targets share.
void note_scaling(report& run, const std::vector<target>& targets);

}  // namespace qd1
