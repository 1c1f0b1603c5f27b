// SPDX-License-Identifier: BSL-1.0
// Where a path leads, according to system calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace qd1::linux_system {

struct location {
  std::string path;  ///< the part that exists, absolute and without links
  bool block_device = false;
  std::string device;                     ///< "254:0": of the block device itself, else of the file system
  std::optional<std::uint64_t> mount_id;  ///< Linux 5.8
  std::optional<bool> compressed, encrypted;
  std::optional<std::uint64_t> block_bytes, size_bytes, free_bytes;  ///< of the file system
};

location locate(const std::string& path);

}  // namespace qd1::linux_system
