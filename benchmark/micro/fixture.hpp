// SPDX-License-Identifier: BSL-1.0
// A hot file, and random offsets in it, the same for every contender.
#pragma once

#include <qio/qio.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace micro {

inline constexpr std::size_t block = 4096;
inline constexpr std::size_t blocks = 16384;  // 64 MiB: larger than the processor's caches, smaller than memory

/// Ends the program: a benchmark that goes on after an error measures errors.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "micro-benchmark: %s failed\n", what);
  std::abort();
}

/// Written in pieces of `piece` bytes, synced and read once; removed at the end. The page cache holds it in pieces of
/// that size or larger, which matters for writes: ext4 walks through the whole of a large one.
class hot_file {
 public:
  explicit hot_file(std::size_t piece = blocks * block) {
    auto file = qio::cached_file::open(path_, qio::access::read_write, qio::creation::always_new).value();
    std::vector<std::byte> contents(blocks * block);
    offsets random;
    for (std::byte& each : contents) each = static_cast<std::byte>(random.word() >> 56);
    for (std::size_t at = 0; at < contents.size(); at += piece)
      file.write_at(at, std::span(contents).subspan(at, piece)).value();
    file.sync().value();
    file.read_at(0, contents).value();
  }
  hot_file(const hot_file&) = delete;
  hot_file& operator=(const hot_file&) = delete;
  ~hot_file() { std::remove(path_.c_str()); }

  const std::string& path() const noexcept { return path_; }

  /// Marsaglia's xorshift64: cheap enough not to be seen beside a system call.
  class offsets {
   public:
    std::uint64_t next() noexcept { return word() % blocks * block; }

    std::uint64_t word() noexcept {
      state_ ^= state_ << 13;
      state_ ^= state_ >> 7;
      state_ ^= state_ << 17;
      return state_;
    }

   private:
    std::uint64_t state_ = 0x9e3779b97f4a7c15;
  };

 private:
  std::string path_ = "micro-benchmark.tmp";
};

}  // namespace micro
