// SPDX-License-Identifier: BSL-1.0
// A ring whose completions nobody announces: they are found by asking the device.
#pragma once

#include <qio/detail/linux/registered_memory.hpp>
#include <qio/detail/linux/ring.hpp>
#include <qio/detail/linux/uring_setup.hpp>
#include <qio/engine/polling.hpp>
#include <qio/explanation.hpp>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>

// What liburing 2.3 does not name. Linux 6.13.
#ifndef IORING_SETUP_HYBRID_IOPOLL
#define IORING_SETUP_HYBRID_IOPOLL (1U << 17)
#endif

namespace qio::detail {

/// Takes direct reads and writes only; anything else it refuses (EINVAL), a cancellation too. Stands beside an ordinary
/// ring, which does the rest.
class polled_ring {
 public:
  /// Of the ordinary ring's size. Where it cannot be had, explain() says why.
  void set_up(polling wanted, unsigned entries) {
    wanted_ = wanted;
    if (wanted == polling::off) return;
    int made = wanted == polling::hybrid ? open_ring(ring_, entries, IORING_SETUP_IOPOLL | IORING_SETUP_HYBRID_IOPOLL)
                                         : -EINVAL;
    if (made == -EINVAL) made = open_ring(ring_, entries, IORING_SETUP_IOPOLL);
    if (made < 0) refusal_ = "no polled ring can be set up: " + platform::system_error(-made).message();
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
  int register_memory(std::span<std::byte> memory) { return is_open() ? registered_memory::tell(ring_, memory) : 0; }

  void forget_memory() noexcept {
    if (is_open()) registered_memory::tell_no_more(ring_);
  }

  /// A place for one request more, which ask() then hands to the kernel; null if there is none at present.
  io_uring_sqe* next_entry() noexcept {
    if (in_flight_ == ring_.completion_capacity()) return nullptr;
    io_uring_sqe* const entry = ring_.next_entry();
    if (entry != nullptr) ++in_flight_;
    return entry;
  }

  std::size_t in_flight() const noexcept { return in_flight_; }

  /// Asks the devices of what is in flight: once, or (`insist`) until something is over. Not negative, or a negated
  /// system error.
  int ask(bool insist) noexcept { return ring_.enter(insist ? 1 : 0); }

  template <class Take>
  void take_completions(Take&& take) noexcept {
    ring_.take_completions([&](const io_uring_cqe& completion) {
      --in_flight_;
      take(completion);
    });
  }

  void explain(explanation& out) const {
    if (wanted_ == polling::off)
      out.add("polling", "off", "not asked for");
    else if (!is_open())
      out.add("polling", "off", refusal_);
    else if (wanted_ == polling::hybrid && !ring_.has(IORING_SETUP_HYBRID_IOPOLL))
      out.add("polling", "busy", "this kernel has no hybrid polling; Linux 6.13 has it");
    else
      out.add("polling", wanted_ == polling::hybrid ? "hybrid" : "busy");
  }

 private:
  ring ring_;
  std::size_t in_flight_ = 0;
  polling wanted_ = polling::off;
  std::string refusal_;
};

}  // namespace qio::detail
