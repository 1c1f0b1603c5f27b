// SPDX-License-Identifier: BSL-1.0
// A measurement of an experiment that is still to be made.
#pragma once

#include "depth/ladder.hpp"
#include "measure/run.hpp"
#include "memory/memory.hpp"
#include "reproduce/reproduction.hpp"
#include "reproduce/unchecked.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace qd1 {

/// A setting of a device's queue, and what it is set to meanwhile.
struct tuning {
  std::string device;
  std::string setting;
  std::string value;
};

struct planned {
  std::string name;
  std::string purpose;
  std::variant<run_request, ladder_request, memory_request, unchecked_request> how;
  std::optional<tuning> tuned = {};  ///< the old value is put back afterwards, however this ends
};

/// About how long it takes, without the time in which a file is made and filled.
double seconds_of(const planned& part);

/// Bytes of the files that it makes.
std::uint64_t bytes_written(const planned& part);

/// "reads 1 GiB of file.data for 30 s": what happens to what.
std::string outline_of(const planned& part);

/// Throws usage_error where it cannot be done.
experiment_part measured(const planned& part, const std::string& command_line);

}  // namespace qd1
