// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>

#include <string>

namespace qd1 {

/// What qio says of direct I/O on a file. Of a directory one of its files is asked, if it has any that may be read:
/// nothing is created.
direct_facts find_direct(const std::string& path);

}  // namespace qd1
