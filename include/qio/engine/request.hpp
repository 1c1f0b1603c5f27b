// SPDX-License-Identifier: BSL-1.0
// What an operation asks of an engine.
#pragma once

#include <qio/detail/intrusive.hpp>
#include <qio/detail/platform.hpp>
#include <qio/detail/sync_failure.hpp>
#include <qio/detail/transfer.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/statistics.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace qio {
namespace detail {
class inline_turn;
}

enum class opcode : std::uint8_t {
  read,
  write,
  sync,
  call,  ///< request::call, on a worker: for what has no asynchronous form (opening, resizing, closing)
};

struct request;

/// What the operations of one file have in common. Belongs to the file, and is touched by its context's thread only,
/// but for the failure of a sync. From the first of them on it is in a list of the loop's.
struct file_activity : detail::list_hook {
  file_activity() noexcept = default;
  ~file_activity() { forget(); }

  /// Takes it out of the loop's list.
  void forget() noexcept {
    if (is_linked()) unlink();
  }

  detail::list<request> held;   ///< by an engine, or on the way to one
  std::uint32_t in_flight = 0;  ///< requests that an engine holds
  std::uint8_t polled = 0;      ///< a bit for each opcode to be polled; cleared by the engine if the device refuses
  bool writes_durably = false;  ///< a write is over when it is durable
  bool is_direct = false;       ///< transfers go to the device
  file_statistics statistics;
  detail::sync_failure sync_failure;
  [[no_unique_address]] platform::activity_state system;

  bool is_polled(opcode op) const noexcept { return ((polled >> static_cast<unsigned>(op)) & 1) != 0; }
  void poll(opcode op) noexcept { polled |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(op)); }
};

/// One operation as an engine sees it. It is a base of the operation object in the caller's frame, so the engine
/// neither allocates nor frees it; from submit() until it is in the list of completed requests it must not move. What
/// has no initial value here is set before anybody looks at it.
struct request : detail::list_hook {
  request() noexcept = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;

  // What is asked. Set before submit().
  opcode op = opcode::read;
  sync_kind sync = sync_kind::everything;
  platform::native_handle handle = platform::invalid_handle;
  platform::transfer_flags flags = 0;       ///< of a read or a write
  std::uint32_t block = 1;                  ///< what the offset of a direct read is a multiple of; 1 if not direct
  detail::transfer io;                      ///< of a read or a write: where, and how far it has come
  result<void> (*call)(request&) noexcept;  ///< of opcode::call only
  void* argument;                           ///< of opcode::call only, for the function called
  file_activity* activity = nullptr;
  /// Tries to carry it out here and now, before an engine is asked: true if it is over. Null where there is no such
  /// way. `company`: not 0 if the engine has, or is about to get, others.
  bool (*attempt)(request&, detail::inline_turn& turn, std::size_t company) noexcept = nullptr;
  bool settled = false;  ///< over without an engine: empty, refused with the reason in `failure`, or served inline

  // What came of it. Of a read or a write, io.transferred() belongs to the answer.
  error failure;  ///< does not exist() if it succeeded

  // For the engine, while it holds the request.
  request* next;
  request* previous;
  bool queued = false;  ///< in a queue of the engine's own
  bool in_polled_ring = false;
  [[no_unique_address]] platform::request_state system;
  std::atomic<bool> cancel_requested = false;  ///< atomic, since workers look at it between two pieces

  /// What the context calls, on its thread, when the request has been completed.
  void (*completed)(request&) noexcept;

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

/// What is durable when it is over fails as a sync does; it has been told what the next sync will not be told again.
[[gnu::cold, gnu::noinline]] inline void note_failed_write(file_activity& activity, const error& failure) noexcept {
  if (activity.writes_durably) activity.sync_failure.note(failure);
}

inline transfer::progress after_write(request& r, raw_result answer) noexcept {
  const auto progress = r.io.after_write(answer, r.failure);
  if (answer < 0 && progress == transfer::progress::finished) [[unlikely]]
    note_failed_write(*r.activity, r.failure);
  return progress;
}

/// Takes the system's answer to the present piece of a read or a write. True when the request is over.
inline bool take_answer(request& r, raw_result answer) noexcept {
  const auto progress = r.op == opcode::read ? r.io.after_read(answer, r.block, r.failure) : after_write(r, answer);
  if (progress == transfer::progress::finished) return true;
  if (!r.cancel_requested.load(std::memory_order_relaxed)) return false;
  r.fail_as_cancelled();
  return true;
}

/// Carries out a whole request by blocking system calls.
inline void perform(request& r) noexcept {
  switch (r.op) {
    case opcode::read:
      while (!take_answer(r, platform::read_some(r.handle, r.io.next(), r.flags))) {}
      return;
    case opcode::write:
      while (!take_answer(r, platform::write_some(r.handle, r.io.next(), r.flags))) {}
      return;
    case opcode::sync:
      if (const auto done = r.activity->sync_failure.answer_of([&] { return platform::sync(r.handle, r.sync); }); !done)
        r.failure = done.error();
      return;
    case opcode::call:
      if (const auto done = r.call(r); !done) r.failure = done.error();
      return;
  }
}

}  // namespace detail
}  // namespace qio
