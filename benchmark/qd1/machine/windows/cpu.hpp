// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/system/windows/calls.hpp>

#include <qd1/machine/facts.hpp>

#include <string>

namespace qd1::windows_system {

cpu_facts find_cpu();

/// "best performance": the power mode of the settings, an overlay over the power plan. Empty for none, and for one that
/// is not documented.
std::string name_of_power_mode(const GUID& overlay);

}  // namespace qd1::windows_system
