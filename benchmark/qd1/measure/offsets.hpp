// SPDX-License-Identifier: BSL-1.0
// Where transfers begin.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

namespace qd1 {

/// Vigna's splitmix64: a few instructions a number, good enough for data that does not compress and for offsets.
class splitmix64 {
 public:
  explicit splitmix64(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t operator()() noexcept {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

 private:
  std::uint64_t state_;
};

/// Called before each transfer, outside of the time that is taken.
using offset_source = std::function<std::uint64_t()>;

/// Multiples of `block`, all in [0, bytes) equally likely.
inline offset_source random_offsets(std::uint64_t seed, std::uint64_t bytes, std::uint64_t block) {
  return [random = splitmix64(seed), blocks = bytes / block, block]() mutable { return random() % blocks * block; };
}

/// The same, but none twice: what has been read once is not cold any more. For less than half of the blocks, since it
/// draws until it finds one that is left.
inline offset_source unvisited_offsets(std::uint64_t seed, std::uint64_t bytes, std::uint64_t block) {
  return [next = random_offsets(seed, bytes, block), visited = std::vector<bool>(bytes / block), block]() mutable {
    std::uint64_t offset = next();
    while (visited[offset / block]) offset = next();
    visited[offset / block] = true;
    return offset;
  };
}

/// The same, each once in an order that looks random, and then again; no memory is needed for it, so for any size.
inline offset_source shuffled_offsets(std::uint64_t seed, std::uint64_t bytes, std::uint64_t block) {
  const std::uint64_t blocks = bytes / block;
  const auto bits = static_cast<int>(std::bit_width(blocks - 1));
  // Each step can be undone on so many bits, so no two numbers become the same. What is beyond the last block is left
  // out.
  const auto mixed = [salt = splitmix64(seed)(), mask = (std::uint64_t(1) << bits) - 1,
                      half = (bits + 1) / 2](std::uint64_t number) {
    for (int turn = 0; turn < 3; ++turn) {
      number = (number * 0x9e3779b97f4a7c15 + salt) & mask;
      number ^= number >> half;
    }
    return number;
  };
  return [mixed, end = std::uint64_t(1) << bits, number = std::uint64_t(0), blocks, block]() mutable {
    std::uint64_t found = mixed(number++ % end);
    while (found >= blocks) found = mixed(number++ % end);
    return found * block;
  };
}

/// One block after the other, and from the beginning again. Several sources of one file, `number` of `sources` counted
/// from 0, begin at equal distances.
inline offset_source sequential_offsets(std::uint64_t number, std::uint64_t sources, std::uint64_t bytes,
                                        std::uint64_t block) {
  const std::uint64_t blocks = bytes / block;
  return [next = blocks / sources * number, blocks, block]() mutable { return next++ % blocks * block; };
}

}  // namespace qd1
