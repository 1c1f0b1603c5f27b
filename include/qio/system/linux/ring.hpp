// SPDX-License-Identifier: BSL-1.0
// The kernel's io_uring interface: three system calls, and two queues in shared memory. Uses only the kernel's header
// from liburing; links nothing.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/system/posix/process.hpp>

#include <fcntl.h>
#include <liburing/compat.h>
#include <liburing/io_uring.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>

// Missing from liburing 2.3. Linux 6.6: entries are used in ring order, without an array of indices.
#ifndef IORING_SETUP_NO_SQARRAY
#define IORING_SETUP_NO_SQARRAY (1U << 16)
#endif

QIO_BEGIN_NAMESPACE
namespace detail {

/// An io_uring instance. For one thread at a time; with IORING_SETUP_SINGLE_ISSUER, only for the thread that enabled
/// it.
///
/// The protocol (io_uring(7)): the consumer of a queue advances its head, the producer its tail. Each publishes its own
/// index with a release store, and reads the other's with an acquire load. The queues never hold more entries than
/// their capacity.
class ring {
 public:
  ring() noexcept = default;
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() { close(); }

  /// Calls io_uring_setup(2) and maps the queues. Child processes inherit neither the mapping nor the descriptor, by
  /// which it could be made again: by writing to it, they would submit for their parent, with the parent's credentials.
  /// Returns 0 or a negated system error; on error, nothing has changed.
  int open(unsigned entries, io_uring_params parameters) noexcept {
    const int mapped = open_and_map(entries, parameters);
    if (mapped < 0) close();
    return mapped;
  }

  void close() noexcept {
    if (!is_open()) return;
    unregister_descriptor();
    if (queues_ != nullptr) ::munmap(std::exchange(queues_, nullptr), queues_bytes_);
    if (entries_ != nullptr) ::munmap(std::exchange(entries_, nullptr), entries_bytes());
    descriptor_.close();
    entered_ = -1;
  }

  bool is_open() const noexcept { return descriptor_.value() >= 0; }
  bool has(unsigned setup_flag) const noexcept { return (flags_ & setup_flag) != 0; }
  bool offers(unsigned feature) const noexcept { return (features_ & feature) != 0; }
  unsigned submission_capacity() const noexcept { return submission_mask_ + 1; }
  unsigned completion_capacity() const noexcept { return completion_mask_ + 1; }

  /// Calls io_uring_register(2). Returns its result, which is not negative, or a negated system error.
  int configure(unsigned operation, void* argument, unsigned count) noexcept {
    const long answer = ::syscall(__NR_io_uring_register, descriptor_.value(), operation, argument, count);
    return answer < 0 ? -errno : static_cast<int>(answer);
  }

  /// Lets the kernel find the ring without a lookup in the process's descriptor table (Linux 5.18). The registered
  /// number is an index into a table of the calling thread; on another thread, it refers to another ring or none. On
  /// failure, nothing changes.
  void register_descriptor() noexcept {
    io_uring_rsrc_update update{};
    update.offset = ~0u;  // any free index
    update.data = static_cast<std::uint32_t>(descriptor_.value());
    if (configure(IORING_REGISTER_RING_FDS, &update, 1) != 1) return;
    entered_ = static_cast<int>(update.offset);
    enter_flags_ |= IORING_ENTER_REGISTERED_RING;
  }

  /// Undoes register_descriptor(). False if the kernel refuses: then the ring exists until this thread ends, even if
  /// closed.
  bool unregister_descriptor() noexcept {
    if ((enter_flags_ & IORING_ENTER_REGISTERED_RING) == 0) return true;
    io_uring_rsrc_update update{};
    update.offset = static_cast<std::uint32_t>(entered_);
    if (configure(IORING_UNREGISTER_RING_FDS, &update, 1) != 1) return false;
    forget_descriptor();
    return true;
  }

  /// For a thread other than the one that called register_descriptor(): stops using the index, which the kernel drops
  /// when that thread ends.
  void forget_descriptor() noexcept {
    entered_ = descriptor_.value();
    enter_flags_ &= ~IORING_ENTER_REGISTERED_RING;
  }

  // --- submissions ---

  /// Returns a zeroed entry of the submission queue, or null if the queue is full. The next enter() hands it to the
  /// kernel. Always inlined: every transfer uses it, and in a large program GCC would not inline it.
  QIO_ALWAYS_INLINE io_uring_sqe* next_entry() noexcept {
    if (tail_ == full_) [[unlikely]] {
      full_ = acquire(*submission_head_) + submission_capacity();
      if (tail_ == full_) return nullptr;
    }
    io_uring_sqe* const entry = &entries_[tail_++ & submission_mask_];
    *entry = io_uring_sqe{};
    return entry;
  }

  /// Undoes the last next_entry(), if the ring has not been entered since.
  void return_entry() noexcept {
    QIO_CHECK(pending() != 0, "an entry was returned that the kernel has taken");
    --tail_;
  }

