// SPDX-License-Identifier: BSL-1.0
// What an operation asks of an engine.
#pragma once

#include <qio/detail/intrusive.hpp>
#include <qio/detail/platform.hpp>
#include <qio/detail/transfer.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>

#include <atomic>
#include <cstdint>

namespace qio {

/// How many operations of a file were served by which path.
struct file_statistics {
  std::uint64_t served_inline = 0;     ///< at once, by an attempt that cannot wait (preadv2 with RWF_NOWAIT)
  std::uint64_t served_by_ring = 0;    ///< by io_uring
  std::uint64_t served_by_worker = 0;  ///< by a blocking call on a worker thread
};

/// What the operations of one file have in common. Belongs to the file, and is touched by its context's thread only.
struct file_activity {
  std::uint32_t in_flight = 0;  ///< requests that an engine holds
  bool inline_reads = false;  ///< reads may be attempted inline; cleared when the file system cannot tell (EOPNOTSUPP)
  file_statistics statistics;
};

enum class opcode : std::uint8_t {
  read,
  write,
  sync,
  call,  ///< request::call, on a worker: for what has no asynchronous form (opening, resizing, closing)
};

/// One operation as an engine sees it. It is a base of the operation object in the caller's frame, so the engine
/// neither allocates nor frees it; from submit() until it is in the list of completed requests it must not move.
struct request : detail::list_hook {
  request() noexcept = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;

  // What is asked. Set before submit().
  opcode op = opcode::read;
  sync_kind sync = sync_kind::everything;
  platform::native_handle handle = platform::invalid_handle;
  std::uint32_t block = 1;  ///< what the offset of a direct read is a multiple of; 1 if not direct
  detail::transfer io;      ///< of a read or a write: where, and how far it has come
  result<void> (*call)(request&) noexcept = nullptr;  ///< of opcode::call
  void* argument = nullptr;                           ///< of opcode::call, for the function called
  file_activity* activity = nullptr;
  bool attempt_inline = false;  ///< a read that the page cache may serve at once
  bool settled = false;         ///< nothing to be asked of an engine: refused, with the reason in `failure`, or empty

  // What came of it. Of a read or a write, io.transferred() belongs to the answer.
  error failure;  ///< does not exist() if it succeeded

  // For the engine, while it holds the request.
  request* next = nullptr;
  request* previous = nullptr;
  bool queued = false;                         ///< in a queue of the engine's own
  std::atomic<bool> cancel_requested = false;  ///< atomic, since workers look at it between two pieces

  /// What the context calls, on its thread, when the request has been completed.
  void (*completed)(request&) noexcept = nullptr;

  /// Between submit() and the list of completed requests.
  bool is_held() const noexcept { return is_linked(); }
  bool failed() const noexcept { return failure.exists(); }

  void fail_as_cancelled() noexcept {
    failure = error::of_transfer(std::make_error_code(std::errc::operation_canceled), io.transferred());
  }
};

/// The requests that are over, in the order in which the engine learned of it.
using completed_requests = detail::queue<request>;

namespace detail {

/// Takes the system's answer to the present piece of a read or a write. True when the request is over.
inline bool take_answer(request& r, raw_result answer) noexcept {
  const auto progress =
      r.op == opcode::read ? r.io.after_read(answer, r.block, r.failure) : r.io.after_write(answer, r.failure);
  if (progress == transfer::progress::finished) return true;
  if (!r.cancel_requested.load(std::memory_order_relaxed)) return false;
  r.fail_as_cancelled();
  return true;
}

/// Carries out a whole request by blocking system calls.
inline void perform(request& r) noexcept {
  switch (r.op) {
    case opcode::read:
      while (!take_answer(r, platform::read_some(r.handle, r.io.next()))) {}
      return;
    case opcode::write:
      while (!take_answer(r, platform::write_some(r.handle, r.io.next()))) {}
      return;
    case opcode::sync:
      if (const auto done = platform::sync(r.handle, r.sync); !done) r.failure = done.error();
      return;
    case opcode::call:
      if (const auto done = r.call(r); !done) r.failure = done.error();
      return;
  }
}

/// Reads what is in the page cache. True if that was all: then `r` is over, with no wait and no engine. False leaves in
/// `r` what remains to be done.
inline bool try_inline(request& r) noexcept {
  const raw_result answer = platform::read_without_waiting(r.handle, r.io.next());
  if (answer == -EOPNOTSUPP) r.activity->inline_reads = false;
  // Whatever went wrong, the engine will meet it, and report it. Nor is a zero taken for the end of the file: Linux 5.9
  // and 5.10 answer so in the middle of one (preadv2(2), BUGS).
  if (answer <= 0) return false;
  if (!take_answer(r, answer)) return false;
  ++r.activity->statistics.served_inline;
  return true;
}

}  // namespace detail
}  // namespace qio
