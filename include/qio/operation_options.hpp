// SPDX-License-Identifier: BSL-1.0
// Options of one operation: when it is to end early (a deadline, a stop token), and whether a write is durable.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/io_class.hpp>

#include <stop_token>

QIO_BEGIN_NAMESPACE

/// A point in time, given as one or as a duration from now. None by default.
class deadline {
 public:
  using clock = std::chrono::steady_clock;  ///< the clock that it is a time of

  constexpr deadline() noexcept = default;
  /// At that time.
  constexpr deadline(clock::time_point when) noexcept : when_(when) {}
  /// `from_now` after now. More than a century (hours::max(), say) means no deadline; a negative duration has passed.
  template <class Representation, class Period>
  deadline(std::chrono::duration<Representation, Period> from_now) noexcept : when_(after(from_now)) {}

  /// False if there is none.
  constexpr bool exists() const noexcept { return when_ != (clock::time_point::max)(); }
  /// The time; clock::time_point::max() if there is none.
  constexpr clock::time_point when() const noexcept { return when_; }

 private:
  template <class Duration>
  static clock::time_point after(Duration from_now) noexcept {
    constexpr std::chrono::duration<double> century = std::chrono::hours(24 * 36525);
    const std::chrono::duration<double> approximately = from_now;
    if (approximately < -century) return (clock::time_point::min)();
    if (approximately <= century) return clock::now() + std::chrono::duration_cast<clock::duration>(from_now);
    return (clock::time_point::max)();  // for a duration that is not a number, too
  }

  clock::time_point when_ = (clock::time_point::max)();
};

/// Refers to a stop token until the operation is made, which copies it. Trivially destructible on purpose: GCC 12
/// destroys twice what is initialized in braces within a co_await expression. So it takes named tokens only.
class stop_reference {
 public:
  constexpr stop_reference() noexcept = default;
  /// Refers to a token, which must exist until the operation has been made.
  stop_reference(const std::stop_token& token) noexcept : token_(&token) {}
  stop_reference(const std::stop_token&&) = delete;

  /// The token, or one that never stops.
  std::stop_token token() const noexcept { return token_ == nullptr ? std::stop_token() : *token_; }

 private:
  const std::stop_token* token_ = nullptr;
};

/// When to end an operation early.
///
/// An operation whose deadline has passed, or whose stop was requested, before it starts does not start: it moves no
/// byte. Later, ending early is a request, and the result is what really happened: an operation that finished in spite
/// of it succeeds; one that ended early fails with std::errc::timed_out or std::errc::operation_canceled, and
/// error.transferred() is the number of bytes that it had moved by then.
///
///     const std::stop_token stop = source.get_token();  // named: see stop_reference
///     auto bytes = co_await file.async_read_at(offset, buffer, {.deadline = 100ms, .stop = stop});
struct operation_options {
  qio::deadline deadline = {};  ///< ends it at this time, or after this duration
  stop_reference stop = {};     ///< ends it when a stop is requested, by any thread
  /// The class of a read or a write, if it differs from that of the file. If the context has another scheduler, the
  /// operation fails with errc::foreign_io_class before it starts. Other operations ignore it.
  qio::io_class io_class = {};
};

/// Options of one asynchronous write: `file.async_write_at(0, record, {.durable = true, .deadline = 5ms})`.
struct write_options {
  /// The write succeeds only when its bytes are durable, along with everything that is needed to read them back, such
  /// as a new size: as if these bytes had been synced with sync_kind::data_and_size. All writes of a file that was
  /// opened with open_options::durable_writes are durable, regardless of this option. A durable write is never served
  /// inline or polled, and the context does not spin for it. A failed one counts as a failed sync: see
  /// basic_file::sync().
  ///
  /// On Linux, the write carries a flag for this (RWF_DSYNC). Where that is refused, and on Windows, the file is synced
  /// after the write, which costs more if other writes of the file are not durable yet.
  bool durable = false;
  /// After a crash or a power failure, the file contains all of the write or none of it (RWF_ATOMIC). This does not
  /// make the write durable, and a concurrent reader may see a part of it. Requires a direct file whose
  /// atomic_write_limits() are not 0 (otherwise errc::untorn_not_supported), a single buffer (errc::untorn_buffers), a
  /// length that is a power of two within the limits (errc::untorn_length), and an offset that is a multiple of the
  /// length (errc::untorn_offset).
  bool untorn = false;
  qio::deadline deadline = {};  ///< see operation_options
  stop_reference stop = {};     ///< see operation_options
  qio::io_class io_class = {};  ///< see operation_options
};

/// Options of one blocking write: `file.write_at(0, record, {.durable = true})`. See write_options.
struct blocking_write_options {
  bool durable = false;  ///< see write_options::durable
  bool untorn = false;   ///< see write_options::untorn
};

QIO_END_NAMESPACE
