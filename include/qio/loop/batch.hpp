// SPDX-License-Identifier: BSL-1.0
// Several transfers of one file that are one operation.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <system_error>

QIO_BEGIN_NAMESPACE
namespace detail {

class batch;
class batch_place;

/// One transfer of a batch, as an engine sees it. `needs_no_engine` is true as soon as it is complete.
struct batch_part : request {
  batch* owner;
  batch_place* place;
  result<std::size_t>* answer;
  batch_part* following;
};

/// Room for a batch_part in the caller's read_request or write_request, so that a batch allocates nothing. It is in use
/// as long as the operation is. A copy is room of its own.
class batch_place {
 public:
  batch_place() noexcept {}
  batch_place(const batch_place&) noexcept {}
  batch_place& operator=(const batch_place&) noexcept {
    QIO_CHECK_AT(!is_used_.is_set(), "a read_request or write_request was assigned to while a batch used it", caller());
    return *this;
  }
  ~batch_place() {
    QIO_CHECK_AT(!is_used_.is_set(),
                 "a read_request or write_request was destroyed (or moved by its container) while a batch used it: the "
                 "span must outlive the operation",
                 caller());
  }

  batch_part& use() noexcept {
    QIO_CHECK_AT(!is_used_.is_set(), "a read_request or write_request was given to a batch while another one used it",
                 caller());
    is_used_.set(true);
    auto* const made = ::new (static_cast<void*>(room_)) batch_part;
    made->place = this;
    return *made;
  }
  static void leave(batch_part& part) noexcept {
    batch_place& left = *part.place;
    part.~batch_part();
    left.is_used_.set(false);
  }

 private:
  alignas(batch_part) std::byte room_[sizeof(batch_part)];
  QIO_NO_UNIQUE_ADDRESS checked_flag is_used_;
};

/// The base of an operation that is a batch. Its own request never goes to an engine: its parts do, and the last of
/// them that completes completes it. If `failure` exists, nothing was started.
class batch : public request {
 public:
  batch() noexcept = default;
  ~batch() { leave(); }

  /// Makes a part of each request: `describe(part, request)`. The requests must stay where they are until conclude().
  template <class Request, class Describe>
  void take(std::span<Request> requests, Describe&& describe) noexcept {
    batch_part** end = &first_;
    for (Request& each : requests) {
      batch_part& part = each.place.use();
      part.owner = this;
      part.answer = &each.answer;
      part.completed = &completed_one;
      describe(part, each);
      unfinished_ += part.needs_no_engine ? 0u : 1u;
      *end = &part;
      end = &part.following;
    }
    *end = nullptr;
  }

  /// Parts that are not complete.
  std::size_t unfinished() const noexcept { return unfinished_; }

  /// `action(part)` for each part that is not complete. It may complete the part, but not the batch.
  template <class Action>
  void for_each_unfinished(Action&& action) noexcept {
    for (batch_part* each = first_; each != nullptr; each = each->following)
      if (!each->needs_no_engine) action(*each);
  }

  void finished(batch_part& part) noexcept {
    QIO_CHECK(!part.needs_no_engine && unfinished_ != 0, "bug in qio: a part of a batch completed twice");
    part.needs_no_engine = true;
    --unfinished_;
  }

  /// The first part, after bringing all into the order of their offsets. Null if there is none.
  batch_part* in_order() noexcept {
    if (!is_in_order()) sort();
    return first_;
  }

  /// Two parts that move the same byte; null if there are none. Brings the parts into the order of their offsets.
  struct two_parts {
    const batch_part* first = nullptr;
    const batch_part* second = nullptr;
  };
  two_parts find_overlap() noexcept {
    two_parts found;
    const batch_part* farthest = nullptr;
    for (const batch_part* each = in_order(); each != nullptr; each = each->following) {
      if (each->io.total() == 0) continue;
      if (farthest != nullptr && each->io.offset() < end_of(*farthest)) return {farthest, each};
      if (farthest == nullptr || end_of(*each) > end_of(*farthest)) farthest = each;
    }
    return found;
  }

  /// Nothing is in flight any more: writes the answers, and returns how many are errors.
  result<std::size_t> conclude(bool timed_out) noexcept {
    if (failed()) failure = in_time(failure, timed_out);
    std::size_t failures = 0;
    for (batch_part* each = first_; each != nullptr; each = each->following) {
      if (!failed() && !each->failed()) [[likely]] {
        *each->answer = each->io.transferred();
        continue;
      }
      *each->answer = failed() ? failure : in_time(each->failure, timed_out);
      ++failures;
    }
    leave();
    if (failed()) return failure;
    return failures;
  }

 private:
  static void completed_one(request& r) noexcept {
    auto& part = static_cast<batch_part&>(r);
    batch& all = *part.owner;
    all.finished(part);
    if (all.unfinished_ == 0) all.completed(all);
  }

  // What was canceled because the deadline had passed has timed out.
  static error in_time(const error& failed, bool timed_out) noexcept {
    if (!timed_out || failed != std::errc::operation_canceled) return failed;
    return error::of_transfer(std::make_error_code(std::errc::timed_out), failed.transferred());
  }

  void leave() noexcept {
    for (batch_part* each = first_; each != nullptr;) {
      batch_part& left = *each;
      each = each->following;
      batch_place::leave(left);
    }
    first_ = nullptr;
  }

  static std::uint64_t end_of(const batch_part& part) noexcept {
    const std::uint64_t end = part.io.offset() + part.io.total();
    return end < part.io.offset() ? ~std::uint64_t(0) : end;
  }

  bool is_in_order() const noexcept {
    std::uint64_t last = 0;
    for (const batch_part* each = first_; each != nullptr; each = each->following) {
      if (each->io.offset() < last) return false;
      last = each->io.offset();
    }
    return true;
  }

  static batch_part* merged(batch_part* a, batch_part* b) noexcept {
    batch_part* first = nullptr;
    batch_part** end = &first;
    while (a != nullptr && b != nullptr) {
      batch_part*& lower = b->io.offset() < a->io.offset() ? b : a;
      *end = lower;
      end = &lower->following;
      lower = lower->following;
    }
    *end = a != nullptr ? a : b;
    return first;
  }

  // Merge sort of a list, from the bottom up: sorted[n] holds 2^n parts or none.
  void sort() noexcept {
    constexpr unsigned most = 48;
    batch_part* sorted[most] = {};
    while (first_ != nullptr) {
      batch_part* some = first_;
      first_ = first_->following;
      some->following = nullptr;
      unsigned level = 0;
      for (; sorted[level] != nullptr; ++level) {
        some = merged(sorted[level], some);
        sorted[level] = nullptr;
      }
      sorted[level] = some;
    }
    for (batch_part* const each : sorted) first_ = merged(each, first_);
  }

  batch_part* first_ = nullptr;
  std::size_t unfinished_ = 0;
};

}  // namespace detail
QIO_END_NAMESPACE
