// SPDX-License-Identifier: BSL-1.0
// A ring whose completions are found by polling the device, without interrupts.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/polling.hpp>
#include <qio/engine/uring/registered_memory.hpp>
#include <qio/engine/uring/setup.hpp>
#include <qio/explanation.hpp>
#include <qio/options.hpp>
#include <qio/system/linux/ring.hpp>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>

// Missing from liburing 2.3. Linux 6.13.
#ifndef IORING_SETUP_HYBRID_IOPOLL
#define IORING_SETUP_HYBRID_IOPOLL (1U << 17)
#endif

namespace qio::inline QIO_CONFIGURATION::detail {

/// Takes only direct reads and writes, and refuses anything else (EINVAL), cancellations included. An ordinary ring
/// next to it does the rest.
class polled_ring {
 public:
  /// As large as the ordinary ring. If it is unavailable, explain() says why.
  void set_up(polling wanted, unsigned entries) {
    wanted_ = wanted;
    if (wanted == polling::off) return;
    int made = wanted == polling::hybrid ? open_ring(ring_, entries, IORING_SETUP_IOPOLL | IORING_SETUP_HYBRID_IOPOLL)
                                         : -EINVAL;
    if (made == -EINVAL) made = open_ring(ring_, entries, IORING_SETUP_IOPOLL);
    if (made < 0) refusal_ = "the polled ring could not be set up: " + platform::system_error(-made).message();
  }

  bool is_open() const noexcept { return ring_.is_open(); }

  void bind_to_this_thread() noexcept {
    if (!is_open()) return;
    if (ring_.has(IORING_SETUP_R_DISABLED)) enable_ring(ring_);
    ring_.register_descriptor();
  }
  void forget_descriptor() noexcept { ring_.forget_descriptor(); }
  void close() noexcept { ring_.close(); }

  /// 0, or a negated system error.
  int register_memory(std::span<std::byte> memory) {
    return is_open() ? registered_memory::register_with(ring_, memory) : 0;
  }

  void forget_memory() noexcept {
    if (is_open()) registered_memory::unregister_from(ring_);
  }

  /// An entry for one more request, which ask() hands to the kernel. Null if there is no room now.
  io_uring_sqe* next_entry() noexcept {
    if (in_flight_ == ring_.completion_capacity()) return nullptr;
    io_uring_sqe* const entry = ring_.next_entry();
    if (entry != nullptr) ++in_flight_;
    return entry;
  }

  std::size_t in_flight() const noexcept { return in_flight_; }

  /// Polls the devices of the requests in flight: once, or (`insist`) until one completes. Returns a nonnegative
  /// number, or a negated system error.
  int ask(bool insist) noexcept { return ring_.enter(insist ? 1 : 0); }

  template <class Take>
  void take_completions(Take&& take) noexcept {
    ring_.take_completions([&](const io_uring_cqe& completion) {
      --in_flight_;
      take(completion);
    });
  }

  /// Takes back the entries that the kernel has not taken, and calls `take(entry)` for each.
  template <class Take>
  void take_back(Take&& take) noexcept {
    ring_.take_back([&](const io_uring_sqe& entry) {
      --in_flight_;
      take(entry);
    });
  }

  /// The ring was closed, which ended one request that was in flight.
  void lost_one() noexcept {
    QIO_CHECK(!is_open() && in_flight_ != 0, "the polled ring dropped a request that was not in it");
    --in_flight_;
  }

  ring& queues() noexcept { return ring_; }

  void explain(explanation& out) const {
    if (wanted_ == polling::off)
      out.add("polling", "off", "not requested");
    else if (!is_open())
      out.add("polling", "off", refusal_);
    else if (wanted_ == polling::hybrid && !ring_.has(IORING_SETUP_HYBRID_IOPOLL))
      out.add("polling", "busy", "this kernel lacks hybrid polling; it needs Linux 6.13");
    else
      out.add("polling", wanted_ == polling::hybrid ? "hybrid" : "busy");
  }

 private:
  ring ring_;
  std::size_t in_flight_ = 0;
  polling wanted_ = polling::off;
  std::string refusal_;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
