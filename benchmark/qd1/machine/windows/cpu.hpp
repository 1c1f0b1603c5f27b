// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>

namespace qd1::windows_system {

cpu_facts find_cpu();

}  // namespace qd1::windows_system
