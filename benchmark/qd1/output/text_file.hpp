// SPDX-License-Identifier: BSL-1.0
// Reports as files.
#pragma once

#include <string>

namespace qd1 {

/// All of a file. Throws usage_error.
std::string read_file(const std::string& path);

/// Throws usage_error where not all of it could be written.
void write_file(const std::string& path, const std::string& contents);

}  // namespace qd1
