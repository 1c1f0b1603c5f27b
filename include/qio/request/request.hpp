// SPDX-License-Identifier: BSL-1.0
// What an operation asks for, and how the results of system calls complete it: the request that an engine works on, its
// transfer in pieces, the state that the operations of one file share, and how blocking calls carry out a request.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/io_class.hpp>
#include <qio/mode.hpp>
#include <qio/request/syncs.hpp>
#include <qio/result.hpp>
#include <qio/statistics.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

QIO_BEGIN_NAMESPACE

// --- What an operation does ---

enum class opcode : std::uint8_t {
  read,
  write,
  sync,
  writeback,  ///< the system begins to write back a range: request::io is the range, and moves nothing
  call,       ///< request::call, on a worker thread: for operations without an asynchronous form (opening, resizing,
              ///< closing)
};

namespace detail {

// --- A transfer, system call by system call ---
//
// A transfer in progress: what to request from the system next, and what the result means. Only this class handles
// short transfers, end of file and the system's limits; blocking calls, workers and rings all use it.

class transfer {
 public:
  enum class progress : std::uint8_t { finished, unfinished };

  transfer() noexcept = default;

  transfer(std::uint64_t offset, mutable_buffer buffer) noexcept
      : offset_(offset), total_(buffer.size), start_(buffer.data) {}

  /// `buffers` is borrowed until the transfer is finished.
  transfer(std::uint64_t offset, buffer_list buffers) noexcept
      : offset_(offset), vector_(buffers.first), count_(buffers.count) {
    // A sum beyond the largest file saturates, and is rejected later.
    constexpr std::size_t too_large = max_offset + 1;
    for (const mutable_buffer each : buffers) total_ = each.size < too_large - total_ ? total_ + each.size : too_large;
    if (total_ != 0) skip_finished_buffers();
  }

  std::uint64_t offset() const noexcept { return offset_; }
  std::size_t total() const noexcept { return total_; }
  std::size_t transferred() const noexcept { return transferred_; }

  /// Whether it moves anything, and ends within the largest file. If the total is 0, total - 1 wraps around and is out
  /// of range as well.
  bool moves_within_range() const noexcept {
    static_assert(max_offset == ~std::uint64_t(0) >> 1);
    const std::uint64_t total = total_;
    return ((offset_ | (total - 1) | (offset_ + total)) & ~max_offset) == 0;
  }

  /// The next piece to transfer. Something must be left.
  QIO_ALWAYS_INLINE piece next() const noexcept {
    QIO_CHECK(transferred_ < total_, "the next piece of a transfer was requested, but nothing is left to move");
    const std::uint64_t offset = offset_ + transferred_;
    if (vector_.first != nullptr) [[unlikely]]
      return next_of_several(offset);
    return {offset, {}, 0, rest_of_buffer()};
  }

  /// What one call covers that names a range, and moves nothing: from next_offset() on.
  std::size_t next_range() const noexcept { return lesser_of(total_ - transferred_, max_transfer_bytes); }

  // The parts of next(), for callers that need only some of them.
  bool has_one_buffer() const noexcept { return vector_.first == nullptr; }
  std::uint64_t next_offset() const noexcept { return offset_ + transferred_; }
  mutable_buffer rest_of_buffer() const noexcept {
    const std::size_t left = total_ - transferred_, bytes = left < max_transfer_bytes ? left : max_transfer_bytes;
    return {static_cast<std::byte*>(start_) + transferred_, bytes};
  }

  /// Handles the result of nearly all calls: all that was left was transferred. Returns false, and changes nothing, if
  /// the result is another one. (A transfer in progress has something left. A sync moves nothing, so 0 finishes it.)
  bool is_finished_by(raw_result answer) noexcept {
    if (static_cast<std::size_t>(answer) != total_ - transferred_) return false;
    transferred_ = total_;
    return true;
  }

  /// Handles the result of a read of next(). `alignment` is what the offset of a direct read must be a multiple of; 1
  /// for other reads.
  progress after_read(raw_result answer, std::uint32_t alignment, error& failure) noexcept {
    if (answer <= 0) return answer == 0 ? progress::finished : failed(answer, failure);
    if (advance(static_cast<std::size_t>(answer)) == progress::finished) return progress::finished;
    // A direct read that stops between two blocks has reached the end of the file, and could not continue there.
    const bool between_blocks = ((offset_ + transferred_) & (alignment - 1)) != 0;
    return between_blocks ? progress::finished : progress::unfinished;
  }

