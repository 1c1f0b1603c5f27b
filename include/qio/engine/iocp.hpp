// SPDX-License-Identifier: BSL-1.0
// Windows' engine: completion ports; and what happens where there is none.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/events.hpp>
#include <qio/engine/workers.hpp>
#include <qio/request/request.hpp>
#include <qio/system/platform.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

QIO_BEGIN_NAMESPACE

/// One completion port, for one thread; or no port, and worker threads that make blocking calls. create() chooses by
/// context_options::engine.
///
/// submit() starts a transfer immediately. If the system completes it immediately (from its cache), it needs neither
/// the port nor a system call in wait(). All other transfers complete through the port, many completions per call. The
/// OVERLAPPED that the system uses is a part of the request.
///
/// Windows carries out some operations synchronously, whatever the handle ("Asynchronous disk I/O appears as
/// synchronous on Windows", KB156932): opcode::sync, opcode::call, all transfers of compressed and encrypted files, and
/// writes that end beyond the valid data of the file (whatever its size, so extending it in advance does not help).
/// Worker threads carry out these and durable writes, which end with a flush; they complete through the same wait().
/// How far the valid data reaches is unknown at first, so the first write goes to a worker, which finds out.
class iocp : detail::no_hook {
 public:
  using system = detail::operating_system;

  static result<std::unique_ptr<iocp>> create(const context_options& options) {
    if (auto accepted = detail::workers::check(options.workers); !accepted) return accepted.error();
    auto engine = std::unique_ptr<iocp>(new iocp(options));
    if (options.engine == engine_kind::aio) return error(std::make_error_code(std::errc::function_not_supported));
    if (options.engine == engine_kind::workers) return engine;
    engine->port_ = platform::calls::CreateIoCompletionPort(platform::invalid_handle, nullptr, 0, 1);
    if (engine->port_ != nullptr) return engine;
    const error refusal = platform::last_error();
    if (options.engine == engine_kind::ring) return refusal;
    engine->why_no_port_ = "no completion port: " + refusal.message();
    return engine;
  }

  iocp(const iocp&) = delete;
  iocp& operator=(const iocp&) = delete;

  ~iocp() {
    QIO_CHECK(in_flight_ == 0, "an engine was destroyed while requests were in flight");
    workers_.stop();  // they may still be about to call wake()
    if (port_ != nullptr) platform::calls::CloseHandle(port_);
  }

  system files() const noexcept { return {}; }
  detail::clock::time_point now() const noexcept { return detail::clock::now(); }
  using no_hook::begin;
  using no_hook::end;
  using no_hook::find_polling;
  using no_hook::gathers;
  void observe(detail::list<file_activity>&, detail::turn_watch& watch) noexcept {
    watch_ = &watch;
    workers_.observe(watch);
  }
  using no_hook::register_memory;
  using no_hook::release;
  using no_hook::serve_at_once;
  using no_hook::waits;

  /// Binds a handle to this port until it is closed. errc::cannot_be_bound if it belongs to another port, or if its
  /// device has no asynchronous transfers. Any thread.
  result<void> attach(platform::native_handle handle) noexcept {
    if (port_ == nullptr) return success();
    if (platform::calls::CreateIoCompletionPort(handle, port_, file_key, 0) == nullptr)
      return error(errc::cannot_be_bound);
    constexpr UCHAR modes = FILE_SKIP_COMPLETION_PORT_ON_SUCCESS | FILE_SKIP_SET_EVENT_ON_HANDLE;
    if (platform::calls::SetFileCompletionNotificationModes(handle, modes) == 0) return error(errc::cannot_be_bound);
    return success();
  }

  void submit(request& r) noexcept {
    detail::take_over(r);
    ++in_flight_;
    r.system.owner = &r;
    r.system.is_repeated = false;
    r.system.by_worker = port_ == nullptr || is_synchronous(r);
    if (r.system.by_worker) return workers_.submit(r);
    start(r);
  }

  void submit_all(request* first) noexcept { detail::submit_each(*this, first); }

  void cancel(request& r) noexcept {
    QIO_CHECK(r.is_held(), "a request was canceled that is not in flight");
    if (r.system.by_worker) return workers_.cancel(r);
    if (r.cancel_requested.exchange(true, std::memory_order_relaxed)) return;
    if (r.queued) {
      backlog_.remove(r);
      r.queued = false;
      watch_->note_hand_over(r);
      r.fail_as_canceled();
      return finished_.push(r);
    }
    // It completes in any case, with or without an error. "Not found" means that it is already complete.
    platform::calls::CancelIoEx(r.handle, &r.system);
  }

  void wait(completed_requests& completed, wait_limit limit) noexcept {
    if (port_ == nullptr) return wait_without_port(completed, limit);
    retry_backlog();
    if (!finished_.empty()) limit = wait_limit::none();
    while (request* const r = finished_.pop()) finish(*r, completed);
    const bool nothing_to_come = in_port_ == 0 && !woken_.load(std::memory_order_relaxed);
    if (limit.may_wait() || !nothing_to_come) take_packets(completed, limit);
  }

