// SPDX-License-Identifier: BSL-1.0
// Where transfers begin.
#pragma once

#include "measure/zipf.hpp"

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

/// Numbers below `count` in an order that looks random, each once: a bijection. It needs no memory, whatever the count.
class scattered {
 public:
  scattered(std::uint64_t seed, std::uint64_t count) noexcept
      : count_(count),
        salt_(splitmix64(seed)()),
        mask_((std::uint64_t(1) << bits_of(count - 1)) - 1),
        half_((bits_of(count - 1) + 1) / 2) {}

  /// `number` is less than the count, and so is the result.
  std::uint64_t operator()(std::uint64_t number) const noexcept {
    do number = mixed(number);
    while (number >= count_);  // it comes back to where it began at the latest
    return number;
  }

 private:
  static int bits_of(std::uint64_t number) noexcept { return static_cast<int>(std::bit_width(number)); }

  // Each step is invertible on that many bits, so no two numbers become the same.
  std::uint64_t mixed(std::uint64_t number) const noexcept {
    for (int turn = 0; turn < 3; ++turn) {
      number = (number * 0x9e3779b97f4a7c15 + salt_) & mask_;
      number ^= number >> half_;
    }
    return number;
  }

  std::uint64_t count_;
  std::uint64_t salt_;
  std::uint64_t mask_;
  int half_;
};

/// Each block once in an order that looks random, and then again.
inline offset_source shuffled_offsets(std::uint64_t seed, std::uint64_t bytes, std::uint64_t block) {
  const std::uint64_t blocks = bytes / block;
  return [place = scattered(seed, blocks), number = std::uint64_t(0), blocks, block]() mutable {
    return place(number++ % blocks) * block;
  };
}

/// One block after the other from `first` on, counted in blocks; after the last comes block 0.
inline offset_source sequential_offsets(std::uint64_t first, std::uint64_t bytes, std::uint64_t block) {
  return [next = first, blocks = bytes / block, block]() mutable { return next++ % blocks * block; };
}

/// By Zipf's law: the k-th most popular block is chosen with a probability proportional to 1 / k^theta. Which blocks
/// are popular depends on `places`, what is drawn on `draws`.
inline offset_source zipf_offsets(std::uint64_t places, std::uint64_t draws, double theta, std::uint64_t bytes,
                                  std::uint64_t block) {
  const std::uint64_t blocks = bytes / block;
  return [place = scattered(places, blocks), ranks = zipf_ranks(theta, blocks), random = splitmix64(draws),
          block]() mutable { return place(ranks(random)) * block; };
}

}  // namespace qd1
