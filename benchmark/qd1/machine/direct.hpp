// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>

#include <string>

namespace qd1 {

/// What qio reports about direct I/O on a file. For a directory, queries one of the readable files in it, if there is
/// one. Creates nothing.
direct_facts find_direct(const std::string& path);

/// The same for a file or device that can be opened for reading without side effects.
direct_facts find_direct_of(const std::string& path);

}  // namespace qd1