  std::size_t in_flight() const noexcept { return in_flight_; }

  void wake() noexcept {
    if (port_ == nullptr) {
      without_port_.set();
      return ready_.set();
    }
    // One packet is enough, however many threads call.
    if (woken_.exchange(true, std::memory_order_acq_rel)) return;
    // Fails only if memory is exhausted. The context sleeps until it succeeds.
    while (platform::calls::PostQueuedCompletionStatus(port_, 0, wake_key, nullptr) == 0) std::this_thread::yield();
  }

  /// A port has none: no other event loop can wait for it.
  result<platform::native_handle> wake_handle() noexcept {
    if (port_ != nullptr) return error(errc::no_wake_handle);
    return ready_.handle();
  }

  bool prepare_to_wait(completed_requests& completed) noexcept {
    QIO_CHECK(ready_.exists(), "prepare_to_wait() was called before wake_handle()");
    ready_.reset();
    wait(completed, wait_limit::none());
    return completed.empty();
  }

  void explain(explanation& out) const {
    if (port_ == nullptr) {
      workers_.explain(out);
      if (!why_no_port_.empty()) out.add("fallback", "from iocp", why_no_port_);
      return;
    }
    out.add("engine", "iocp");
    out.add("workers", std::to_string(workers_.count()), "for what Windows does not do asynchronously");
  }

 private:
  static constexpr ULONG_PTR file_key = 0, wake_key = 1;
  static constexpr ULONG packets_a_call = 64;

  explicit iocp(const context_options& options) : workers_(options.workers, &iocp::finished_by_worker, this) {}

  /// Whether Windows would carry out `r` on this thread, or `r` is a write that ends with a flush.
  static bool is_synchronous(request& r) noexcept {
    if (r.op > opcode::write || r.activity->system.waits_in_submission) return true;
    return r.op == opcode::write && ((r.flags & platform::durable) != 0 || ends_beyond_valid_data(r));
  }

  static bool ends_beyond_valid_data(request& r) noexcept {
    platform::activity_state& file = r.activity->system;
    const std::uint64_t end = r.io.offset() + r.io.total();
    if (end <= file.valid_end.load(std::memory_order_relaxed)) return false;
    if (file.was_asked.load(std::memory_order_relaxed)) return true;
    if (platform::calls::GetFileType(r.handle) == FILE_TYPE_DISK) return true;
    file.raise(detail::max_offset);  // a pipe has no end
    file.was_asked.store(true, std::memory_order_relaxed);
    return false;
  }

  /// After a write that a worker has carried out: the valid data reaches at least as far as that, and perhaps further.
  static void note_valid_data(request& r) noexcept {
    platform::activity_state& file = r.activity->system;
    if (const std::size_t bytes = r.io.transferred(); bytes != 0) file.raise(r.io.offset() + bytes);
    if (file.was_asked.exchange(true, std::memory_order_relaxed)) return;
    if (const auto end = platform::valid_data_length(r.handle)) file.raise(*end);
  }

  // --- to the system ---

  void start(request& r) noexcept {
    if (!advance(r)) return;
    ++r.activity->statistics.served_inline;
    finished_.push(r);
  }

  /// Starts the next piece of `r`, and continues as long as pieces complete immediately. True if `r` is finished.
  bool advance(request& r) noexcept {
    for (;;) {
      const std::optional<detail::raw_result> answer = begin_transfer(r);
      if (!answer) {
        ++in_port_;
        return false;
      }
      if (*answer < 0 && platform::is_shortage(static_cast<DWORD>(-*answer)) && in_port_ != 0) {
        watch_->note_queued(r);
        backlog_.push(r);
        r.queued = true;
        return false;
      }
      if (r.io.is_finished_by(*answer) || detail::take_answer(r, *answer)) return true;
    }
  }

  /// Starts the next piece. Returns its result, or none if that will come through the port.
  static std::optional<detail::raw_result> begin_transfer(request& r) noexcept {
    const detail::piece piece = r.io.next();
    const mutable_buffer buffer = platform::first_of(piece);
    const DWORD code = platform::start_in_parts(buffer.size, [&](DWORD bytes) -> DWORD {
      static_cast<OVERLAPPED&>(r.system) = OVERLAPPED{};
      platform::set_offset(r.system, piece.offset);
      const BOOL done = r.op == opcode::read
                            ? platform::calls::ReadFile(r.handle, buffer.data, bytes, nullptr, &r.system)
                            : platform::calls::WriteFile(r.handle, buffer.data, bytes, nullptr, &r.system);
      return done != 0 ? 0 : platform::calls::GetLastError();
    });
    if (code == 0) return answer_of(r);
    if (code == ERROR_IO_PENDING) return std::nullopt;
    return failed(r, code);
  }

