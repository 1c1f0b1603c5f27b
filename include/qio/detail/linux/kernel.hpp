// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/utsname.h>

#include <cstdio>

namespace qio::platform {

/// By what the kernel says of itself; false where that cannot be read.
inline bool kernel_is_older_than(unsigned major, unsigned minor) noexcept {
  struct utsname kernel;
  unsigned its_major = 0, its_minor = 0;
  return ::uname(&kernel) == 0 && std::sscanf(kernel.release, "%u.%u", &its_major, &its_minor) == 2 &&
         (its_major < major || (its_major == major && its_minor < minor));
}

}  // namespace qio::platform
