// SPDX-License-Identifier: BSL-1.0
// Explores everything that two threads may see of each other through shared memory, by the release/acquire part of the
// C++ memory model. All interleavings are tried, and each load returns in turn every value that it may return.
//
// The model is the usual operational one. A location has a history of stores. A thread has a view: for each location
// the oldest store that it may still read, and how much of the other thread's work on plain memory happened before. A
// release store takes the view of its thread along, and an acquire load that reads it joins that view. Accesses to
// plain memory are checked as a race detector does: the other thread's conflicting accesses must have happened before.
// (A load never sees a store that is made later, so the model has no load buffering. Where an order must prevent that,
// its absence is a race here.)
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace memory_model {

enum party : std::uint8_t { qio_thread, kernel_thread };
constexpr party other_than(party one) { return one == qio_thread ? kernel_thread : qio_thread; }

/// A hash of all that is added. Two states of millions have the same one with a probability of about one in a million.
class fingerprint {
 public:
  void add(std::uint64_t number) noexcept {
    sum_ = (sum_ ^ number) * 0x9e3779b97f4a7c15u;
    sum_ ^= sum_ >> 29;
    sum_ *= 0xbf58476d1ce4e5b9u;
    sum_ ^= sum_ >> 32;
  }
  std::uint64_t value() const noexcept { return sum_; }

 private:
  std::uint64_t sum_ = 0x94d049bb133111ebu;
};

/// What a thread knows, or what a message passes on.
template <std::size_t Words>
struct view {
  std::array<std::uint8_t, Words> oldest{};  ///< for each word, the store in its history that may still be read
  std::array<std::uint8_t, 2> done{};        ///< of each thread, how many accesses to plain memory happened before

  void join(const view& more) noexcept {
    for (std::size_t i = 0; i != Words; ++i) oldest[i] = std::max(oldest[i], more.oldest[i]);
    for (std::size_t i = 0; i != 2; ++i) done[i] = std::max(done[i], more.done[i]);
  }
};

/// One way through all choices after another, depth first. A state that was reached before is not explored again.
class exploration {
 public:
  /// A number below `alternatives`. `state()` is the fingerprint of everything that determines what may follow.
  template <class State>
  unsigned choose(unsigned alternatives, State state) {
    if (alternatives == 1) return 0;
    if (depth_ != way_.size()) return way_[depth_++].chosen;
    if (is_known_ || !states_.insert(state()).second) {
      is_known_ = true;  // what follows was explored: the run goes on to its end, without choices
      return 0;
    }
    way_.push_back({0, alternatives});
    ++depth_;
    return 0;
  }

  /// Begins the next run. False if there is none.
  bool advance() {
    ++runs_;
    depth_ = 0;
    is_known_ = false;
    while (!way_.empty() && way_.back().chosen + 1 == way_.back().alternatives) way_.pop_back();
    if (way_.empty()) return false;
    ++way_.back().chosen;
    return true;
  }

  std::size_t states() const noexcept { return states_.size(); }
  std::size_t runs() const noexcept { return runs_; }

 private:
  struct choice {
    unsigned chosen, alternatives;
  };
  std::vector<choice> way_;
  std::size_t depth_ = 0;
  bool is_known_ = false;
  std::unordered_set<std::uint64_t> states_;
  std::size_t runs_ = 0;
};

/// Words that both threads access atomically, and plain places. Every location begins with 0.
template <std::size_t Words, std::size_t Places>
class memory {
 public:
  memory() {
    for (auto& each : history_) each.push_back({0, {}});
  }

  /// How many stores a load by `who` may read.
  unsigned readable(party who, std::size_t word) const noexcept { return newest(word) - knows_[who].oldest[word] + 1u; }
  /// How many of them are newer than the one that it has read last.
  unsigned unread(party who, std::size_t word) const noexcept {
    return newest(word) - std::max(knows_[who].oldest[word], static_cast<std::uint8_t>(last_read_[who][word] + 1)) + 1u;
  }

  /// Reads the store that is `age` stores older than the newest.
  unsigned load(party who, std::size_t word, unsigned age, std::memory_order order) noexcept {
    const message& read = history_[word][newest(word) - age];
    last_read_[who][word] = knows_[who].oldest[word] = static_cast<std::uint8_t>(newest(word) - age);
    if (order == std::memory_order_acquire || order == std::memory_order_acq_rel) knows_[who].join(read.published);
    return read.value;
  }
  void store(party who, std::size_t word, unsigned value, std::memory_order order) {
    history_[word].push_back({value, {}});
    last_read_[who][word] = knows_[who].oldest[word] = newest(word);
    if (order == std::memory_order_release || order == std::memory_order_acq_rel)
      history_[word].back().published = knows_[who];
  }
  /// A read-modify-write, which reads the newest store and continues its release sequence. Returns the old value.
  template <class Change>
  unsigned modify(party who, std::size_t word, std::memory_order order, Change change) {
    const view<Words> published = history_[word].back().published;
    const unsigned old = load(who, word, 0, order);
    store(who, word, change(old), order);
    history_[word].back().published.join(published);
    return old;
  }

  /// From now on, `who` reads only the newest store, or only what it has not read yet.
  void skip_to_newest(party who, std::size_t word) noexcept { knows_[who].oldest[word] = newest(word); }
  void skip_to_unread(party who, std::size_t word) noexcept {
    knows_[who].oldest[word] = static_cast<std::uint8_t>(newest(word) - unread(who, word) + 1);
  }
  unsigned value(std::size_t word) const noexcept { return history_[word].back().value; }

  /// Hands over by other means, which order memory: everything that `from` has done happened before.
  void synchronize(party from, party to) noexcept { knows_[to].join(knows_[from]); }

  /// False if the other thread's access may happen at the same time.
  bool read_place(party who, std::size_t place) noexcept {
    accesses& of = places_[place];
    const party other = other_than(who);
    of.read[who] = ++knows_[who].done[who];
    return knows_[who].done[other] >= of.written[other];
  }
  bool write_place(party who, std::size_t place) noexcept {
    accesses& of = places_[place];
    const party other = other_than(who);
    of.written[who] = ++knows_[who].done[who];
    return knows_[who].done[other] >= std::max(of.written[other], of.read[other]);
  }

  /// What may matter later: stores that can still be read, and accesses to plain memory of which the other thread does
  /// not know yet. Both are counted from where nothing older matters, so that states are equal which behave equally.
  void add_to(fingerprint& sum) const noexcept {
    view<Words> base;
    for (std::size_t i = 0; i != Words; ++i) base.oldest[i] = std::min(knows_[0].oldest[i], knows_[1].oldest[i]);
    for (std::size_t i = 0; i != 2; ++i) base.done[i] = std::min(knows_[0].done[i], knows_[1].done[i]);
    const auto add_from = [&sum](std::uint8_t from, unsigned number) { sum.add(number < from ? 0u : number - from); };
    const auto add_view = [&](const view<Words>& each) {
      for (std::size_t i = 0; i != Words; ++i) add_from(base.oldest[i], each.oldest[i]);
      for (std::size_t i = 0; i != 2; ++i) add_from(base.done[i], each.done[i]);
    };
    for (std::size_t i = 0; i != Words; ++i) {
      sum.add(history_[i].size() - base.oldest[i]);
      for (const auto& each : last_read_) add_from(base.oldest[i], each[i] + 1u);
      for (std::size_t one = base.oldest[i]; one != history_[i].size(); ++one) {
        sum.add(history_[i][one].value);
        add_view(history_[i][one].published);
      }
    }
    for (const auto& each : knows_) add_view(each);
    for (const accesses& each : places_)
      for (std::size_t i = 0; i != 2; ++i) {
        add_from(base.done[i], each.read[i]);
        add_from(base.done[i], each.written[i]);
      }
  }

 private:
  std::uint8_t newest(std::size_t word) const noexcept { return static_cast<std::uint8_t>(history_[word].size() - 1); }

  struct message {
    unsigned value;
    view<Words> published;
  };
  struct accesses {
    std::array<std::uint8_t, 2> read{}, written{};  // the last one of each thread, in its own count
  };
  std::array<std::vector<message>, Words> history_;
  std::array<view<Words>, 2> knows_{};
  std::array<std::array<std::uint8_t, Words>, 2> last_read_{};
  std::array<accesses, Places> places_{};
};

}  // namespace memory_model
