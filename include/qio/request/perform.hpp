// SPDX-License-Identifier: BSL-1.0
// Applies the results of system calls to a request, and carries out whole requests by blocking calls.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/request/request.hpp>
#include <qio/system/platform.hpp>

#include <atomic>

namespace qio::inline QIO_CONFIGURATION::detail {

/// A durable write that fails counts as a failed sync: the system has reported the error to the write, and will not
/// report it to the next sync.
QIO_COLD inline void note_failed_write(file_activity& activity, platform::transfer_flags flags,
                                       const error& failure) noexcept {
  if (activity.writes_durably || (flags & platform::durable) != 0) activity.sync_failure.note_write(failure);
}

/// `r`, a transfer, has failed with the system's error. Systems have different errors for a transfer that the file was
/// not opened for; qio has one.
QIO_COLD inline void judge_failure(request& r) noexcept {
  file_activity& file = *r.activity;
  if (r.op == opcode::read ? !file.may_read() : !file.may_write())
    r.failure = file.not_granted(r.op == opcode::read ? access::read : access::write);
  else if (r.op == opcode::write)
    note_failed_write(file, r.flags, r.failure);
}

/// Handles the system's result for the current piece of a read or a write. True if the request is finished.
inline bool take_answer(request& r, raw_result answer) noexcept {
  QIO_CHECK(r.op == opcode::read || r.op == opcode::write,
            "the result of a transfer was applied to another kind of operation");
  const auto progress =
      r.op == opcode::read ? r.io.after_read(answer, r.block, r.failure) : r.io.after_write(answer, r.failure);
  if (answer < 0 && progress == transfer::progress::finished) [[unlikely]]
    judge_failure(r);
  if (progress == transfer::progress::finished) return true;
  if (!r.cancel_requested.load(std::memory_order_relaxed)) return false;
  r.fail_as_canceled();
  return true;
}

/// Handles the system's result for the current part of a writeback. True if the request is finished.
inline bool take_writeback(request& r, raw_result answer) noexcept {
  if (r.io.after_range(answer, r.failure) == transfer::progress::finished) return true;
  if (!r.cancel_requested.load(std::memory_order_relaxed)) return false;
  r.fail_as_canceled();
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
    case opcode::writeback:
      while (!take_writeback(r, platform::start_writeback(r.handle, r.io.next_offset(), r.io.next_range()))) {}
      return;
    case opcode::call:
      if (const auto done = r.call(r); !done) r.failure = done.error();
      return;
  }
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
