// SPDX-License-Identifier: BSL-1.0
// Polling the device instead of waiting for its interrupts: a ring of its own, and which transfers go into it.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/ring_entry.hpp>
#include <qio/engine/ring_setup.hpp>
#include <qio/explanation.hpp>
#include <qio/mode.hpp>
#include <qio/options.hpp>
#include <qio/request/request.hpp>
#include <qio/system/linux/direct.hpp>
#include <qio/system/linux/ring.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

// Missing from liburing 2.3. Linux 6.13.
#ifndef IORING_SETUP_HYBRID_IOPOLL
#define IORING_SETUP_HYBRID_IOPOLL (1U << 17)
#endif

QIO_BEGIN_NAMESPACE
namespace detail {

/// A ring whose completions are found by polling the device. It takes only direct reads and writes, and refuses
/// anything else (EINVAL), cancellations included. The ordinary ring next to it carries out what this one refuses. A
/// request is in this ring exactly while its place is this ring.
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
  std::size_t in_flight() const noexcept { return in_flight_; }
  ring& queues() noexcept { return ring_; }

  void bind_to_this_thread() noexcept {
    if (!is_open()) return;
    if (ring_.has(IORING_SETUP_R_DISABLED)) enable_ring(ring_);
    ring_.register_descriptor();
  }

  /// 0, or a negated system error.
  int register_memory(std::span<std::byte> memory) {
    return is_open() ? registered_memory::register_with(ring_, memory) : 0;
  }
  void forget_memory() noexcept {
    if (is_open()) registered_memory::unregister_from(ring_);
  }

  /// False if `r` cannot be polled, or if there is no place; then it belongs in the ordinary ring.
  QIO_NOINLINE bool submit(request& r, const registered_memory& memory) noexcept {
    if (!r.activity->is_polled(r.op)) return false;
    if (r.io.total() > most_polled_bytes || r.io.next().vector != nullptr) return false;
    if ((r.flags & platform::durable) != 0) return false;  // it takes more than one request to the device
    QIO_CHECK(r.op == opcode::read || r.op == opcode::write, "only transfers can be polled");
    io_uring_sqe* const entry = in_flight_ == ring_.completion_capacity() ? nullptr : ring_.next_entry();
    if (entry == nullptr) return false;
    QIO_CHECK(!r.queued && r.place == uring_place::ring,
              "a request was put into the polled ring while it was elsewhere");
    ++in_flight_;
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
      leave(r);
      take(r, outcome_of(r, completion.res));
    });
  }

  /// Takes back the entries that the kernel has not taken, and calls `take(request&)` for each.
  template <class Take>
  void take_back(Take&& take) noexcept {
    ring_.take_back([&](const io_uring_sqe& entry) {
      request& r = request_of(entry.user_data);
      leave(r);
      take(r);
    });
  }

  /// The ring is closed, and `r`, which was in it, has ended.
  void lost(request& r) noexcept {
    QIO_CHECK(!is_open(), "an open ring lost a request");
    leave(r);
  }

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
  void leave(request& r) noexcept {
    QIO_CHECK(r.place == uring_place::polled_ring && in_flight_ != 0,
              "the polled ring completed a request that was not in it");
    --in_flight_;
    r.place = uring_place::ring;
  }

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

  ring ring_;
  std::size_t in_flight_ = 0;
  polling wanted_ = polling::off;
  std::string refusal_;
};

// --- whether the device of a direct file can be polled ---

/// Reads from the beginning of the file by polling, with a ring of its own, because this thread may not be the
/// context's. Returns the bytes (0 if the file is empty), or a negated system error.
inline int read_polled(platform::native_handle handle, const alignment& needed) {
  const std::uint32_t bytes = greater_of(needed.read, needed.memory);
  auto memory = aligned_buffer::allocate(bytes, bytes);
  if (!memory) return -ENOMEM;
  ring asking;
  io_uring_params parameters{};
  parameters.flags = IORING_SETUP_IOPOLL;
  if (const int made = asking.open(1, parameters); made < 0) return made;
  io_uring_sqe& entry = *asking.next_entry();
  entry.opcode = IORING_OP_READ;
  entry.fd = handle;
  entry.addr = reinterpret_cast<std::uintptr_t>(memory.value().data());
  entry.len = needed.read;
  int answer = -EINTR;
  for (bool completed = false; !completed;) {
    const int entered = asking.enter(1);
    // Once the kernel has taken the entry, it uses the memory until the read completes.
    if (entered < 0 && entered != -EINTR && asking.pending() != 0) return entered;
    asking.take_completions([&](const io_uring_cqe& completion) {
      answer = completion.res;
      completed = true;
    });
  }
  return answer;
}

/// Two checks. The sysfs attribute of the device, because before Linux 6.12 or so a polled read of a device that cannot
/// be polled succeeds anyway, by an interrupt. And a polled read, because only that involves everything between the
/// file and the device; it is left out for files opened for writing only, where it would fail for another reason.
inline polling_support find_polling_support(platform::native_handle handle, const alignment& needed) {
  struct stat status;
  if (::fstat(handle, &status) != 0) return {false, false, platform::last_error().message()};
  const bool is_device = S_ISBLK(status.st_mode);
  const dev_t device = is_device ? status.st_rdev : status.st_dev;
  const auto polls = platform::queue_attribute(device, "io_poll");
  if (!polls) return {false, false, "the device that holds the file is unknown"};
  if (*polls == 0) return {false, false, "the device has no queue that can be polled (io_poll in sysfs)"};
  if (platform::queue_attribute(device, "max_sectors_kb").value_or(0) < most_polled_bytes / 1024)
    return {false, false, "the device accepts less than " + std::to_string(most_polled_bytes) + " bytes per request"};
  const bool reads = (::fcntl(handle, F_GETFL) & O_ACCMODE) != O_WRONLY;
  if (reads)
    if (const int answer = read_polled(handle, needed); answer < 0)
      return {false, false, "a polled read failed: " + platform::system_error(-answer).message()};
  return {reads, is_device, is_device ? "" : "a kernel worker thread completes writes to a file system"};
}

}  // namespace detail
QIO_END_NAMESPACE
