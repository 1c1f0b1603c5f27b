// SPDX-License-Identifier: BSL-1.0
// Lists whose links live in the elements, so that nothing is allocated while operations are in flight.
#pragma once

#include <atomic>
#include <utility>

namespace qio::detail {

/// First in, first out, for one thread. `Element` has a member `Element* next`, and is in one list at a time.
template <class Element>
class queue {
 public:
  queue() noexcept = default;
  queue(queue&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  queue& operator=(queue&&) = delete;

  bool empty() const noexcept { return first_ == nullptr; }

  void push(Element& element) noexcept {
    element.next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = &element;
    last_ = &element;
  }

  void push_front(Element& element) noexcept {
    element.next = first_;
    first_ = &element;
    if (last_ == nullptr) last_ = &element;
  }

  /// The first element, taken out; null if there is none.
  Element* pop() noexcept {
    Element* const element = first_;
    if (element == nullptr) return nullptr;
    first_ = element->next;
    if (first_ == nullptr) last_ = nullptr;
    return element;
  }

  /// Takes `element` out wherever it is, in time proportional to what is before it. False if it is not in the list.
  bool remove(Element& element) noexcept {
    Element* before = nullptr;
    for (Element* each = first_; each != nullptr; before = each, each = each->next) {
      if (each != &element) continue;
      (before == nullptr ? first_ : before->next) = element.next;
      if (last_ == &element) last_ = before;
      return true;
    }
    return false;
  }

 private:
  Element* first_ = nullptr;
  Element* last_ = nullptr;
};

/// What other threads hand in, and one thread takes out. Lock-free (a Treiber stack that is only ever emptied whole,
/// so it has no ABA problem).
template <class Element>
class arrivals {
 public:
  /// From any thread. True if it is the first since the last take(): the taker may be asleep, and must be woken.
  bool push(Element& element) noexcept {
    Element* head = head_.load(std::memory_order_relaxed);
    do element.next = head;
    while (!head_.compare_exchange_weak(head, &element, std::memory_order_release, std::memory_order_relaxed));
    return head == nullptr;
  }

  bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

  /// Moves everything to the end of `target`, in order of arrival.
  void take(queue<Element>& target) noexcept {
    Element* newest = head_.exchange(nullptr, std::memory_order_acquire);
    Element* oldest = nullptr;
    while (newest != nullptr) {
      Element* const following = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = following;
    }
    while (oldest != nullptr) {
      Element* const following = oldest->next;
      target.push(*oldest);
      oldest = following;
    }
  }

 private:
  std::atomic<Element*> head_ = nullptr;
};

}  // namespace qio::detail
