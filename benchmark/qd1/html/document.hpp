// SPDX-License-Identifier: BSL-1.0
// What every page has around its contents.
#pragma once

#include "markup.hpp"

#include <string>
#include <string_view>

namespace qd1::html {

/// A whole page, which needs no other file and no network. `body_class` "invalid" gives it a red frame; `version` is
/// that of the qd1 which measured.
std::string document(const std::string& title, const std::string& version, std::string_view body_class, nodes body);

}  // namespace qd1::html
