// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

namespace qd1::windows_system {

/// In UTF-8.
std::string narrow(std::wstring_view text);

}  // namespace qd1::windows_system
