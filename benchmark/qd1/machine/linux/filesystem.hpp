// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qd1/machine/facts.hpp>
#include <qd1/machine/linux/location.hpp>
#include <qd1/machine/linux/mounts.hpp>

namespace qd1::linux_system {

/// The file system a location lies on, all but what direct I/O needs there.
filesystem_facts find_filesystem(const location& where, const mount& on);

}  // namespace qd1::linux_system
