// SPDX-License-Identifier: BSL-1.0
// The base of every case: a program on a simulated disk, which runs again after each restart.
#pragma once

#include "catch.hpp"
#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace simulation {

using qio::access;
using qio::creation;

using bytes = std::vector<std::byte>;

/// Calls `check(seed)` for many seeds; a failure names its seed.
template <class Check>
void each_seed(Check check) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    check(seed);
  }
}
using file = qio::async_file<qio::cached, qio::simulated>;
using direct_file = qio::async_file<qio::direct, qio::simulated>;

inline bytes filled(std::size_t size, int value) { return bytes(size, std::byte(value)); }

/// A program's context; each restart of the disk needs a new one.
struct program {
  explicit program(qio::simulated_disk& disk, unsigned queue_depth = 256)
      : context(qio::basic_context<qio::simulated>::create({.queue_depth = queue_depth, .workers = 0, .disk = &disk})
                    .value()) {}

  template <class Mode = qio::cached>
  auto open(const char* path, creation how = creation::if_needed, access wanted = access::read_write) {
    return qio::basic_file<Mode>::open(context, path, wanted, how);
  }

  qio::basic_context<qio::simulated> context;
};

/// The contents of a file, as a new program reads them.
inline bytes contents(qio::simulated_disk& disk, const char* path) {
  program reader(disk);
  auto opened = reader.open(path, creation::open_existing, access::read).value();
  bytes found(static_cast<std::size_t>(opened.size().value()));
  CHECK(opened.read_at(0, found).value() == found.size());
  return found;
}

/// Makes a durable file "data" with this value in every byte.
inline void make_durable(qio::simulated_disk& disk, std::size_t size, int value) {
  program writer(disk);
  auto made = writer.open("data").value();
  REQUIRE(made.write_at(0, filled(size, value)).value() == size);
  REQUIRE(made.sync());
  REQUIRE(disk.sync_directory("."));
}

}  // namespace simulation
