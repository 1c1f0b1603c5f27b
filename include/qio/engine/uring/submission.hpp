// SPDX-License-Identifier: BSL-1.0
// What goes into the ordinary ring: requests, cancellations, and those that wait for a place.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/uring/entry.hpp>
#include <qio/engine/uring/places.hpp>
#include <qio/engine/uring/registered_files.hpp>
#include <qio/engine/uring/registered_memory.hpp>
#include <qio/request/request.hpp>
#include <qio/system/linux/ring.hpp>

namespace qio::inline QIO_CONFIGURATION::detail {

/// On the straight way, the fast path, a request goes into the ring after a single test. Whatever needs more than that
/// (a request that waits for a place, a cancellation, an entry that must listen again) closes the straight way until
/// the engine has handled it. So while the straight way is open, nothing waits here, and no request overtakes another.
class submission {
 public:
  // --- the straight way ---

  bool needs_attention() const noexcept { return straight_ == 0; }
  void call_attention() noexcept { straight_ = 0; }

  /// Opens it for `opcodes` (a bit for each), unless something waits.
  void open_straight_way(unsigned opcodes) noexcept { straight_ = backlog_.empty() && cancels_.empty() ? opcodes : 0; }

  /// Puts `r` into the ring. False if the straight way is closed for it, or if there is no place.
  bool try_straight(request& r, ring& into, places& room) noexcept {
    if (!goes_straight(r.op) || !room.has_free()) [[unlikely]]
      return false;
    QIO_CHECK(backlog_.empty() && cancels_.empty(), "a request overtook others that wait for a place in the ring");
    io_uring_sqe* const entry = into.next_entry();
    if (entry == nullptr) [[unlikely]]
      return false;
    hand_over(*entry, r, into, room);
    return true;
  }

  /// The same for transfers of one registered file, linked by `next`; calls `take_over(r)` for each. Returns the first
  /// that it did not put into the ring; null if there is none.
  template <class TakeOver>
  request* try_straight_all(request* first, ring& into, places& room, TakeOver&& take_over) noexcept {
    const int slot = first->activity->system.slot;
    if (slot < 0 || !goes_straight(first->op)) return first;
    const std::uint8_t flags = registered_files::flags_of(*first->activity);
    while (first != nullptr && room.has_free()) {
      io_uring_sqe* const entry = into.next_entry();
      if (entry == nullptr) [[unlikely]]
        break;
      request& r = *first;
      first = r.next;
      take_over(r);
      room.take();
      prepare_one_of_many(*entry, r, memory);
      entry->fd = slot;
      entry->flags = flags;
    }
    return first;
  }

  // --- requests that wait for a place ---

  void push_to_backlog(request& r) noexcept {
    QIO_CHECK(!r.queued && r.place == uring_place::ring,
              "a request was made to wait for a place in the ring while it was elsewhere");
    backlog_.push(r);
    r.queued = true;
    call_attention();
  }

  /// Removes and returns the first of them; null if there is none.
  request* pop_from_backlog() noexcept {
    request* const r = backlog_.pop();
    if (r != nullptr) r->queued = false;
    return r;
  }

  bool has_backlog() const noexcept { return !backlog_.empty(); }

  /// Moves the first of them to `entry`, and returns it.
  request& hand_over_first(io_uring_sqe& entry, ring& into, places& room) noexcept {
    request& r = *pop_from_backlog();
    room.leave_elsewhere();
    hand_over(entry, r, into, room);
    return r;
  }

  void remove_from_backlog(request& r) noexcept {
    QIO_CHECK(r.queued, "a request was removed from those that wait for a place, but did not wait");
    backlog_.remove(r);
    r.queued = false;
  }

  // --- cancellations ---

  /// `r` is in the ring, and is not being canceled yet.
  void push_cancel(request& r) noexcept {
    QIO_CHECK(r.is_held() && !r.queued, "a request was canceled that is not in the ring");
    cancels_.push(r);
    r.queued = true;
    call_attention();
  }

  bool has_cancels() const noexcept { return !cancels_.empty(); }

  void hand_over_first_cancel(io_uring_sqe& entry, places& room) noexcept {
    request& r = *cancels_.pop();
    r.queued = false;
    prepare_cancel(entry, r);
    room.take_for_cancel();
  }

  /// `r` is complete, and its cancellation has not gone to the kernel yet.
  void withdraw_cancel(request& r) noexcept {
    cancels_.remove(r);
    r.queued = false;
  }

  /// The ring is about to close, so nothing in it needs a cancellation any more.
  void drop_cancels() noexcept {
    while (request* const r = cancels_.pop()) r->queued = false;
  }

  // --- what entries may name instead of addresses and descriptors ---

  registered_memory memory;
  registered_files files;

 private:
  bool goes_straight(opcode op) const noexcept { return ((straight_ >> static_cast<unsigned>(op)) & 1) != 0; }

  void hand_over(io_uring_sqe& entry, const request& r, ring& into, places& room) noexcept {
    QIO_CHECK(!r.queued && r.place == uring_place::ring, "a request was put into the ring while it was elsewhere");
    room.take();
    prepare(entry, r, memory);
    files.name(entry, into, *r.activity, r.handle);
  }

  unsigned straight_ = 0;   // a bit for each opcode that goes straight into the ring
  queue<request> backlog_;  // waiting for a place in the ring
  queue<request> cancels_;  // in the ring, canceled when there is a place
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
