// SPDX-License-Identifier: BSL-1.0
// Timers in order of time: a pairing heap whose nodes live in the operations.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>

#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// A loop calls it when its time has come. It lives in the object that sets it.
struct timer {
  std::chrono::steady_clock::time_point when;
  bool (*expired)(timer&) noexcept;  ///< true if it resumed a coroutine
  timer* child;                      // the first of the later ones below this
  timer* sibling;                    // the next with the same parent
  timer* previous;                   // the sibling before, or the parent of a first child; null at the root
  bool is_armed = false;             ///< in a heap
};

/// Far beyond any operation, and what every engine can wait for without an overflow.
inline constexpr std::chrono::steady_clock::duration longest_wait = std::chrono::hours(24 * 36525);

/// Insertion takes constant time; removal takes logarithmic time, amortized (Fredman, Sedgewick, Sleator, Tarjan 1986).
class timers {
 public:
  bool empty() const noexcept { return root_ == nullptr; }
  timer* earliest() const noexcept { return root_; }

  void insert(timer& node) noexcept {
    QIO_CHECK(!node.is_armed, "bug in qio: a timer was armed twice");
    node.is_armed = true;
    node.child = node.sibling = node.previous = nullptr;
    root_ = root_ == nullptr ? &node : meld(root_, &node);
  }

  void remove(timer& node) noexcept {
    QIO_CHECK(node.is_armed, "bug in qio: a timer was removed that was not armed");
    node.is_armed = false;
    timer* const below = meld_all(std::exchange(node.child, nullptr));
    if (&node == root_) {
      root_ = below;
      return;
    }
    (node.previous->child == &node ? node.previous->child : node.previous->sibling) = node.sibling;
    if (node.sibling != nullptr) node.sibling->previous = node.previous;
    if (below != nullptr) root_ = meld(root_, below);
  }

 private:
  static timer* meld(timer* a, timer* b) noexcept {
    if (b->when < a->when) std::swap(a, b);
    b->previous = a;
    b->sibling = a->child;
    if (a->child != nullptr) a->child->previous = b;
    a->child = b;
    return a;
  }

  // Two passes: it melds pairs from the left, then the pairs from the right. A loop, because the list may be long.
  static timer* meld_all(timer* first) noexcept {
    timer* pairs = nullptr;
    while (first != nullptr) {
      timer* const second = first->sibling;
      timer* const rest = second == nullptr ? nullptr : second->sibling;
      first->sibling = first->previous = nullptr;
      if (second != nullptr) second->sibling = second->previous = nullptr;
      timer* const pair = second == nullptr ? first : meld(first, second);
      pair->sibling = pairs;
      pairs = pair;
      first = rest;
    }
    timer* root = nullptr;
    while (pairs != nullptr) {
      timer* const following = std::exchange(pairs->sibling, nullptr);
      root = root == nullptr ? pairs : meld(root, pairs);
      pairs = following;
    }
    return root;
  }

  timer* root_ = nullptr;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
