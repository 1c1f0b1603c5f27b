// SPDX-License-Identifier: BSL-1.0
// Memory that is in use, so that pages of files find less room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace qd1 {

class ballast {
 public:
  /// Touches memory until `available()` tells of no more than `leave` bytes, or nothing. An interrupt ends it early.
  ballast(std::uint64_t leave, const std::function<std::optional<std::uint64_t>()>& available);

  std::uint64_t bytes() const noexcept { return chunks_.size() * chunk_bytes; }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t(4) << 20;

  std::vector<std::unique_ptr<std::byte[]>> chunks_;
};

}  // namespace qd1
