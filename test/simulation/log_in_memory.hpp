// SPDX-License-Identifier: BSL-1.0
// Reads a log that is in memory as open_log() and read_log() read it: in microseconds.
#pragma once

#include "program.hpp"
#include <qio/log_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace simulation {

/// A file in memory, for a log_reader.
struct file_in_memory {
  bytes stored;

  qio::alignment alignment() const noexcept { return {}; }
  qio::result<std::uint64_t> size() const { return std::uint64_t(stored.size()); }
  qio::task<qio::result<std::size_t>> async_read_at(std::uint64_t offset, std::span<std::byte> into) {
    const std::size_t begin = static_cast<std::size_t>(std::min<std::uint64_t>(offset, stored.size()));
    const std::size_t read = std::min(into.size(), stored.size() - begin);
    std::copy_n(stored.begin() + static_cast<std::ptrdiff_t>(begin), read, into.begin());
    co_return read;
  }
};

struct found_in_memory {
  std::optional<qio::log_contents> contents;  ///< none if the file is refused, or is taken for a new log
  bool is_new = false;
};

/// What open_log() would find, or read_log() if nobody has locked it.
template <class Visit>
qio::task<found_in_memory> read_in_memory(file_in_memory& from, Visit& visit, bool is_locked = true) {
  found_in_memory found;
  qio::detail::log_reader<file_in_memory> reader(from, is_locked);
  const auto header = co_await reader.read_header();
  if (!header) co_return found;
  if (!header.value()) {
    const qio::result<void> blank = co_await reader.check_is_blank();
    found.is_new = blank.has_value();
    co_return found;
  }
  const qio::result<qio::log_contents> read = co_await reader.read(*header.value(), visit);
  if (read) found.contents = read.value();
  co_return found;
}

}  // namespace simulation
