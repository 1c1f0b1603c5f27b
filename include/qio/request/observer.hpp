// SPDX-License-Identifier: BSL-1.0
// What a loop tells about the operations that have ended. Their parts are in qio/observer.hpp, which programs include
// that want to know.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/io_class.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

QIO_BEGIN_NAMESPACE

enum class operation_kind : std::uint8_t;

/// What served an operation.
enum class operation_path : std::uint8_t {
  inlined,  ///< the context's thread, at once
  ring,     ///< io_uring or Linux AIO, a completion port, or the simulation
  worker,   ///< a blocking call on a worker thread
};

/// An operation that has ended, or a part of a batch. What it refers to exists during operation_observer::ended(). To
/// ask for anything, include qio/observer.hpp.
class ended_operation {
 public:
  using clock = std::chrono::steady_clock;  ///< the clock of its times; simulated time in a simulation

  /// For loops.
  ended_operation(const request& of, operation_path by, clock::time_point end) noexcept
      : request_(of), path_(by), ended_(end) {}

  /// What it was.
  operation_kind kind() const noexcept;
  /// What served it.
  operation_path path() const noexcept { return path_; }

  /// Where a transfer began in the file; 0 of others.
  std::uint64_t offset() const noexcept;
  /// How many bytes it was to move; 0 of others.
  std::size_t bytes() const noexcept;
  /// How many it has moved; 0 of others.
  std::size_t transferred() const noexcept;
  /// Why it failed. Does not exist() if it succeeded. Nobody knows yet whether a deadline has canceled it: then it is
  /// std::errc::operation_canceled.
  const error& failure() const noexcept { return request_.failure; }
  /// The path that its file was opened by; empty if the handle was adopted, or there is none.
  std::string_view file() const noexcept;

  /// Whether it is in this class of its context's scheduler, by its own options or those of its file or context.
  bool is_of(const io_class& asked) const noexcept;

  /// When it was handed to the engine, or to the queue of its class; if it was served inline, when the call began.
  clock::time_point started() const noexcept { return clock::time_point(clock::duration(request_.started_at)); }
  /// When the context's thread learned that it had ended; if it was served inline, when the call ended.
  clock::time_point ended() const noexcept { return ended_; }
  /// From one to the other.
  clock::duration took() const noexcept { return ended_ - started(); }
  /// The part of that in qio's own queues: until a worker took it, until there was a place for it in the ring, until it
  /// was the turn of its class, or until it was canceled there. In microseconds, rounded down, up to 71 minutes.
  clock::duration queued() const noexcept { return std::chrono::microseconds(request_.queued_for); }

 private:
  bool moves() const noexcept;

  const request& request_;
  operation_path path_;
  clock::time_point ended_;
};

/// Hears of each operation of a context that has ended: see context_options::observer. It must live longer than the
/// context, and than all files that were opened on it.
class operation_observer {
 public:
  operation_observer() noexcept = default;
  operation_observer(const operation_observer&) = delete;
  operation_observer& operator=(const operation_observer&) = delete;

  /// Called on the thread of the context, before the operation's coroutine is resumed or its callback called. An
  /// observer of several contexts is called by several threads. It must not use the context. What it does delays what
  /// the context does next.
  virtual void ended(const ended_operation& what) noexcept = 0;

 protected:
  ~operation_observer() = default;
};

QIO_END_NAMESPACE
