// SPDX-License-Identifier: BSL-1.0
// The events by which threads wait for their blocking transfers.
#pragma once

#include <qio/detail/windows/calls.hpp>

#include <array>
#include <atomic>
#include <cstddef>

namespace qio::platform {

/// An event, for as long as one blocking transfer takes. Then it is kept for the next one, of whatever thread: so there
/// are about as many as transfers have been blocking at once, and they are left to the end of the process.
///
/// An event for each thread would be a thread_local object that closes it, whose memory GCC's library frees before it
/// calls the destructor where thread_local is emulated, as for Windows (GCC's bug 80816; tried with GCC 12).
class lent_event {
 public:
  lent_event() noexcept : event_(take()) {}
  lent_event(const lent_event&) = delete;
  lent_event& operator=(const lent_event&) = delete;
  ~lent_event() {
    if (event_ != nullptr) give_back(event_);
  }

  /// Null where none can be had.
  HANDLE get() const noexcept { return event_; }

 private:
  static constexpr std::size_t places = 64;
  static inline constinit std::array<std::atomic<HANDLE>, places> spare{};

  /// A thread looks here first, so that it mostly has the same event. Eight threads in a row, whose numbers are four
  /// apart, look into eight cache lines.
  static std::size_t first_place() noexcept {
    const std::size_t number = ::GetCurrentThreadId() / 4;
    return number * 8 + number / 8;
  }

  static HANDLE take() noexcept {
    const std::size_t first = first_place();
    for (std::size_t i = 0; i < places; ++i) {
      std::atomic<HANDLE>& place = spare[(first + i) % places];
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      if (const HANDLE found = place.exchange(nullptr, std::memory_order_acquire); found != nullptr) return found;
    }
    return calls::CreateEventW(nullptr, TRUE, FALSE, nullptr);
  }

  static void give_back(HANDLE event) noexcept {
    const std::size_t first = first_place();
    for (std::size_t i = 0; i < places; ++i) {
      HANDLE nothing = nullptr;
      if (spare[(first + i) % places].compare_exchange_strong(nothing, event, std::memory_order_release,
                                                              std::memory_order_relaxed))
        return;
    }
    calls::CloseHandle(event);
  }

  HANDLE event_;
};

}  // namespace qio::platform
