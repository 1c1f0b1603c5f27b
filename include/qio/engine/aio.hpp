// SPDX-License-Identifier: BSL-1.0
// Direct transfers through Linux AIO, for where io_uring is forbidden: which requests it takes, how they get there, and
// what their completions mean.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/explanation.hpp>
#include <qio/options.hpp>
#include <qio/request/probes.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/aio.hpp>
#include <qio/system/platform.hpp>

#include <linux/aio_abi.h>
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

QIO_BEGIN_NAMESPACE
namespace detail {

/// `refusal`: that of aio::open().
inline std::string why_no_aio(const error& refusal) {
  const std::string said = refusal.message();
  switch (refusal.code().value()) {
    case EAGAIN: return "the system's limit for all processes, fs.aio-max-nr, is reached: " + said;
    case EINVAL: return "this kernel's AIO cannot listen for events (Linux 4.19): " + said;
    case ENOSYS:
    case EPERM:
    case EACCES: return "the kernel lacks it, or a seccomp filter forbids it: " + said;
    default: return "it could not be set up: " + said;
  }
}

/// Linux AIO completes direct transfers asynchronously if the file system need not wait before it can ask the device.
/// Otherwise it waits in io_submit(2). So it gets two kinds of transfers, and workers the others:
///
/// Reads, with RWF_NOWAIT. The kernel returns those that would have to wait (for the map of the file's blocks, a lock,
/// or a place in the device's queue), and workers carry them out.
///
/// Writes within the file, on ext4 and XFS, and to block devices. RWF_NOWAIT would return most of them, because they
/// change the file's time. ext4 carries out a write that extends the file within io_submit(2), and btrfs every write.
///
/// A transfer that the kernel has taken cannot be canceled (io_cancel(2)).
///
/// Every completion sets the event `signals`. One entry always listens for the event `wakes`, so that a wait ends when
/// that is set.
class aio {
 public:
  /// For up to `depth` requests in the kernel at a time, or as many as all processes together leave (fs.aio-max-nr,
  /// 65,536 by default), but at least 8; others wait here. The events outlive this.
  result<void> open(unsigned depth, inline_work wanted, const platform::event& wakes, const platform::event& signals) {
    writes_ = wanted != inline_work::never;
    constexpr unsigned most = 4096;
    unsigned requests = greater_of(lesser_of(depth, most), 1u);
    int made = queue_.open(requests + 1);
    for (; made == -EAGAIN && requests >= 16; made = queue_.open(requests + 1)) requests /= 2;
    if (made < 0) return platform::system_error(-made);
    room_ = requests + 1;
    wakes_ = wakes.handle();
    signals_ = signals.handle();
    listen();
    const aio_queue::time_limit none{};
    int answer = queue_.submit();
    if (answer >= 0) answer = queue_.wait(&none);  // a filter may forbid this, too
    if (answer < 0 && answer != -EINTR) {
      queue_.close();
      return platform::system_error(-answer);
    }
    in_kernel_ = 1;
    return success();
  }
  void close() noexcept {
    QIO_CHECK(in_flight_ == 0, "Linux AIO was closed while requests were in flight");
    queue_.close();
  }

  /// Requests that are here or in the kernel.
  std::size_t in_flight() const noexcept { return in_flight_; }

  // --- submission ---

  /// Whether `r` belongs here.
  bool takes(const request& r) noexcept {
    if (!r.activity->is_direct || r.op > opcode::write || refusal_ != 0) return false;
    return r.op == opcode::read ? r.activity->system.aio_reads : takes_write(r);
  }

  /// The next hand_over() gives it to the kernel, if there is room.
  void submit(request& r) noexcept {
    QIO_CHECK(r.activity->is_direct && r.op <= opcode::write && !r.queued && r.place == uring_place::ring,
              "a request was submitted to Linux AIO that it does not take, or that is elsewhere");
    r.place = uring_place::aio;
    ++in_flight_;
    if (in_kernel_ + queue_.pending() >= room_ || queue_.is_full() || !waiting_.empty()) {
      waiting_.push(r);
      r.queued = true;
    } else {
      put(r);
    }
  }

  /// Entries for the next hand_over().
  unsigned pending() const noexcept { return queue_.pending(); }

  /// True if `r` had not been given to the kernel, nor was about to be. Then it is no longer here.
  bool cancel(request& r) noexcept {
    QIO_CHECK(r.place == uring_place::aio, "a request was canceled in Linux AIO that is elsewhere");
    if (!r.queued) return false;
    waiting_.remove(r);
    r.queued = false;
    leave(r);
    return true;
  }

