// SPDX-License-Identifier: BSL-1.0
// What of a file is in memory before it is measured on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qd1 {

/// Reads the first `bytes`, in the mode of the file. What fails here will fail again when it is measured.
template <class File>
void touch_all(const File& file, std::uint64_t bytes) {
  constexpr std::size_t chunk = std::size_t(1) << 20;
  std::vector<std::byte> memory(chunk);
  for (std::uint64_t at = 0; at < bytes; at += chunk) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(chunk, bytes - at));
    static_cast<void>(file.read_at(at, std::span(memory).first(part)));
  }
}

/// Makes sure that the first `bytes` are in the page cache. Unless they all are, they are all read again, so that
/// they lie in memory in the same way each time.
void fill_cache(const std::string& path, std::uint64_t bytes);

/// Makes sure that none of them is in the page cache. Returns why that failed or could not be verified, else nothing.
std::string empty_cache(const std::string& path, std::uint64_t bytes);

}  // namespace qd1