  /// The number of entries that the kernel has not taken yet.
  unsigned pending() const noexcept { return tail_ - acquire(*submission_head_); }

  /// Calls io_uring_enter(2): submits all entries, lets the kernel run deferred work, and waits until there are
  /// `wanted` completions. Returns the number of entries taken, or a negated system error.
  QIO_NOINLINE int enter(unsigned wanted) noexcept { return enter(wanted, 0, nullptr, 0); }

  /// The same, but waits at most for `timeout`; -ETIME if it has passed. A function of its own: the most frequent
  /// system call has the fewest parameters.
  QIO_NOINLINE int enter_until(unsigned wanted, const __kernel_timespec& timeout) noexcept {
    if (!offers(IORING_FEAT_EXT_ARG)) return enter_and_poll(timeout);
    io_uring_getevents_arg argument{};
    argument.ts = reinterpret_cast<std::uintptr_t>(&timeout);
    return enter(wanted, IORING_ENTER_EXT_ARG, &argument, sizeof argument);
  }

  /// Waits for a completion, at most for `timeout` unless that is null, while nothing is in flight that moves data. So
  /// the wait does not count as one for I/O (/proc/pressure/io, iowait). Only if the kernel offers
  /// waits_without_pressure.
  QIO_NOINLINE int enter_idle(const __kernel_timespec* timeout) noexcept {
    constexpr unsigned no_iowait = 1u << 7;  // IORING_ENTER_NO_IOWAIT
    io_uring_getevents_arg argument{};
    argument.ts = reinterpret_cast<std::uintptr_t>(timeout);
    return enter(1, IORING_ENTER_EXT_ARG | no_iowait, &argument, sizeof argument);
  }
  static constexpr unsigned waits_without_pressure = 1u << 17;  ///< IORING_FEAT_NO_IOWAIT, since Linux 6.15

  /// Calls `take(const io_uring_sqe&)` for each entry that the kernel has not taken, and removes them.
  template <class Take>
  void take_back(Take&& take) noexcept {
    const unsigned head = acquire(*submission_head_);
    for (unsigned each = head; each != tail_; ++each) take(entries_[each & submission_mask_]);
    tail_ = head;
    release(*submission_tail_, tail_);
  }

  // --- completions ---

  /// The number of completions in the queue.
  unsigned completions() const noexcept { return acquire(*completion_tail_) - *completion_head_; }
  bool has_completions() const noexcept { return acquire(*completion_tail_) != *completion_head_; }

  /// Whether the kernel has completions that it delivers only in enter(): deferred ones (IORING_SETUP_TASKRUN_FLAG), or
  /// some that did not fit in the queue.
  bool has_deferred() const noexcept {
    return (std::atomic_ref(*submission_flags_).load(std::memory_order_relaxed) &
            (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
  }

  /// Calls `take(const io_uring_cqe&)` for each completion in the queue, then frees their space.
  template <class Take>
  void take_completions(Take&& take) noexcept {
    unsigned head = *completion_head_;  // only moved here
    const unsigned tail = acquire(*completion_tail_);
    if (head == tail) return;
    QIO_CHECK(tail - head <= completion_capacity(), "the completion queue has overflowed");
    do take(completions_[head & completion_mask_]);
    while (++head != tail);
    release(*completion_head_, head);
  }

 private:
  static unsigned acquire(unsigned& shared) noexcept { return std::atomic_ref(shared).load(std::memory_order_acquire); }
  static void release(unsigned& shared, unsigned value) noexcept {
    std::atomic_ref(shared).store(value, std::memory_order_release);
  }

  std::size_t entries_bytes() const noexcept { return submission_capacity() * sizeof(io_uring_sqe); }

  int open_and_map(unsigned entries, io_uring_params& parameters) noexcept {
    const platform::without_fork none;
    const long made = ::syscall(__NR_io_uring_setup, entries, &parameters);
    if (!descriptor_.take(none, static_cast<int>(made))) return -errno;
    entered_ = static_cast<int>(made);
    flags_ = parameters.flags;
    features_ = parameters.features;
    return map(parameters);
  }

  int map(const io_uring_params& parameters) noexcept {
    if (!offers(IORING_FEAT_SINGLE_MMAP)) return -ENOSYS;  // since Linux 5.4; 5.6 is required anyway
    submission_mask_ = parameters.sq_entries - 1;
    completion_mask_ = parameters.cq_entries - 1;
    queues_bytes_ = parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe);
    if (!has(IORING_SETUP_NO_SQARRAY))
      queues_bytes_ =
          detail::greater_of(queues_bytes_, parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned));
    void* const queues = map(queues_bytes_, IORING_OFF_SQ_RING);
    if (queues == nullptr) return -errno;
    queues_ = static_cast<std::byte*>(queues);
    void* const entries = map(entries_bytes(), IORING_OFF_SQES);
    if (entries == nullptr) return -errno;
    entries_ = static_cast<io_uring_sqe*>(entries);

    const auto at = [this](unsigned offset) { return reinterpret_cast<unsigned*>(queues_ + offset); };
    submission_head_ = at(parameters.sq_off.head);
    submission_tail_ = at(parameters.sq_off.tail);
    submission_flags_ = at(parameters.sq_off.flags);
    completion_head_ = at(parameters.cq_off.head);
    completion_tail_ = at(parameters.cq_off.tail);
    completions_ = reinterpret_cast<io_uring_cqe*>(queues_ + parameters.cq_off.cqes);
    full_ = tail_ = *submission_tail_;
    // Each element of the array of indices permanently refers to the entry at the same position.
    if (!has(IORING_SETUP_NO_SQARRAY))
      for (unsigned index = 0; index < parameters.sq_entries; ++index) at(parameters.sq_off.array)[index] = index;
    return 0;
  }