  /// Handles the result of a write of next(). A write of 0 bytes without an error is reported as an I/O error, not
  /// retried.
  progress after_write(raw_result answer, error& failure) noexcept {
    if (answer == 0) return failed(std::make_error_code(std::errc::io_error), failure);
    if (answer < 0) return failed(answer, failure);
    return advance(static_cast<std::size_t>(answer));
  }

  /// A part of it was a transfer of its own, which has moved `bytes` bytes.
  void moved(std::size_t bytes) noexcept {
    if (bytes != 0) static_cast<void>(advance(bytes));
  }

  /// The rest of it, or what is at the beginning of that: at most `bytes` bytes, which must not be 0.
  transfer begin_of_rest(std::size_t bytes) const noexcept {
    QIO_CHECK(transferred_ < total_ && bytes != 0, "a part was requested of a transfer that has nothing left to move");
    const std::uint64_t offset = next_offset();
    const auto begin_of = [&](void* start, std::size_t done, std::size_t left) {
      return transfer(offset, mutable_buffer(static_cast<std::byte*>(start) + done, lesser_of(left, bytes)));
    };
    if (vector_.first == nullptr) return begin_of(start_, transferred_, total_ - transferred_);
    // Whole buffers, if the first of them fits.
    transfer several = *this;
    several.offset_ = offset;
    several.total_ = several.transferred_ = several.count_ = 0;
    if (within_ == 0)
      while (several.count_ < count_ && vector_[several.count_].size <= bytes - several.total_)
        several.total_ += vector_[several.count_++].size;
    if (several.total_ != 0) return several;
    return begin_of(vector_[0].data, within_, vector_[0].size - within_);
  }

  /// Handles the result of a call that covered next_range(): 0, or an error.
  progress after_range(raw_result answer, error& failure) noexcept {
    return answer < 0 ? failed(answer, failure) : advance(next_range());
  }

 private:
  static mutable_buffer rest_of(const mutable_buffer& buffer, std::size_t done) noexcept {
    return {static_cast<std::byte*>(buffer.data) + done, lesser_of(buffer.size - done, max_transfer_bytes)};
  }

  QIO_COLD piece next_of_several(std::uint64_t offset) const noexcept {
    if (within_ != 0) return {offset, {}, 0, rest_of(vector_[0], within_)};
    return {offset, vector_, lesser_of(count_, max_transfer_buffers), {}};
  }

  progress failed(raw_result answer, error& failure) const noexcept {
    return failed(std::error_code(static_cast<int>(-answer), platform::system_category()), failure);
  }

  progress failed(std::error_code code, error& failure) const noexcept {
    if (code == std::errc::interrupted) return progress::unfinished;
    failure = error::of_transfer(code, transferred_);
    return progress::finished;
  }

  progress advance(std::size_t bytes) noexcept {
    QIO_CHECK(bytes <= total_ - transferred_, "the system moved more bytes than it was asked to");
    transferred_ += bytes;
    if (transferred_ == total_) return progress::finished;
    if (vector_.first == nullptr) return progress::unfinished;
    within_ += bytes;
    skip_finished_buffers();
    return progress::unfinished;
  }

  // Empty buffers, too: a call with nothing but empty buffers would return 0, as at the end of the file.
  void skip_finished_buffers() noexcept {
    while (within_ >= vector_[0].size) {
      within_ -= vector_[0].size;
      vector_.skip(1);
      --count_;
    }
  }

  std::uint64_t offset_ = 0;
  std::size_t total_ = 0;
  std::size_t transferred_ = 0;
  buffer_array vector_{};  // the current buffer; null if there is only one
  union {
    void* start_ = nullptr;  // of the only buffer
    std::size_t count_;      // of the buffers from vector_[0] on
  };
  std::size_t within_ = 0;  // bytes of vector_[0] that are done
};

}  // namespace detail

// --- What the operations of one file share ---

struct request;

/// The state that the operations of one file share. It belongs to the file. Only its context's thread touches it,
/// except for the failure of a sync. From the first operation on it is in a list of the loop.
struct file_activity : detail::list_hook {
  file_activity() noexcept = default;
  ~file_activity() {
    QIO_CHECK(in_flight == 0, "a file was destroyed while its requests were in flight");
    forget();
  }

  /// Leaves the loop's list.
  void forget() noexcept {
    if (is_linked()) unlink();
    is_plain = false;
  }

