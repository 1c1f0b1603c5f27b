// SPDX-License-Identifier: BSL-1.0
// A published experiment: how it is repeated, and the figures to compare its results with.
#pragma once

#include "reproduce/planned.hpp"
#include "reproduce/reproduction.hpp"
#include "reproduce/resources.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace qd1 {

struct experiment {
  publication about;
  std::uint64_t targets;  ///< used at once where the user names none
  std::vector<planned> (*plan)(const resources& with);
  /// Fills the tables, the shapes and what cannot be compared from the parts that were measured: all, or those before
  /// an interruption.
  void (*judge)(const resources& with, reproduction& of);
};

extern const experiment afio_2017;
extern const experiment eleven_million_iops;
extern const experiment two_kernels;
extern const experiment twenty_million_iops;
extern const experiment buffered_memory;

std::span<const experiment* const> experiments();

/// Throws usage_error, with the names that there are.
const experiment& experiment_named(std::string_view name);

}  // namespace qd1
