// SPDX-License-Identifier: BSL-1.0
// The only source of randomness in a simulation, and what may be chosen instead of drawn: what a power cut leaves.
#pragma once

#include <qio/configuration.hpp>

#include <cstdint>
#include <random>
#include <span>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Changes of which a power cut, or a failed sync, may leave more or less.
struct crash_choice {
  enum kind : std::uint8_t {
    names,      // changes of names: how many of them survive, from the first
    order,      // changes of the size and of reserved space: likewise
    part,       // a part of a write, or of a range of zeros: 1 if it survives
    in_flight,  // a write that was in flight: how many sectors of it began, or 1 for all
  };
  kind what;
  std::span<const std::uint64_t> calls;  // the numbers of the system calls that made the changes, in their order
  std::uint64_t offset = 0, bytes = 0;   // of a part
};

/// Decides what would otherwise be drawn.
class crash_choices {
 public:
  /// 0 ... most. 0 leaves nothing of the changes, `most` all.
  virtual std::uint64_t choose(const crash_choice& about, std::uint64_t most) = 0;
  /// Whether the present sync fails.
  virtual bool sync_fails() = 0;

 protected:
  ~crash_choices() = default;
};

/// Gives the same numbers from the same seed everywhere: the standard specifies this generator exactly, but not the
/// distributions.
class chance {
 public:
  explicit chance(std::uint64_t seed) : numbers_(seed) {}

  /// From now on, these decide what a power cut leaves; null: chance.
  void supply(crash_choices* choices) noexcept { choices_ = choices; }

  std::uint64_t number() { return numbers_(); }

  /// 0 ... end - 1; `end` is not 0. (Some numbers are more likely than others, by end / 2^64.)
  std::uint64_t below(std::uint64_t end) { return number() % end; }
  /// first ... last.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) { return first + below(last - first + 1); }

  /// True with this probability. A probability of 0 consumes no number, so switching a fault off leaves the rest of the
  /// history as it is.
  bool comes_true(double probability) {
    if (probability <= 0) return false;
    return static_cast<double>(number() >> 11) * 0x1p-53 < probability;
  }

  /// How much of some changes survives: 0 ... most.
  std::uint64_t surviving(const crash_choice& of, std::uint64_t most) {
    return choices_ != nullptr ? choices_->choose(of, most) : between(0, most);
  }
  bool survives(const crash_choice& part) {
    return choices_ != nullptr ? choices_->choose(part, 1) == 1 : comes_true(0.5);
  }
  /// With this probability, or as it was decided.
  bool sync_fails(double probability) {
    return comes_true(probability) || (choices_ != nullptr && choices_->sync_fails());
  }

 private:
  crash_choices* choices_ = nullptr;
  std::mt19937_64 numbers_;
};

}  // namespace detail
QIO_END_NAMESPACE
