// SPDX-License-Identifier: BSL-1.0
// One round of operations: where each goes, how long it takes, and whether it did what it says.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace compare {

inline constexpr std::size_t block = 4096;  // bytes; every operation is one block

/// Ends the program: a competitor that goes on after an error measures errors.
[[noreturn]] inline void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}

/// Likewise ends the program, before its first round: something that it needs is unavailable here, which is no failure.
[[noreturn]] inline void cannot_be_had(const char* what, const char* why) {
  std::printf("%s: %s\n", what, why);
  std::exit(0);
}

/// What the data file holds everywhere in the block at `offset`. The interleaving script writes the same.
constexpr std::uint64_t word_at(std::uint64_t offset) noexcept { return (offset + 1) * 0x9e3779b97f4a7c15; }

/// Shared by all competitors in C++, so that all are measured, and checked, by the same instructions.
///
/// A loop asks has_next(), takes an offset by next_read() or next_write(), and reports by finished_read() or
/// finished_write(). With one operation at a time the latency is taken between these two calls; with several in
/// flight only the time of the whole round is.
///
/// Every answer must be a whole block. Of each read the first word is looked at, in a thorough round all of it; of
/// writes the last one of a round is read back, in a thorough round each.
class round {
 public:
  using clock = std::chrono::steady_clock;

  struct task {
    std::uint64_t operations;
    bool is_each_timed;
    bool is_thorough;
  };

  /// `file` is read back from, `blocks` its size.
  round(int file, std::uint64_t blocks, std::uint64_t seed, const task& asked)
      : file_(file), blocks_(blocks), random_(seed), asked_(asked) {
    if (asked.is_each_timed) latencies_.reserve(asked.operations);
  }

  bool has_next() const noexcept { return started_ < asked_.operations; }

  std::uint64_t next_read() noexcept {
    const std::uint64_t offset = next_offset();
    if (asked_.is_each_timed) began_ = clock::now();
    return offset;
  }
  void finished_read(std::uint64_t offset, std::int64_t answer, const void* memory) {
    take_latency();
    require_whole(answer);
    if (first_word(memory) != word_at(offset) || (asked_.is_thorough && !is_filled(memory, word_at(offset))))
      fail("read", "not what the file holds there");
  }

  /// Fills `memory` with something new, which the next write puts at the offset.
  std::uint64_t next_write(void* memory) noexcept { return fill_for_write(memory, next_offset()); }

  /// The same behind the block before. From the end of the file, it goes on at the beginning.
  std::uint64_t next_append(void* memory) noexcept {
    next_offset();
    return fill_for_write(memory, (first_append_ + started_) % blocks_ * block);
  }

  /// How many bytes a scan is to read, from the beginning of the file on; then it reports each part by scanned(). (If
  /// each operation is timed, this is not for it.)
  std::uint64_t bytes_left() const noexcept { return (asked_.operations - started_) * block; }
  /// The bytes of whole blocks, from `offset` on.
  void scanned(std::uint64_t offset, const std::byte* bytes, std::int64_t answer) {
    if (answer <= 0 || answer % static_cast<std::int64_t>(block) != 0) fail("scan", "not as many bytes as there are");
    for (std::uint64_t at = 0; at < static_cast<std::uint64_t>(answer); at += block, ++started_)
      if (first_word(bytes + at) != word_at(offset + at) ||
          (asked_.is_thorough && !is_filled(bytes + at, word_at(offset + at))))
        fail("scan", "not what the file holds there");
  }

  /// The number of a record that has no place in the file.
  std::uint64_t next_record() noexcept {
    if (asked_.is_each_timed) began_ = clock::now();
    return ++started_;
  }
  void finished_record(std::int64_t answer) {
    take_latency();
    if (answer < 0) fail("record", std::strerror(static_cast<int>(-answer)));
  }

  void finished_write(std::uint64_t offset, std::int64_t answer, const void* memory) {
    take_latency();
    require_whole(answer);
    if (!asked_.is_thorough && latencies_.size() != asked_.operations) return;
    std::byte found[block];
    require_whole(::pread(file_, found, block, static_cast<off_t>(offset)));
    if (std::memcmp(found, memory, block) != 0) fail("write", "the file does not hold what was written");
  }

  /// In nanoseconds: the latency that a share `of` all operations stayed within. Only if each was timed.
  std::int64_t percentile(double of) {
    const auto rank = static_cast<std::ptrdiff_t>(of * static_cast<double>(latencies_.size() - 1));
    std::nth_element(latencies_.begin(), latencies_.begin() + rank, latencies_.end());
    return latencies_[static_cast<std::size_t>(rank)];
  }

 private:
  std::uint64_t fill_for_write(void* memory, std::uint64_t offset) noexcept {
    const std::uint64_t word = word_at(offset) ^ random_;
    if (asked_.is_thorough)
      for (std::size_t at = 0; at < block; at += sizeof word) store(memory, at, word);
    store(memory, 0, word);
    if (asked_.is_each_timed) began_ = clock::now();
    return offset;
  }

  // Marsaglia's xorshift64: cheap enough not to be seen beside a system call.
  std::uint64_t next_offset() noexcept {
    ++started_;
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_ % blocks_ * block;
  }

  void take_latency() {
    if (asked_.is_each_timed) latencies_.push_back((clock::now() - began_) / std::chrono::nanoseconds(1));
  }

  static void require_whole(std::int64_t answer) {
    if (answer < 0) fail("operation", std::strerror(static_cast<int>(-answer)));
    if (answer != static_cast<std::int64_t>(block)) fail("operation", "less than a block was transferred");
  }

  static std::uint64_t first_word(const void* memory) noexcept {
    std::uint64_t word;
    std::memcpy(&word, memory, sizeof word);
    return word;
  }
  static void store(void* memory, std::size_t at, std::uint64_t word) noexcept {
    std::memcpy(static_cast<std::byte*>(memory) + at, &word, sizeof word);
  }
  static bool is_filled(const void* memory, std::uint64_t word) noexcept {
    // Equal to itself, shifted by one word: all words are the first one.
    const auto* const bytes = static_cast<const std::byte*>(memory);
    return first_word(memory) == word && std::memcmp(bytes, bytes + sizeof word, block - sizeof word) == 0;
  }

  int file_;
  std::uint64_t blocks_;
  std::uint64_t random_;
  std::uint64_t first_append_ = random_ % blocks_;
  task asked_;
  std::uint64_t started_ = 0;
  clock::time_point began_;
  std::vector<std::int64_t> latencies_;
};

}  // namespace compare
