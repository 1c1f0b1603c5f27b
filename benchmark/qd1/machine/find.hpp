// SPDX-License-Identifier: BSL-1.0
// Finds out about the machine. Reads only, and needs no privilege: what it may not read is absent.
#pragma once

#include <qd1/machine/facts.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

/// The host, and what is under `path`: a file, a directory or a block device. A file that is yet to be made lies in
/// the nearest directory above it that exists. Takes milliseconds, and asks again each time.
machine_facts find_machine(const std::string& path);

/// Fills in how the threads of this process get CPUs and the device: of the calling one.
void find_priorities(limit_facts& of);

/// Memory as it is now.
memory_facts find_memory();

/// How often the control groups of this process have reached their memory limit so far, and had to evict pages. None
/// where the system does not report it.
std::optional<std::uint64_t> memory_limit_hits();

/// How long the calling thread has been ready so far, and waited for a CPU, in nanoseconds. None where the system does
/// not report it.
std::optional<std::uint64_t> waited_for_cpu_ns();

/// The processors next to the devices of the machine, by the system's numbers. Empty where nothing is known.
std::vector<std::uint64_t> processors_near(const machine_facts& machine);

}  // namespace qd1
