// SPDX-License-Identifier: BSL-1.0
// The kernel's interface for asynchronous direct transfers before io_uring: io_submit(2) and its relatives, and the
// completions in memory that the process shares with the kernel. Links nothing.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/system/posix/process.hpp>

#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// From include/uapi/linux/aio_abi.h; older headers lack it.
inline constexpr std::uint16_t aio_poll = 5;  // IOCB_CMD_POLL, Linux 4.19

/// A context of Linux AIO (io_setup(2)). For one thread at a time.
///
/// Entries are gathered here, and handed over together. The kernel copies an entry while io_submit(2) takes it, and
/// refers to its memory no more. Completions are taken from shared memory (fs/aio.c, struct aio_ring).
class aio_queue {
 public:
  aio_queue() noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i) list_[i] = &entries_[i];
  }
  aio_queue(const aio_queue&) = delete;
  aio_queue& operator=(const aio_queue&) = delete;
  ~aio_queue() { close(); }

  /// For so many entries in the kernel at a time. Returns 0 or a negated system error: EAGAIN if all processes together
  /// would have more than /proc/sys/fs/aio-max-nr, EOPNOTSUPP if the shared memory has another layout than Linux has
  /// had since 2.6. Child processes do not inherit the memory, by which they could write completions for their parent.
  int open(unsigned entries) noexcept {
    const platform::without_fork none;
    aio_context_t made = 0;
    if (::syscall(__NR_io_setup, entries, &made) != 0) return -errno;
    context_ = made;
    auto* const found = reinterpret_cast<shared*>(static_cast<std::uintptr_t>(made));
    int answer = 0;
    if (found->magic != shared::known_magic || found->incompatible_features != 0) answer = -EOPNOTSUPP;
    // The kernel rounds up to whole pages itself, as madvise(2) does.
    else if (::madvise(found, sizeof(shared) + found->entries * sizeof(io_event), MADV_DONTFORK) != 0)
      answer = -errno;
    shared_ = found;
    if (answer < 0) close();
    return answer;
  }

  /// Waits until the kernel has completed every transfer.
  void close() noexcept {
    if (is_open()) static_cast<void>(::syscall(__NR_io_destroy, std::exchange(context_, 0)));
  }

  bool is_open() const noexcept { return context_ != 0; }

  // --- submission ---

  static constexpr unsigned capacity = 16;

  unsigned pending() const noexcept { return end_ - first_; }
  std::span<const iocb> pending_entries() const noexcept { return std::span(entries_).subspan(first_, pending()); }
  bool is_full() const noexcept { return end_ == capacity; }

  /// A zeroed entry, which the next submit() hands over. There must be room.
  iocb& next_entry() noexcept {
    QIO_CHECK(!is_full(), "more was submitted to Linux AIO at once than it has entries");
    return entries_[end_++] = iocb{};
  }

  /// Hands over pending entries. Returns how many the kernel took, or a negated system error if it refuses the first.
  int submit() noexcept {
    QIO_CHECK(pending() != 0, "nothing was submitted to Linux AIO");
    const long taken = ::syscall(__NR_io_submit, context_, static_cast<long>(pending()), &list_[first_]);
    if (taken < 0) return -errno;
    QIO_CHECK(static_cast<unsigned long>(taken) <= pending(), "the kernel took more entries than there were");
    first_ += static_cast<unsigned>(taken);
    if (first_ == end_) first_ = end_ = 0;
    return static_cast<int>(taken);
  }

  /// Takes the first pending entry back, and returns its user data.
  std::uint64_t take_back() noexcept {
    QIO_CHECK(pending() != 0, "an entry was taken back from Linux AIO, but there was none");
    const std::uint64_t data = entries_[first_++].aio_data;
    if (first_ == end_) first_ = end_ = 0;
    return data;
  }

  // --- completion ---

  bool has_completions() const noexcept {
    return of(shared_->head).load(std::memory_order_relaxed) != of(shared_->tail).load(std::memory_order_acquire);
  }

  /// As the system call takes it on all architectures.
  struct time_limit {
    long tv_sec, tv_nsec;
  };

  /// Waits until something has completed, or the time has passed; without a limit if it is null. take_completions()
  /// must follow. Returns 0 or a negated system error.
  int wait(const time_limit* limit) noexcept {
    const long taken =
        ::syscall(__NR_io_getevents, context_, 1L, static_cast<long>(events_.size()), events_.data(), limit);
    if (taken < 0) return -errno;
    taken_ = static_cast<unsigned>(taken);
    return 0;
  }

  /// Calls `take(user data, result)` for each completion.
  template <class Take>
  void take_completions(Take&& take) noexcept {
    for (unsigned i = 0, count = std::exchange(taken_, 0); i < count; ++i) take(events_[i].data, events_[i].res);
    unsigned head = of(shared_->head).load(std::memory_order_relaxed);
    const unsigned tail = of(shared_->tail).load(std::memory_order_acquire);
    if (head == tail) return;
    const io_event* const events = reinterpret_cast<const io_event*>(shared_ + 1);
    do {
      const io_event each = events[head];
      head = head + 1 == shared_->entries ? 0 : head + 1;
      take(each.data, each.res);
    } while (head != tail);
    of(shared_->head).store(head, std::memory_order_release);
  }

 private:
  /// What the kernel shares. The events follow.
  struct shared {
    static constexpr std::uint32_t known_magic = 0xa10a10a1;

    std::uint32_t number, entries, head, tail, magic, compatible_features, incompatible_features, header_bytes;
  };
  static std::atomic_ref<std::uint32_t> of(std::uint32_t& shared) noexcept { return std::atomic_ref(shared); }

  aio_context_t context_ = 0;
  shared* shared_ = nullptr;
  unsigned first_ = 0, end_ = 0;  // of entries_ that are pending
  unsigned taken_ = 0;            // of events_, by wait()
  std::array<iocb*, capacity> list_;
  std::array<iocb, capacity> entries_;
  std::array<io_event, 16> events_;
};

}  // namespace detail
QIO_END_NAMESPACE
