// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <string_view>

namespace qd1::html {

/// "sha256-…": how a content security policy names a script or a style sheet (FIPS 180-4, base64).
std::string digest(std::string_view of);

}  // namespace qd1::html
