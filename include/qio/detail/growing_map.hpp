// SPDX-License-Identifier: BSL-1.0
// The mapping of a file that may grow, such that no view of it ever becomes invalid before the file is closed.
#pragma once

#include <qio/detail/bounds.hpp>
#include <qio/detail/platform.hpp>
#include <qio/result.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <mutex>
#include <utility>

namespace qio::detail {

/// More address space is reserved than the file needs. When that is used up, the whole file is mapped once more, and
/// the old mapping kept: both show the same pages. Each is twice as long as the one before, so there are few.
///
/// Where a mapping cannot be longer than the file, it is mapped once more when somebody wants a view of what was added,
/// or when the file has doubled; copies of what is not mapped yet are for the file's handle.
///
/// Any thread may ask for a range while another grows the file.
class growing_map {
 public:
  growing_map(platform::native_handle handle, bool writable, std::uint64_t reservation) noexcept
      : handle_(handle), writable_(writable), reservation_(reservation) {}

  bool writable() const noexcept { return writable_; }

  /// Where the file's byte `offset` is, if `bytes` from it on are part of the file as it was last seen; else null.
  std::byte* find(std::uint64_t offset, std::size_t bytes) const noexcept {
    const std::uint64_t size = known_size_.load(std::memory_order_acquire);
    if (offset > size || bytes > size - offset) return nullptr;
    return base_.load(std::memory_order_acquire) + offset;
  }

  /// Looks at the file's size anew, and maps what has been added, in any case what lies before `end`. Answers with the
  /// size.
  result<std::uint64_t> refresh(std::uint64_t end = 0) {
    const std::lock_guard lock(mutex_);
    return look_again(end);
  }

  /// Before the file is synced: each view hands over what was changed through it.
  result<void> flush() {
    const std::lock_guard lock(mutex_);
    for (const platform::mapping& each : mappings_)
      if (auto flushed = platform::flush(each); !flushed) return flushed;
    return BOOST_OUTCOME_V2_NAMESPACE::success();
  }

  /// Makes a system call that may change the size. No other thread learns the new size before it has returned: the
  /// kernel shows it first, and zeroes the rest of the old last page after that (since Linux 6.13,
  /// pagecache_isize_extended), which would undo what is copied there in between.
  template <class Call>
  auto resize_by(Call&& call) {
    const std::lock_guard lock(mutex_);
    auto answer = platform::resize_beneath(mappings_, handle_, std::forward<Call>(call));
    if (!mappings_.empty()) show_longest();
    static_cast<void>(look_again(0));  // if it fails, the next one who needs more will say so
    return answer;
  }

 private:
  static constexpr std::uint64_t least_reservation = std::uint64_t(1) << 30;

  result<std::uint64_t> look_again(std::uint64_t end) {
    const auto size = platform::size(handle_);
    if (!size) return size.error();
    const bool is_worth_it = platform::mapping::covers_growth || end > mapped_ || size.value() / 2 >= mapped_;
    if (base_.load(std::memory_order_relaxed) == nullptr || (size.value() > mapped_ && is_worth_it)) {
      if (auto mapped = map(size.value()); !mapped) return mapped.error();
    }
    known_size_.store(lesser_of(size.value(), mapped_), std::memory_order_release);
    return size.value();
  }

  result<void> map(std::uint64_t size) {
    const std::uint64_t page = platform::page_size();
    const std::uint64_t needed = greater_of(page, (size + page - 1) / page * page);
    const std::uint64_t wanted = greater_of(greater_of(2 * needed, reservation_), least_reservation);
    auto mapping = platform::mapping::map(handle_, wanted, writable_);
    // Address space may be limited (RLIMIT_AS): what the file needs now may fit where room to grow does not.
    if (!mapping && wanted > needed) mapping = platform::mapping::map(handle_, needed, writable_);
    if (!mapping) return mapping.error();
    mappings_.push_front(std::move(mapping).value());
    show_longest();
    return BOOST_OUTCOME_V2_NAMESPACE::success();
  }

  void show_longest() noexcept {
    mapped_ = mappings_.front().size();
    known_size_.store(lesser_of(known_size_.load(std::memory_order_relaxed), mapped_), std::memory_order_release);
    base_.store(mappings_.front().data(), std::memory_order_release);
  }

  platform::native_handle handle_;
  bool writable_;
  std::uint64_t reservation_;
  std::mutex mutex_;                               // of what follows, but for the atomics' readers
  std::forward_list<platform::mapping> mappings_;  // the longest first
  std::uint64_t mapped_ = 0;                       // bytes shown by the longest
  std::atomic<std::byte*> base_ = nullptr;         // its address
  std::atomic<std::uint64_t> known_size_ = 0;      // of the file; never more than mapped_
};

}  // namespace qio::detail
