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
  /// Touches memory until `available()` returns no more than `leave` bytes, or nothing. An interrupt ends it early.
  ballast(std::uint64_t leave, const std::function<std::optional<std::uint64_t>()>& available);

  std::uint64_t bytes() const noexcept { return touched_; }

 private:
  void touch_more();

  // Allocators keep freed memory for reuse, so the machine would not get it back when this ends. They return blocks of
  // this size: glibc keeps up to 32 MiB (mallopt(3), M_MMAP_THRESHOLD).
  static constexpr std::size_t chunk_bytes = std::size_t(64) << 20;
  static constexpr std::size_t step_bytes = std::size_t(4) << 20;  // between two calls of available()

  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::uint64_t touched_ = 0;
};

}  // namespace qd1