  void* map(std::size_t bytes, off_t what) noexcept {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_.value(), what);
    if (memory == MAP_FAILED) return nullptr;
    ::madvise(memory, bytes, MADV_DONTFORK);
    return memory;
  }

  QIO_ALWAYS_INLINE int enter(unsigned wanted, unsigned flags, const void* argument,
                              std::size_t argument_bytes) noexcept {
    QIO_CHECK(is_open(), "a ring was entered that is closed");
    release(*submission_tail_, tail_);
    const long answer =
        ::syscall(__NR_io_uring_enter, entered_, pending(), wanted, flags | enter_flags_, argument, argument_bytes);
    return answer < 0 ? -errno : static_cast<int>(answer);
  }

  // Before Linux 5.11, io_uring_enter takes no timeout, but poll(2) does.
  int enter_and_poll(const __kernel_timespec& timeout) noexcept {
    const int answer = enter(0);
    if (answer < 0 || has_completions()) return answer;
    pollfd ready{descriptor_.value(), POLLIN, 0};
    const timespec limit{static_cast<time_t>(timeout.tv_sec), static_cast<long>(timeout.tv_nsec)};
    const int found = ::ppoll(&ready, 1, &limit, nullptr);
    if (found == 0) return -ETIME;
    return found < 0 ? -errno : answer;
  }

  io_uring_sqe* entries_ = nullptr;
  unsigned* submission_head_ = nullptr;  // in queues_, like those below
  unsigned* submission_tail_ = nullptr;
  unsigned* submission_flags_ = nullptr;
  unsigned* completion_head_ = nullptr;
  unsigned* completion_tail_ = nullptr;
  const io_uring_cqe* completions_ = nullptr;
  unsigned tail_ = 0;  // of the submission queue; enter() publishes it
  unsigned full_ = 0;  // the tail at which the queue is full, by the last known head
  unsigned submission_mask_ = 0;
  unsigned completion_mask_ = 0;
  unsigned enter_flags_ = IORING_ENTER_GETEVENTS;
  int entered_ = -1;  // for io_uring_enter: the descriptor, or its registered index
  platform::private_descriptor descriptor_;
  unsigned flags_ = 0;
  unsigned features_ = 0;
  std::byte* queues_ = nullptr;
  std::size_t queues_bytes_ = 0;
};

/// Closes `rings`, and returns when the kernel is done with everything that was in flight in them, and no longer reads
/// or writes its memory. (The kernel cancels what it can, and waits for the rest.) Returns null; or, if there is no way
/// to find that out, the system call that failed, with its error in errno, and closes nothing.
///
/// To find out, it reads from a pipe whose only write end the rings hold. The kernel releases a ring's files after the
/// last request of that ring (io_ring_ctx_free() in io_uring/io_uring.c), and the reader then sees the end of the pipe.
/// A child process that has a ring's descriptor (after vfork or clone) keeps the ring, so this waits for that child,
/// too.
QIO_COLD inline const char* close_and_wait(std::initializer_list<ring*> rings) noexcept {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "pipe2";
  const auto keeps_open = [&](ring& holder) {  // in place of a registered file, or as the first one
    io_uring_files_update change{};
    change.fds = reinterpret_cast<std::uintptr_t>(&ends[1]);
    return holder.configure(IORING_REGISTER_FILES_UPDATE, &change, 1) == 1 ||
           holder.configure(IORING_REGISTER_FILES, &ends[1], 1) == 0;
  };
  bool held = true;
  for (ring* const each : rings)
    if (each->is_open()) held = held && each->unregister_descriptor() && keeps_open(*each);
  ::close(ends[1]);
  if (held) {
    for (ring* const each : rings) each->close();
    char nothing;
    while (::read(ends[0], &nothing, 1) < 0 && errno == EINTR) {}
  }
  ::close(ends[0]);
  return held ? nullptr : "io_uring_register";
}

}  // namespace detail
QIO_END_NAMESPACE
