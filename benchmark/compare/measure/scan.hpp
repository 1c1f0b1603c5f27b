// SPDX-License-Identifier: BSL-1.0
// Scans of the file by a qio reader, with a context and without.
#pragma once

#include "measure/qio.hpp"
#include <qio/reader.hpp>

#include <cstdint>
#include <utility>

namespace compare {

/// From a new reader to the end of the round.
template <class File>
qio::task<> scan(File& file, round& round) {
  auto from = qio::reader<File>::create(file, {.limit = round.bytes_left()}).value();
  while (round.has_next()) {
    const std::uint64_t offset = from.position();
    const auto bytes = co_await from.next();
    round.scanned(offset, bytes.value().data(), static_cast<std::int64_t>(bytes.value().size()));
  }
}

template <class File>
void scan_blocking(File& file, round& round) {
  auto from = qio::reader<File>::create(file, {.limit = round.bytes_left()}).value();
  while (round.has_next()) {
    const std::uint64_t offset = from.position();
    const auto bytes = from.next().value();
    round.scanned(offset, bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }
}

}  // namespace compare
