// SPDX-License-Identifier: BSL-1.0
// What becomes of the requests in a ring that the kernel no longer lets the process enter.
#pragma once

#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/uring/ending.hpp>
#include <qio/engine/uring/entry.hpp>
#include <qio/engine/uring/gate.hpp>
#include <qio/engine/uring/places.hpp>
#include <qio/engine/uring/polled_path.hpp>
#include <qio/engine/uring/setup.hpp>
#include <qio/engine/uring/submission.hpp>
#include <qio/engine/uring/waiter.hpp>
#include <qio/engine/uring/wake_event.hpp>
#include <qio/request/request.hpp>
#include <qio/system/linux/ring.hpp>

#include <cerrno>
#include <cstddef>

namespace qio::inline QIO_CONFIGURATION::detail {

/// The ring that is lost, the polled one beside it, and what refers to requests in them. First, take_back_untaken();
/// then the rings are closed, and fail_taken() completes the rest. Afterwards no request is in them.
struct lost_ring {
  ring& main;
  polled_path& polled;
  submission& way;
  places& room;
  waiter& waits;
  wake_event& wakes;

  /// How many requests the kernel has taken.
  std::size_t taken() const noexcept { return room.taken() + polled.in_flight(); }

  /// Moves the requests that the kernel has not taken to the backlog.
  void take_back_untaken() noexcept {
    main.take_back([this](const io_uring_sqe& entry) {
      if (entry.user_data == cancel_tag) return room.give_back_cancel();
      if (entry.user_data == nap_tag) return waits.nap_ended();
      if (entry.user_data == wake_tag) return wakes.ignore();
      request& r = request_of(entry.user_data);
      leave(r);
      if (r.queued) way.withdraw_cancel(r);
      room.enter_elsewhere();
      way.push_to_backlog(r);
    });
    if (polled.is_open()) polled.take_back([this](request& r) { way.push_to_backlog(r); });
    way.drop_cancels();
  }

  /// Closes both rings, and returns when the kernel no longer uses the memory of what it had taken.
  void close() noexcept {
    if (!close_and_wait({&main, &polled.ring().queues()}))
      fail_ring(
          "the kernel refuses io_uring_enter and io_uring_register while operations are in flight, so it is unknown "
          "how long it uses their memory; install a seccomp filter only while the process's contexts are idle");
  }

  /// Completes the requests that the kernel had taken: those of `activities` that are with neither the engine nor its
  /// workers.
  void fail_taken(list<file_activity>* activities, const ring_setup& setup, const error& reason,
                  completed_requests& completed) noexcept {
    queue<request> lost;
    if (activities != nullptr)
      activities->for_each([&](file_activity& file) {
        file.held.for_each([&](request& r) {
          // What a worker has is its own; it may be changing `queued`.
          if (setup.has(r.op) && r.place != uring_place::workers && !r.queued && !r.is_held_back()) lost.push(r);
        });
      });
    while (request* const r = lost.pop()) {
      if (r->place == uring_place::polled_ring) {
        polled.lost(*r);
        room.leave_elsewhere();
      } else {
        leave(*r);
      }
      r->failure = error::of_transfer(reason.code(), r->io.transferred());
      // The error that the kernel would have reported is lost, and the next sync would not report it.
      if (r->op == opcode::sync || r->is_durable_write()) {
        r->activity->sync_failure.note(platform::system_error(EIO));
        fail_what_overlaps(*r->activity);
      }
      complete(*r, completed);
    }
    if (taken() != 0) fail_ring("a ring was lost with requests that only the kernel knew of");
  }

 private:
  void leave(const request& r) noexcept {
    room.give_back();
    if (waits.may_be_awake()) waits.completed(r);
  }
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
