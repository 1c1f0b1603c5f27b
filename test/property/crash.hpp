// What a crash may leave of the file.
#pragma once

#include "model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace property {

/// The contents since the last sync, step by step. After a crash, each sector has the contents of one of them, or, if
/// several operations of a step have changed it, each of its bytes; what is past the end of one is zeros. The size is
/// one that the file has had.
class crash_model {
 public:
  /// Everything is durable.
  void begin(const model& now) {
    states_ = {copy_of(now)};
    last_size_ = now.size();
    note_size();
    is_lost_ = false;
  }

  /// A sync has succeeded, during the present step: what was before it is durable.
  void note_sync() {
    if (is_lost_) return;
    states_.erase(states_.begin(), states_.end() - 1);
    note_size();
  }
  /// A sync may have failed: from now on, later ones make durable only what is written again.
  void note_failed_sync() { is_lost_ = true; }
  /// The size before the present step is durable.
  void note_size() { sizes_ = {{last_size_, last_size_}}; }
  /// A write in the present step was durable: a size of the file that it had before is enough for it, or becomes so.
  void note_durable_end(std::uint64_t end) {
    for (auto& [smallest, largest] : sizes_) {
      smallest = std::max(smallest, end);
      largest = std::max(largest, end);
    }
  }
  /// A write in the last step was durable.
  void note_durable(std::uint64_t offset, std::span<const std::byte> data) {
    for (std::vector<std::byte>& each : states_) {
      if (each.size() < offset + data.size()) each.resize(static_cast<std::size_t>(offset) + data.size());
      std::copy(data.begin(), data.end(), each.begin() + static_cast<std::ptrdiff_t>(offset));
    }
  }
  /// The end of a step.
  void note_step(const model& now) {
    sizes_.emplace_back(std::min(last_size_, now.size()), std::max(last_size_, now.size()));
    last_size_ = now.size();
    states_.push_back(copy_of(now));
  }

  /// After a crash.
  void expect(std::span<const std::byte> found) const {
    const auto had = [&](const auto& each) { return each.first <= found.size() && found.size() <= each.second; };
    require(
        std::any_of(sizes_.begin(), sizes_.end(), had),
        "after a crash the file has " + std::to_string(found.size()) + " bytes, which it has not had since the sync");
    for (std::size_t at = 0; at < found.size(); at += sector) {
      const auto part = found.subspan(at, std::min(sector, found.size() - at));
      if (std::none_of(states_.rbegin(), states_.rend(), [&](const auto& each) { return holds(each, at, part); }))
        expect_bytes(at, part);
    }
  }

 private:
  static constexpr std::size_t sector = 512;
  using state = std::vector<std::byte>;

  static state copy_of(const model& now) { return {now.all().begin(), now.all().end()}; }

  static bool holds(const state& of, std::size_t at, std::span<const std::byte> part) {
    if (at + part.size() <= of.size()) return are_equal(part, std::span(of).subspan(at, part.size()));
    for (std::size_t i = 0; i < part.size(); ++i)
      if (part[i] != (at + i < of.size() ? of[at + i] : std::byte{0})) return false;
    return true;
  }
  void expect_bytes(std::size_t at, std::span<const std::byte> part) const {
    for (std::size_t i = 0; i < part.size(); ++i)
      require(std::any_of(states_.begin(), states_.end(),
                          [&](const auto& each) { return holds(each, at + i, part.subspan(i, 1)); }),
              "after a crash byte " + std::to_string(at + i) + " is " + std::to_string(std::to_integer<int>(part[i])) +
                  ", which it has not been since the sync");
  }

  std::vector<state> states_;                                   // the last one is that after the last step
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sizes_;  // from the smallest to the largest of each step
  std::uint64_t last_size_ = 0;
  bool is_lost_ = false;
};

}  // namespace property