  /// Gives the kernel what it has room for. Calls `refuse(request&)` for each that it does not take, which is then no
  /// longer here.
  template <class Refuse>
  void hand_over(turn_watch& watch, Refuse&& refuse) noexcept {
    if (!is_listening_ && !queue_.is_full() && refusal_ == 0) listen();
    for (;;) {
      while (!waiting_.empty() && in_kernel_ + queue_.pending() < room_ && !queue_.is_full()) {
        request& r = *waiting_.pop();
        r.queued = false;
        watch.note_hand_over(r);
        put(r);
      }
      if (queue_.pending() == 0) return;
      const int taken = last_write_ != nullptr ? submit_writes(watch) : queue_.submit();
      if (taken > 0) {
        in_kernel_ += static_cast<unsigned>(taken);
        continue;
      }
      if (taken == -EINTR) continue;
      if (taken == -EAGAIN && in_kernel_ > 1) return;  // once some of those have completed
      take_refusal(taken, refuse);
    }
  }

  // --- completion ---

  bool has_completions() const noexcept { return queue_.has_completions(); }

  /// Waits until something has completed, `wakes` is set or the time has passed; without a limit if it is null. May
  /// return early.
  void wait(const aio_queue::time_limit* limit) noexcept {
    const int answer = queue_.wait(limit);
    if (answer < 0 && answer != -EINTR) refusal_ = -answer;
  }

  /// Whether wait() can be used: the kernel allows it, and an entry listens for `wakes` there.
  bool can_wait() const noexcept { return refusal_ == 0 && is_listening_ && queue_.pending() == 0; }

  /// Calls `take(request&, is_finished)` for each completion: the request is no longer here, and if it is not finished,
  /// a worker must carry out what is left, or repeat it. True if `wakes` was set.
  template <class Take>
  bool take_completions(Take&& take) noexcept {
    bool woken = false;
    queue_.take_completions([&](std::uint64_t data, std::int64_t answer) {
      QIO_CHECK(in_kernel_ != 0, "Linux AIO completed more than it had taken");
      --in_kernel_;
      if (data == listening) {
        is_listening_ = false;
        woken = true;
        return;
      }
      request& r = request_of(data);
      leave(r);
      take(r, is_finished_by(r, answer));
    });
    return woken;
  }

  void explain(explanation& out) const {
    out.add("engine", "aio", "direct transfers; workers carry out everything else");
    if (refusal_ != 0)
      out.add("Linux AIO", "off",
              "the kernel started to refuse it after the context was created (a seccomp filter?): " +
                  platform::system_error(refusal_).message() + "; workers carry out everything");
    out.add("requests in the kernel", "at most " + std::to_string(room_ - 1));
    if (!writes_) out.add("direct writes", "by workers", "context_options::inline_work is never");
  }

 private:
  static constexpr std::uint64_t listening = 1;  // no address of a request: those are even

  static request& request_of(std::uint64_t data) noexcept {
    QIO_CHECK(data != 0 && (data & 1) == 0, "Linux AIO completed an entry that carries no request");
    return *reinterpret_cast<request*>(static_cast<std::uintptr_t>(data));
  }

  void leave(request& r) noexcept {
    QIO_CHECK(r.place == uring_place::aio && in_flight_ != 0, "Linux AIO completed a request that it did not have");
    --in_flight_;
    r.place = uring_place::ring;
  }

  bool takes_write(const request& r) noexcept {
    platform::activity_state& file = r.activity->system;
    if (!writes_ || !file.aio_writes) return false;
    if (pause_end_ != clock::time_point()) [[unlikely]] {
      if (clock::now() < pause_end_) return false;
      pause_end_ = {};
    }
    if (platform::has_file_size_limit()) return false;
    return r.io.offset() + r.io.total() <= file.known_size.load(std::memory_order_relaxed) || is_within(r);
  }
  /// By the size that the file has now.
  QIO_NOINLINE static bool is_within(const request& r) noexcept {
    const auto size = platform::size(r.handle);
    if (!size) return false;
    r.activity->system.known_size.store(size.value(), std::memory_order_relaxed);
    return r.io.offset() + r.io.total() <= size.value();
  }

