// SPDX-License-Identifier: BSL-1.0
// File systems that a test makes and mounts; some need root, or are not installed.
#pragma once

#include "program.hpp"

#include <unistd.h>

#include <string>
#include <vector>

namespace qd1_test {

// What is mounted below a directory, until the end of the test.
struct mounts : directory {
  mounts() = default;
  mounts(const mounts&) = delete;
  mounts& operator=(const mounts&) = delete;
  ~mounts() { unmount(); }

  void unmount() {
    for (; !made.empty(); made.pop_back()) os::shell("umount '" + made.back().string() + "'");
  }

  bool add(const std::string& what, const fs::path& where) {
    fs::create_directories(where);
    if (::geteuid() != 0 || !os::shell("cd '" + path.string() + "' && mount " + what + " '" + where.string() + "'"))
      return false;
    made.push_back(where);
    return true;
  }

  std::vector<fs::path> made;
};

}  // namespace qd1_test
