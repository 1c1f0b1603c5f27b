// SPDX-License-Identifier: BSL-1.0
// Lists whose links live in the elements, so that nothing is allocated while operations are in flight.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>

#include <atomic>

QIO_BEGIN_NAMESPACE
namespace detail {

/// The base class of members of a `list`.
struct list_hook {
  constexpr list_hook() noexcept = default;
  list_hook(const list_hook&) = delete;
  list_hook& operator=(const list_hook&) = delete;

  bool is_linked() const noexcept { return after != nullptr; }

  void unlink() noexcept {
    QIO_CHECK(is_linked(), "an element was removed that is in no list");
    before->after = after;
    after->before = before;
    after = nullptr;
  }

  list_hook* before = nullptr;
  list_hook* after = nullptr;
};

/// In no particular order. A member can unlink itself without access to the list.
template <class Member>
class list {
 public:
  constexpr list() noexcept { ends_.before = ends_.after = &ends_; }

  void insert(list_hook& member) noexcept {
    QIO_CHECK(!member.is_linked(), "an element was added that is already in a list");
    member.before = &ends_;
    member.after = ends_.after;
    ends_.after->before = &member;
    ends_.after = &member;
  }

  /// One of them; null if there is none.
  Member* any() noexcept { return ends_.after == &ends_ ? nullptr : static_cast<Member*>(ends_.after); }
  /// Any of them; null if it is empty.
  Member* first() noexcept { return ends_.after == &ends_ ? nullptr : static_cast<Member*>(ends_.after); }

  template <class Action>
  void for_each(Action&& action) noexcept {
    for (list_hook* each = ends_.after; each != &ends_; each = each->after) action(static_cast<Member&>(*each));
  }

  /// Whether `is_so(member)` is true for all members, or for `count` of them.
  template <class Predicate>
  bool all_of_first(unsigned count, Predicate&& is_so) const noexcept {
    for (const list_hook* each = ends_.after; each != &ends_ && count != 0; each = each->after, --count)
      if (!is_so(static_cast<const Member&>(*each))) return false;
    return true;
  }

  /// Forgets the members, whose links may be wrong.
  void renew() noexcept { ends_.before = ends_.after = &ends_; }

  void clear() noexcept {
    while (ends_.after != &ends_) ends_.after->unlink();
  }

 private:
  list_hook ends_;  // the list is a ring through it
};

/// First in, first out, for one thread. `Element` has members `Element* next` and `Element* previous`, and is in one
/// queue at a time.
template <class Element>
class queue {
 public:
  queue() noexcept = default;
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;

  bool empty() const noexcept { return first_ == nullptr; }
  bool has_several() const noexcept { return first_ != last_; }
  /// Null if it is empty.
  Element* first() const noexcept { return first_; }
  /// Null if it is empty.
  Element* last() const noexcept { return last_; }

  void push(Element& element) noexcept {
    element.next = nullptr;
    element.previous = last_;
    (last_ == nullptr ? first_ : last_->next) = &element;
    last_ = &element;
  }

  /// In front of one that it has.
  void insert(Element& element, Element& behind) noexcept {
    element.previous = behind.previous;
    element.next = &behind;
    (behind.previous == nullptr ? first_ : behind.previous->next) = &element;
    behind.previous = &element;
  }

  /// Removes and returns the first element; null if there is none.
  Element* pop() noexcept {
    Element* const element = first_;
    if (element == nullptr) return nullptr;
    first_ = element->next;
    (first_ == nullptr ? last_ : first_->previous) = nullptr;
    return element;
  }

  /// Removes `element`, which must be in this queue.
  void remove(Element& element) noexcept {
    (element.previous == nullptr ? first_ : element.previous->next) = element.next;
    (element.next == nullptr ? last_ : element.next->previous) = element.previous;
  }

 private:
  Element* first_ = nullptr;
  Element* last_ = nullptr;
};

/// Elements that any thread pushes and one thread takes. Lock-free (a Treiber stack that is only ever emptied whole, so
/// it has no ABA problem).
template <class Element>
class arrivals {
 public:
  /// From any thread. True if it is the first since the last take(): the taker may be asleep and must be woken.
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

}  // namespace detail
QIO_END_NAMESPACE