  void put(request& r) noexcept {
    QIO_CHECK(r.is_held() && r.io.transferred() < r.io.total(), "a request was handed over that has nothing to move");
    QIO_PROBE_SUBMIT(r, 1);
    iocb& entry = queue_.next_entry();
    entry.aio_data = reinterpret_cast<std::uintptr_t>(&r);
    entry.aio_fildes = static_cast<std::uint32_t>(r.handle);
    entry.aio_flags = IOCB_FLAG_RESFD;
    entry.aio_resfd = static_cast<std::uint32_t>(signals_);
    entry.aio_rw_flags = r.flags;
    const bool is_write = r.op == opcode::write;
    if (is_write)
      last_write_ = r.activity;
    else
      entry.aio_rw_flags |= RWF_NOWAIT;
    const piece next = r.io.next();
    entry.aio_offset = static_cast<std::int64_t>(next.offset);
    if (next.vector_size == 0) {
      entry.aio_lio_opcode = is_write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
      entry.aio_buf = reinterpret_cast<std::uintptr_t>(next.single.data);
      entry.aio_nbytes = next.single.size;
    } else {
      entry.aio_lio_opcode = is_write ? IOCB_CMD_PWRITEV : IOCB_CMD_PREADV;
      entry.aio_buf = reinterpret_cast<std::uintptr_t>(next.vector.data());
      entry.aio_nbytes = next.vector_size;
    }
  }

  void listen() noexcept {
    iocb& entry = queue_.next_entry();
    entry.aio_data = listening;
    entry.aio_lio_opcode = aio_poll;
    entry.aio_fildes = static_cast<std::uint32_t>(wakes_);
    entry.aio_buf = POLLIN;
    is_listening_ = true;
  }

  /// The pending entries include writes. A submission that waits begins a pause, in which workers write, so that such
  /// waits cost the context's thread at most a seventeenth of its time. In a file that others may open, it is the last:
  /// they could make each write wait.
  int submit_writes(turn_watch& watch) noexcept {
    constexpr std::chrono::microseconds longest{500};
    const platform::thread_switches before = platform::switches_of_this_thread();
    const clock::time_point begin = clock::now();
    const int taken = queue_.submit();
    const clock::time_point end = clock::now();
    file_activity& file = *last_write_;
    find_write();
    if (end - begin < longest || !note_slow_submission(watch, file, before, end - begin)) return taken;
    pause_end_ = end + 16 * (end - begin);
    if (file.system.is_open_to_others) file.system.aio_writes = false;
    return taken;
  }

  /// Fewer entries are pending.
  void find_write() noexcept {
    last_write_ = nullptr;
    for (const iocb& each : queue_.pending_entries())
      if (each.aio_lio_opcode == IOCB_CMD_PWRITE || each.aio_lio_opcode == IOCB_CMD_PWRITEV)
        last_write_ = request_of(each.aio_data).activity;
  }

  /// The kernel has refused the first pending entry, with `answer`.
  template <class Refuse>
  QIO_COLD void take_refusal(int answer, Refuse& refuse) noexcept {
    if (answer == -EPERM || answer == -ENOSYS || answer == -EACCES) refusal_ = -answer;
    do {
      const std::uint64_t data = queue_.take_back();
      if (data == listening) {
        is_listening_ = false;
        if (answer != -EAGAIN) refusal_ = -answer;
        continue;
      }
      request& r = request_of(data);
      if (answer == -EOPNOTSUPP) r.activity->system.aio_reads = r.activity->system.aio_writes = false;
      leave(r);
      refuse(r);
    } while (refusal_ != 0 && queue_.pending() != 0);
    find_write();
    if (refusal_ == 0) return;
    while (request* const r = waiting_.pop()) {
      r->queued = false;
      leave(*r);
      refuse(*r);
    }
  }

  /// Handles the result of `r`. False if a worker must continue, or repeat it.
  static bool is_finished_by(request& r, std::int64_t answer) noexcept {
    const auto result = static_cast<raw_result>(answer);
    if (r.io.is_finished_by(result)) return true;
    if (answer == -EAGAIN) return false;
    if (answer == -EOPNOTSUPP && r.op == opcode::read) {
      r.activity->system.aio_reads = false;
      return false;
    }
    return take_answer(r, result);
  }

  aio_queue queue_;
  queue<request> waiting_;  // for room
  unsigned room_ = 0;       // for entries that are pending or in the kernel
  unsigned in_kernel_ = 0;
  std::size_t in_flight_ = 0;
  bool is_listening_ = false;
  bool writes_ = true;
  int wakes_ = -1, signals_ = -1;
  int refusal_ = 0;
  file_activity* last_write_ = nullptr;  // of pending entries; null if they are all reads
  clock::time_point pause_end_{};        // of writes; not set if there is none
};

}  // namespace detail
QIO_END_NAMESPACE