  void retry_backlog() noexcept {
    detail::queue<request> waiting;
    while (request* const r = backlog_.pop()) waiting.push(*r);
    while (request* const r = waiting.pop()) {
      r->queued = false;
      watch_->note_hand_over(*r);
      start(*r);
    }
  }

  // --- from the system ---

  /// The result of a finished piece.
  static detail::raw_result answer_of(request& r) noexcept {
    DWORD bytes = 0;
    if (platform::calls::GetOverlappedResult(r.handle, &r.system, &bytes, FALSE) == 0)
      return failed(r, platform::calls::GetLastError());
    r.system.is_repeated = false;
    return bytes;
  }

  static detail::raw_result failed(request& r, DWORD code) noexcept {
    if (r.op == opcode::read) return platform::failed_read(r.handle, r.io.next_offset(), code, r.system.is_repeated);
    return -static_cast<detail::raw_result>(code);
  }

  static DWORD milliseconds(wait_limit limit) noexcept {
    if (!limit.may_wait()) return 0;
    if (limit.is_unlimited()) return INFINITE;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit.time - std::chrono::steady_clock::now());
    return static_cast<DWORD>(std::clamp<std::int64_t>(left.count(), 0, INFINITE - 1));
  }

  void take_packets(completed_requests& completed, wait_limit limit) noexcept {
    OVERLAPPED_ENTRY packets[packets_a_call];
    ULONG count = packets_a_call;
    for (DWORD patience = milliseconds(limit); count == packets_a_call; patience = 0) {
      if (platform::calls::GetQueuedCompletionStatusEx(port_, packets, packets_a_call, &count, patience, FALSE) == 0) {
        if (platform::calls::GetLastError() == WAIT_TIMEOUT) return;
        // Nothing in flight can complete, and the system still uses its memory.
        std::fprintf(stderr, "qio: completion port: %s\n", platform::last_error().message().c_str());
        std::abort();
      }
      for (ULONG i = 0; i < count; ++i) {
        if (packets[i].lpCompletionKey == wake_key)
          was_woken(completed);
        else
          take(*static_cast<platform::request_state*>(packets[i].lpOverlapped)->owner, completed);
      }
    }
  }

  void take(request& r, completed_requests& completed) noexcept {
    QIO_CHECK(in_port_ != 0, "the port completed a request that was not in it");
    --in_port_;
    const detail::raw_result answer = answer_of(r);
    // Windows also aborts what nobody has canceled: when a device is reset or removed, for example. That is a failure.
    if (answer == -ERROR_OPERATION_ABORTED && r.cancel_requested.load(std::memory_order_relaxed))
      r.fail_as_canceled();
    else if (!r.io.is_finished_by(answer) && !detail::take_answer(r, answer) && !advance(r))
      return;
    ++r.activity->statistics.served_by_ring;
    finish(r, completed);
  }

  void wait_without_port(completed_requests& completed, wait_limit limit) noexcept {
    if (!arrivals_.empty())
      watch_->found_due();
    else if (limit.may_wait())
      without_port_.wait(limit);
    take_arrivals(completed);
  }

  void was_woken(completed_requests& completed) noexcept {
    woken_.exchange(false, std::memory_order_acq_rel);
    take_arrivals(completed);
  }

  void take_arrivals(completed_requests& completed) noexcept {
    detail::queue<request> arrived;
    arrivals_.take(arrived);
    while (request* const r = arrived.pop()) {
      ++r->activity->statistics.served_by_worker;
      r->place = detail::uring_place::workers;
      finish(*r, completed);
    }
  }

  void finish(request& r, completed_requests& completed) noexcept {
    QIO_CHECK(in_flight_ > in_port_, "a request was finished while it was still in the port");
    --in_flight_;
    detail::complete(r, completed);
  }

  static void finished_by_worker(void* self, request& r) noexcept {
    auto& engine = *static_cast<iocp*>(self);
    if (r.op == opcode::write) note_valid_data(r);
    if (engine.arrivals_.push(r)) engine.wake();
  }

  HANDLE port_ = nullptr;
  std::size_t in_flight_ = 0;        // submitted and not completed
  std::size_t in_port_ = 0;          // of these, held by the system
  detail::queue<request> finished_;  // finished, not yet reported
  detail::queue<request> backlog_;   // to be started when the system has memory again
  std::atomic<bool> woken_ = false;  // a packet with wake_key is in the port
  std::string why_no_port_;          // if one was asked for
  detail::auto_reset_event without_port_;
  detail::ready_event ready_;  // without a port
  detail::turn_watch* watch_ = nullptr;
  detail::arrivals<request> arrivals_;  // completed by workers
  detail::workers workers_;             // last: its threads use the above
};

static_assert(engine<iocp>);

QIO_END_NAMESPACE
