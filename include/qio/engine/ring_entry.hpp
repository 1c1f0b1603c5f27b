// SPDX-License-Identifier: BSL-1.0
// A request as an entry of a ring, and what the entry's completion means for it.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/ring_setup.hpp>
#include <qio/request/probes.hpp>
#include <qio/request/request.hpp>
#include <qio/system/platform.hpp>

#include <fcntl.h>
#include <liburing/compat.h>
#include <liburing/io_uring.h>
#include <poll.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- into an entry ---

// The user_data of entries without a request. Odd, while the address of a request is even.
inline constexpr std::uint64_t cancel_tag = 1;
inline constexpr std::uint64_t wake_tag = 3;

constexpr bool is_tag(std::uint64_t user_data) noexcept { return (user_data & 1) != 0; }

/// The request whose address an entry carries: the kernel returns it in the completion.
inline request& request_of(std::uint64_t user_data) noexcept {
  QIO_CHECK(!is_tag(user_data) && user_data != 0, "the kernel completed an entry that carries no request");
  return *reinterpret_cast<request*>(static_cast<std::uintptr_t>(user_data));
}

// In the kernel's opcodes as in qio's, write follows read.
static_assert(IORING_OP_WRITE == IORING_OP_READ + 1 && IORING_OP_WRITEV == IORING_OP_READV + 1);
static_assert(static_cast<unsigned>(opcode::read) == 0 && static_cast<unsigned>(opcode::write) == 1);

inline void prepare_single(io_uring_sqe& entry, const mutable_buffer& buffer, opcode op,
                           const registered_memory& memory) noexcept {
  entry.opcode = static_cast<std::uint8_t>(IORING_OP_READ + static_cast<unsigned>(op));
  entry.addr = reinterpret_cast<std::uintptr_t>(buffer.data);
  entry.len = static_cast<unsigned>(buffer.size);  // at most max_transfer_bytes
  memory.name(entry);
}

QIO_NOINLINE inline void prepare_piece(io_uring_sqe& entry, const piece& piece, opcode op,
                                       const registered_memory& memory) noexcept {
  if (piece.vector == nullptr) return prepare_single(entry, piece.single, op, memory);
  entry.opcode = static_cast<std::uint8_t>(IORING_OP_READV + static_cast<unsigned>(op));
  entry.addr = reinterpret_cast<std::uintptr_t>(piece.vector.data());
  entry.len = static_cast<unsigned>(piece.vector_size);
}

inline void prepare_sync(io_uring_sqe& entry, sync_kind kind) noexcept {
  entry.opcode = IORING_OP_FSYNC;
  // Data and size are the same to Linux: see platform::sync.
  entry.fsync_flags = kind == sync_kind::everything ? 0 : IORING_FSYNC_DATASYNC;
}

inline void prepare_writeback(io_uring_sqe& entry, const transfer& range) noexcept {
  entry.opcode = IORING_OP_SYNC_FILE_RANGE;
  entry.off = range.next_offset();
  entry.len = static_cast<unsigned>(range.next_range());  // at most max_transfer_bytes
  entry.sync_range_flags = SYNC_FILE_RANGE_WRITE;
}

/// For what moves no bytes.
inline void prepare_other(io_uring_sqe& entry, const request& r) noexcept {
  if (r.op == opcode::sync) return prepare_sync(entry, r.sync);
  prepare_writeback(entry, r.io);
}

/// Fills in everything but the file, which each ring names in its own way. `entry` must be zeroed.
QIO_PROBED inline void prepare(io_uring_sqe& entry, const request& r, const registered_memory& memory) noexcept {
  QIO_CHECK(r.is_held(), "a request was handed to the kernel that was not submitted or is complete");
  QIO_CHECK(r.op != opcode::call, "opcode::call is for workers; the kernel has no such operation");
  entry.user_data = reinterpret_cast<std::uintptr_t>(&r);
  QIO_CHECK(!is_tag(entry.user_data), "the address of a request is odd");
  QIO_PROBE_SUBMIT(r, 1);
  if (r.op > opcode::write) return prepare_other(entry, r);
  QIO_CHECK(r.io.transferred() < r.io.total(), "a transfer that has nothing left to move was handed to the kernel");
  entry.off = r.io.next_offset();
  entry.rw_flags = r.flags;
  if (r.io.has_one_buffer()) [[likely]]
    prepare_single(entry, r.io.rest_of_buffer(), r.op, memory);
  else
    prepare_piece(entry, r.io.next(), r.op, memory);
}

