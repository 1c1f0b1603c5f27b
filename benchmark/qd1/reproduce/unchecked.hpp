// SPDX-License-Identifier: BSL-1.0
// The mistake of 2017, made on purpose: direct transfers at offsets that are not multiples of the block, taken for fast
// ones because the programs ignored their results.
#pragma once

#include "reproduce/reproduction.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace qd1 {

struct unchecked_request {
  std::string path;
  std::optional<std::uint64_t> file_size;
  std::uint64_t block = 4096;
  double seconds = 1;
  std::uint64_t seed = 1;
  bool overwrite = false;
};

/// Reads only, at any byte; it is the library that refuses them, before the system would. With that formula a
/// measurement of qd1's, which refuses it, and as a program that trusts each call would have it.
experiment_part repeat_mistake(const unchecked_request& request, const std::string& command_line);

}  // namespace qd1