  detail::list<request> held;     ///< requests that an engine holds, or is about to get
  detail::list<request> retried;  ///< requests that the loop tries again and again: see detail::retried_request
  detail::list<request> waiting;  ///< requests in queues of their classes: see detail::request_queues
  std::uint32_t in_flight = 0;    ///< requests that an engine holds
  std::uint8_t polled = 0;        ///< a bit for each opcode to be polled; cleared by the engine if the device refuses
  bool is_plain = false;  ///< in the loop's list, neither observed nor scheduled: nothing to do before a submission
  bool writes_durably = false;          ///< every write is complete when it is durable
  bool is_direct = false;               ///< transfers go to the device
  bool writes_to_cache = true;          ///< so that a durable write may get, and take away, the error of another write
  access granted = access::read_write;  ///< what the file was opened for
  std::uint8_t class_number = io_class::none;  ///< of its requests that have none of their own
  file_statistics statistics;
  detail::sync_failure sync_failure;
  detail::sync_epochs epochs;        ///< that an engine holds
  detail::queue<request> held_back;  ///< of these, those that have succeeded, but may overlap one that fails
  QIO_NO_UNIQUE_ADDRESS platform::activity_state system;
  QIO_NO_UNIQUE_ADDRESS detail::checked_count bounced_users;  ///< operations of bounced(), which refer to the file

  std::string path;  ///< that it was opened by, for messages; empty if the handle was adopted

  /// The error of an operation that the file was not opened for: it needs `wanted`, access::read or access::write.
  QIO_COLD error not_granted(access wanted) const noexcept {
    return error(errc::access_not_granted, static_cast<std::uint64_t>(granted), static_cast<std::uint64_t>(wanted))
        .naming(wanted == access::read ? "read" : "write", path.c_str());
  }
  /// The error of a lock that needs an access which the file was not opened for.
  QIO_COLD error lock_not_granted(lock_kind kind) const noexcept {
    const access wanted = kind == lock_kind::shared ? access::read : access::write;
    return error(errc::access_not_granted, static_cast<std::uint64_t>(granted), static_cast<std::uint64_t>(wanted))
        .naming(kind == lock_kind::shared ? "take a shared lock of" : "take an exclusive lock of", path.c_str());
  }
  /// The error of a transfer that has failed, or was refused. One that was canceled names no file: cancellations are
  /// frequent, and nobody's failure.
  QIO_COLD error of_transfer(const error& failure, opcode op) const noexcept {
    return failure.naming(op == opcode::read ? "read" : op == opcode::write ? "write" : "write back", path.c_str());
  }
  /// The error of a sync, after which data may be lost.
  QIO_COLD error of_sync(const error& failure) const noexcept { return failure.naming("sync", path.c_str()); }

  bool may_read() const noexcept { return granted != access::write; }
  bool may_write() const noexcept { return granted != access::read; }

  bool is_polled(opcode op) const noexcept { return ((polled >> static_cast<unsigned>(op)) & 1) != 0; }
  void poll(opcode op) noexcept { polled |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(op)); }
};

// --- One operation ---

namespace detail {

class inline_turn;  // of the loop

/// Tries to carry out a request on the loop's thread. True if it is complete. `in_flight` is the number of
/// requests that the engine has, and one more if it is about to get some.
using inline_attempt = bool (*)(request&, inline_turn& turn, std::size_t in_flight) noexcept;

/// What carries out a request that Linux's engine holds, if its ring supports the operation, or it has no ring; and of
/// a completed request of any engine, `workers` if a worker has carried it out. `kernel_thread`: the ring, which leaves
/// it to a thread of the kernel from the start.
enum class uring_place : std::uint8_t { ring, kernel_thread, polled_ring, aio, workers };

}  // namespace detail

/// One operation as an engine sees it. It is a base of the operation object in the caller's frame, so the engine
/// neither allocates nor frees it. It must not move from submit() until it is in the list of completed requests.
/// Members without an initial value are set before they are read.
struct request : detail::list_hook {
  QIO_ALWAYS_INLINE request() noexcept {}
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  ~request() { QIO_CHECK(!is_held(), "an operation was destroyed while the system used its memory"); }

  // The work to do. Set before submit().
  opcode op = opcode::read;
  sync_kind sync = sync_kind::everything;
  std::uint8_t class_number = io_class::none;  ///< if it is not that of its file
  platform::native_handle handle = platform::invalid_handle;
  platform::transfer_flags flags = 0;       ///< of a read or a write
  std::uint32_t block = 1;                  ///< what the offset of a direct read is a multiple of; 1 if not direct
  detail::transfer io;                      ///< of a read, a write or a writeback: where, and how much of it is done
  result<void> (*call)(request&) noexcept;  ///< of opcode::call only
  void* argument;                           ///< of opcode::call only, for that function
  file_activity* activity = nullptr;
  detail::inline_attempt attempt = nullptr;  ///< of the loop, before it asks an engine; null if there is none
  bool needs_no_engine =
      false;  ///< complete without an engine: empty, refused with the reason in `failure`, or served inline
  std::uint32_t queued_for;  ///< microseconds in the queues of the engine