/// prepare() for a transfer of one buffer. Always inlined: its caller prepares many.
QIO_ALWAYS_INLINE inline void prepare_one_of_many(io_uring_sqe& entry, const request& r,
                                                  const registered_memory& memory) noexcept {
  QIO_CHECK(r.is_held() && r.io.has_one_buffer() && r.io.transferred() < r.io.total(),
            "a transfer was handed to the kernel as one of many that is complete or has several buffers");
  entry.user_data = reinterpret_cast<std::uintptr_t>(&r);
  QIO_CHECK(!is_tag(entry.user_data), "the address of a request is odd");
  QIO_PROBE_SUBMIT(r, 1);
  entry.off = r.io.next_offset();
  entry.rw_flags = r.flags;
  prepare_single(entry, r.io.rest_of_buffer(), r.op, memory);
}

inline void prepare_cancel(io_uring_sqe& entry, const request& of) noexcept {
  entry.opcode = IORING_OP_ASYNC_CANCEL;
  entry.fd = -1;
  entry.addr = reinterpret_cast<std::uintptr_t>(&of);
  entry.user_data = cancel_tag;
}

/// Completes once `descriptor` is readable.
inline void prepare_listening(io_uring_sqe& entry, int descriptor) noexcept {
  entry.opcode = IORING_OP_POLL_ADD;
  entry.fd = descriptor;
  // The kernel takes two 16-bit halves, the lower first.
  entry.poll32_events = std::endian::native == std::endian::little ? POLLIN : unsigned{POLLIN} << 16;
  entry.user_data = wake_tag;
}

// --- from a completion ---

/// Whether the kernel gave up a request that nobody has canceled. It does so with what its ring cannot do without
/// waiting (a sync, a durable write), if it can start no worker thread, for example at RLIMIT_NPROC. Such a request is
/// not finished.
inline bool lacks_kernel_worker(const request& r, int answer) noexcept {
  return answer == -ECANCELED && !r.cancel_requested.load(std::memory_order_relaxed);
}

/// Whether the kernel returned a transfer that would have to wait, instead of waiting for it: Linux 6.1 does so with a
/// direct read beside writes of the same file. A file whose transfers may not wait is not on a context, so this is no
/// result.
inline bool was_not_waited_for(const request& r, int answer) noexcept {
  return answer == -EAGAIN && r.op <= opcode::write;
}

/// Handles any result other than "all that was left". True if `r` is finished.
QIO_NOINLINE inline bool ends_otherwise(request& r, int answer) noexcept {
  if (answer == -ECANCELED || was_not_waited_for(r, answer)) {
    if (!r.cancel_requested.load(std::memory_order_relaxed)) return false;
    r.fail_as_canceled();
    return true;
  }
  if (r.op == opcode::writeback) return take_writeback(r, answer);
  if (r.op != opcode::sync) return take_answer(r, answer);
  if (answer == -EINTR) {
    if (!r.cancel_requested.load(std::memory_order_relaxed)) return false;
    r.fail_as_canceled();
  } else if (answer < 0) {
    r.failure = platform::system_error(-answer);
    r.activity->sync_failure.note(r.failure);
  }
  return true;
}

/// Handles the result of the last entry of `r`. True if `r` is finished; if not, the rest must be submitted.
inline bool finishes(request& r, int answer) noexcept {
  QIO_CHECK(r.is_held(), "the kernel completed a request that is not in flight");
  return r.io.is_finished_by(answer) || ends_otherwise(r, answer);
}

}  // namespace detail
QIO_END_NAMESPACE
