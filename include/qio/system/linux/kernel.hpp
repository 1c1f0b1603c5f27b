// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

#include <sys/utsname.h>

#include <cstdio>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Compares the release that uname(2) reports; false if it cannot be read.
inline bool kernel_is_older_than(unsigned major, unsigned minor) noexcept {
  struct utsname kernel;
  unsigned its_major = 0, its_minor = 0;
  return ::uname(&kernel) == 0 && std::sscanf(kernel.release, "%u.%u", &its_major, &its_minor) == 2 &&
         (its_major < major || (its_major == major && its_minor < minor));
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
