// SPDX-License-Identifier: BSL-1.0
// Finds out about the machine. Reads only, and needs no privilege: what it may not read is absent.
#pragma once

#include <qd1/machine/facts.hpp>

#include <string>

namespace qd1 {

/// The host, and what is under `path`: a file, a directory or a block device. A file that is yet to be made lies in
/// the nearest directory above it that exists. Takes milliseconds, and asks again each time.
machine_facts find_machine(const std::string& path);

/// Memory as it is now.
memory_facts find_memory();

}  // namespace qd1