  // The result. For a read or a write, io.transferred() is part of it.
  error failure;  ///< does not exist() if it succeeded

  // For the engine, from submit() to completion.
  request* next;
  request* previous;
  bool queued = false;  ///< in a queue of the engine
  detail::uring_place place = detail::uring_place::ring;
  struct {
    std::uint32_t end_of_all;  ///< when it is no longer held back
    detail::sync_epochs::epoch epoch;
    bool is_held_back;
    bool has_overlapped_failure;
  } sync_state;  ///< if overlaps_syncs()
  QIO_NO_UNIQUE_ADDRESS platform::request_state system;
  QIO_NO_UNIQUE_ADDRESS detail::checked_flag submitted;
  std::atomic<bool> cancel_requested = false;  ///< atomic: workers read it between two pieces

  /// The context calls it on its thread when the request is complete.
  void (*completed)(request&) noexcept;

  /// When it was submitted, or the attempt began that served it inline, since the clock's epoch. Set if the loop is
  /// observed, as queued_for.
  detail::clock::rep started_at;

  /// Between submit() and the list of completed requests.
  bool is_held() const noexcept { return is_linked(); }
  bool failed() const noexcept { return failure.exists(); }
  /// Whether it is a write that is complete when it is durable.
  bool is_durable_write() const noexcept {
    return op == opcode::write && ((flags & platform::durable) != 0 || activity->writes_durably);
  }

  /// Whether the error of another sync of the file may be its own, or the other way around: see sync_failure.
  bool overlaps_syncs() const noexcept {
    return op == opcode::sync || (is_durable_write() && activity->writes_to_cache);
  }
  /// Whether the system has completed it, but it waits for others.
  bool is_held_back() const noexcept { return overlaps_syncs() && is_held() && sync_state.is_held_back; }

  void fail_as_canceled() noexcept {
    failure = error::of_transfer(std::make_error_code(std::errc::operation_canceled), io.transferred());
  }
};

/// Completed requests, in the order in which the engine found them.
using completed_requests = detail::queue<request>;

namespace detail {

// --- Applies the results of system calls to a request, and carries out whole requests by blocking calls ---

/// A write has failed with the system's error. If the limit on the size of files ends within a block, the kernel cuts a
/// direct write off there, and refuses it as misaligned, unless the file system writes the rest through its cache.
///
/// A durable write that fails counts as a failed sync: the system has reported the error to the write, and will not
/// report it to the next sync.
QIO_COLD inline void judge_write(file_activity& activity, platform::native_handle handle, const transfer& io,
                                 platform::transfer_flags flags, error& failure) noexcept {
  if (activity.is_direct && failure == std::errc::invalid_argument &&
      platform::passes_size_limit(handle, io.offset() + io.total()))
    failure = error::of_transfer(std::make_error_code(std::errc::file_too_large), io.transferred());
  if (activity.writes_durably || (flags & platform::durable) != 0) activity.sync_failure.note_write(failure);
}

/// `r`, a transfer, has failed with the system's error. Systems have different errors for a transfer that the file was
/// not opened for; qio has one.
QIO_COLD inline void judge_failure(request& r) noexcept {
  file_activity& file = *r.activity;
  if (r.op == opcode::read ? !file.may_read() : !file.may_write()) {
    r.failure = file.not_granted(r.op == opcode::read ? access::read : access::write);
    return;
  }
  if (r.op == opcode::write) judge_write(file, r.handle, r.io, r.flags, r.failure);
  r.failure = file.of_transfer(r.failure, r.op);
}

/// Handles the system's result for the current piece of a read or a write. True if the request is finished.
inline bool take_answer(request& r, raw_result answer) noexcept {
  QIO_CHECK(r.op == opcode::read || r.op == opcode::write,
            "the result of a transfer was applied to another kind of operation");
  const auto progress =
      r.op == opcode::read ? r.io.after_read(answer, r.block, r.failure) : r.io.after_write(answer, r.failure);
  if (answer <= 0 && r.failed()) [[unlikely]]
    judge_failure(r);
  if (progress == transfer::progress::finished) return true;
  if (!r.cancel_requested.load(std::memory_order_relaxed)) return false;
  r.fail_as_canceled();
  return true;
}

/// Handles the system's result for the current part of a writeback. True if the request is finished.
inline bool take_writeback(request& r, raw_result answer) noexcept {
  if (r.io.after_range(answer, r.failure) == transfer::progress::finished) {
    if (r.failed()) r.failure = r.activity->of_transfer(r.failure, r.op);
    return true;
  }
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

}  // namespace detail
QIO_END_NAMESPACE
