// SPDX-License-Identifier: BSL-1.0
// The results of file.statistics(), context.waits(), context.stalls() and bounce_pool::statistics().
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

QIO_BEGIN_NAMESPACE

/// How many operations of a file were served on each path.
struct file_statistics {
  std::uint64_t served_inline = 0;     ///< immediately, on the context's thread
  std::uint64_t served_by_ring = 0;    ///< by io_uring or Linux AIO, through a completion port, or simulated
  std::uint64_t polled = 0;            ///< of those by io_uring: completed by polling the device
  std::uint64_t served_by_worker = 0;  ///< by a blocking call on a worker thread
  std::uint64_t bounced = 0;           ///< reads and writes that went through a bounce_pool: see bounced()
  /// Operations that made the context's thread wait: inline ones (see open_options::inline_reads); reads through the
  /// page cache, of which so many were submitted to the ring at once (about 50 of 4 KiB) that this waited for 0.5 ms or
  /// longer (of several that are submitted together, one counts); and direct writes, if their submission to Linux AIO
  /// waited for as long. Opens, closes, and writes known to need no page read count from 200 us on, others from 20 us
  /// plus twice the time of the copy on.
  std::uint64_t blocked_submissions = 0;
};

/// What went through a bounce_pool so far. See bounce_pool::statistics().
struct bounce_statistics {
  std::uint64_t requests = 0;     ///< reads and writes that went through the pool, each counted once
  std::uint64_t transfers = 0;    ///< transfers made for them: fewer than requests where reads were merged
  std::uint64_t transferred = 0;  ///< bytes that these transfers moved between the file and the pool
  std::uint64_t copied = 0;       ///< bytes that were copied between the pool and the callers' buffers
  std::uint64_t waits = 0;        ///< how often an operation had to wait for a slot
};

/// How a context waited for its operations. Each member is a number of waits.
struct wait_statistics {
  std::uint64_t asleep = 0;         ///< in the kernel, from the start
  std::uint64_t awake = 0;          ///< watching the ring, until something completed
  std::uint64_t awake_in_vain = 0;  ///< watching the ring until the limit (0.2 ms) or the next deadline, then asleep
};

/// What a context's thread did when something due had to wait for it.
enum class stall_cause : std::uint8_t {
  none,        ///< nothing has waited yet
  program,     ///< coroutines and callbacks of the program, or many short operations; or the thread had no CPU
  reading,     ///< an inline read that waited
  writing,     ///< an inline write that waited
  opening,     ///< an inline open that waited
  closing,     ///< an inline close that waited
  submitting,  ///< the submission of reads through the page cache to the ring, or of direct writes to Linux AIO
};

/// "program", "reading" ...
constexpr std::string_view name_of(stall_cause cause) noexcept {
  switch (cause) {
    case stall_cause::none: return "none";
    case stall_cause::program: return "program";
    case stall_cause::reading: return "reading";
    case stall_cause::writing: return "writing";
    case stall_cause::opening: return "opening";
    case stall_cause::closing: return "closing";
    case stall_cause::submitting: return "submitting";
  }
  return {};
}

/// How long things that were due had to wait for a context's thread: the result of context.stalls(). A timer (the end
/// of a sleep, a deadline) waits from its time on, and what was posted, since then. An operation that has completed
/// counts as if it had waited since the turn before, or since the call of run() or poll(). Operations that one turn
/// finds together do not count as waiting for each other.
struct stall_statistics {
  /// late[0] counts the turns that found something due which had waited for less than 2 us; late[i], for at least 2^i
  /// us and less than twice that. A turn counts once.
  std::array<std::uint64_t, 54> late{};
  std::chrono::nanoseconds longest{};     ///< the longest such wait
  stall_cause cause = stall_cause::none;  ///< what the thread did meanwhile, for the most part
  std::string path;  ///< of the file, for a cause that has one: at most the last 255 bytes; empty if it was adopted

  /// How many turns found something that had waited for at least `time`, which is rounded up to a power of two of
  /// microseconds.
  std::uint64_t longer_than(std::chrono::nanoseconds time) const noexcept {
    std::uint64_t turns = 0;
    for (std::size_t i = 0; i < late.size(); ++i)
      if (std::chrono::microseconds(i == 0 ? 0 : std::int64_t(1) << i) >= time) turns += late[i];
    return turns;
  }
};

QIO_END_NAMESPACE
