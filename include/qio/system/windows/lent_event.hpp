// SPDX-License-Identifier: BSL-1.0
// The events with which threads wait for their blocking transfers.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/calls.hpp>

#include <array>
#include <atomic>
#include <cstddef>

namespace qio::inline QIO_CONFIGURATION::platform {

/// An event, lent for the duration of one blocking transfer and then reused by the next, on any thread. So there are as
/// many events as there have been blocking transfers at the same time. Up to 64 are kept until the process ends; the
/// others are closed.
///
/// One event per thread would need a thread_local object to close it. Where thread_local is emulated, as on Windows,
/// GCC's library frees such an object's memory before it calls the destructor (GCC bug 80816; observed with GCC 12).
class lent_event {
 public:
  lent_event() noexcept : event_(take()) {}
  lent_event(const lent_event&) = delete;
  lent_event& operator=(const lent_event&) = delete;
  ~lent_event() {
    if (event_ != nullptr) give_back(event_);
  }

  /// Null if none could be created.
  HANDLE get() const noexcept { return event_; }

 private:
  static constexpr std::size_t places = 64;
  static inline constinit std::array<std::atomic<HANDLE>, places> spare{};

  /// The place where a thread looks first, so that it usually gets the same event. Eight consecutive threads, whose IDs
  /// are multiples of four, start in eight different cache lines.
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

}  // namespace qio::inline QIO_CONFIGURATION::platform
