// SPDX-License-Identifier: BSL-1.0
// What a copy of a file returns, and how a file is copied to a path: see qio/copy.hpp.
#pragma once

#include <qio/configuration.hpp>
#include <qio/operation_options.hpp>

#include <cstdint>

QIO_BEGIN_NAMESPACE

class directory;

/// How the bytes of a copy were moved.
enum class copy_way : std::uint8_t {
  shared,     ///< not at all: the copy shares the blocks of the source until either is written (a clone)
  by_system,  ///< within the system, which may share blocks or have a server copy (copy_file_range(2))
  by_memory,  ///< by reads and writes, in memory of this process
};

/// What copy() and copy_file() return.
struct copied {
  std::uint64_t bytes = 0;          ///< the size of the copy, its holes included
  copy_way way = copy_way::shared;  ///< the slowest that any byte needed; `shared` if there was none to move

  /// Whether both are equal.
  friend bool operator==(const copied&, const copied&) = default;
};

/// Options of copy_file().
struct copy_file_options {
  /// As replace_options::durable: once the call has succeeded, the name leads to the copy, whole, also after a power
  /// failure, and to the old file or the copy before. If false, a crash of the system may leave an empty or partial
  /// file.
  bool durable = true;
  const qio::directory* beneath = nullptr;  ///< as open_options::beneath, for both paths
  qio::deadline deadline = {};              ///< ends the copy at this time, between two pieces
  stop_reference stop = {};                 ///< ends the copy between two pieces when a stop is requested
};

QIO_END_NAMESPACE
