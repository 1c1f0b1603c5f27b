// SPDX-License-Identifier: BSL-1.0
// Which requests go into the polled ring, and what their completions mean.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/polling.hpp>
#include <qio/engine/uring/completion.hpp>
#include <qio/engine/uring/entry.hpp>
#include <qio/engine/uring/polled_ring.hpp>
#include <qio/request/request.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace qio::inline QIO_CONFIGURATION::detail {

/// A request is in the polled ring exactly while its place is that ring. Whatever that ring refuses, the ordinary
/// one carries out.
class polled_path {
 public:
  polled_ring& ring() noexcept { return ring_; }
  const polled_ring& ring() const noexcept { return ring_; }

  bool is_open() const noexcept { return ring_.is_open(); }
  std::size_t in_flight() const noexcept { return ring_.in_flight(); }

  /// False if `r` cannot be polled, or if there is no place; then it belongs in the ordinary ring.
  QIO_NOINLINE bool submit(request& r, const registered_memory& memory) noexcept {
    if (!r.activity->is_polled(r.op)) return false;
    if (r.io.total() > most_polled_bytes || r.io.next().vector != nullptr) return false;
    if ((r.flags & platform::durable) != 0) return false;  // it takes more than one request to the device
    QIO_CHECK(r.op == opcode::read || r.op == opcode::write, "only transfers can be polled");
    io_uring_sqe* const entry = ring_.next_entry();
    if (entry == nullptr) return false;
    QIO_CHECK(!r.queued && r.place == uring_place::ring,
              "a request was put into the polled ring while it was elsewhere");
    r.place = uring_place::polled_ring;
    prepare(*entry, r, memory);
    entry->fd = r.handle;
    return true;
  }

  enum class outcome { finished, not_polled, unfinished };

  /// Calls `take(request&, outcome)` for each completion. The outcome is `finished`; `not_polled` if the ring refused a
  /// request that was canceled, which is finished, too; or `unfinished` if the ordinary ring must continue it.
  template <class Take>
  void take_completions(Take&& take) noexcept {
    ring_.take_completions([&](const io_uring_cqe& completion) {
      request& r = request_of(completion.user_data);
      QIO_CHECK(r.place == uring_place::polled_ring, "the polled ring completed a request that was not in it");
      r.place = uring_place::ring;
      take(r, outcome_of(r, completion.res));
    });
  }

  /// Takes back the entries that the kernel has not taken, and calls `take(request&)` for each.
  template <class Take>
  void take_back(Take&& take) noexcept {
    ring_.take_back([&](const io_uring_sqe& entry) {
      request& r = request_of(entry.user_data);
      r.place = uring_place::ring;
      take(r);
    });
  }

  /// The ring is closed, and `r`, which was in it, has ended.
  void lost(request& r) noexcept {
    QIO_CHECK(r.place == uring_place::polled_ring, "the polled ring lost a request that was not in it");
    r.place = uring_place::ring;
    ring_.lost_one();
  }

 private:
  // On Linux 6.1, a polled read that crosses the end of the file may return 0 although it has read something: the
  // kernel repeats it for the rest, and forgets the first part. So a short answer is not believed.
  static bool is_short_read(const request& r, int answer) noexcept {
    return r.op == opcode::read && answer >= 0 && static_cast<std::size_t>(answer) < r.io.rest_of_buffer().size;
  }

  static outcome outcome_of(request& r, int answer) noexcept {
    if (is_short_read(r, answer)) [[unlikely]]
      return outcome::unfinished;
    // A device that could be polled when the file was opened may have stopped supporting it, or may be full.
    const bool refused = answer == -EOPNOTSUPP || answer == -EAGAIN;
    if (!refused) return finishes(r, answer) ? outcome::finished : outcome::unfinished;
    if (answer == -EOPNOTSUPP) r.activity->polled = 0;
    if (!r.cancel_requested.load(std::memory_order_relaxed)) return outcome::unfinished;
    r.fail_as_canceled();
    return outcome::not_polled;
  }

  polled_ring ring_;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
