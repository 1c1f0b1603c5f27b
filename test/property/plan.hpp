// The steps of a sequence. A step depends on the seed and on its number alone, so steps can be left out without
// changing the others.
#pragma once

#include <qio/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace property {

enum class mode : std::uint8_t { cached, uncached, direct, mapped };
inline constexpr std::size_t modes = 4;
std::string_view name(mode mode);

/// look and change read and write through a view.
enum class action : std::uint8_t { read, write, sync, resize, look, change, writeback };
inline constexpr std::size_t actions = 7;
std::string_view name(action action);

enum class way : std::uint8_t { blocking, awaited, started };

/// What may end an asynchronous transfer early.
enum class ending : std::uint8_t {
  none,
  deadline,
  stopped_before,     ///< its stop is requested before it starts,
  stopped_later,      ///< … after it has started,
  stopped_elsewhere,  ///< … by another thread
  canceled_at_once,
  canceled_later,
  destroyed_at_once,
  destroyed_later,
};

struct transfer {
  action what = action::read;
  property::mode mode = mode::cached;
  std::size_t context = 0;  ///< 1: through the second context's file
  way how = way::blocking;
  property::ending ending = ending::none;
  std::uint64_t offset = 0;  ///< the new size, if this is a resize
  std::size_t bytes = 0;
  std::size_t pieces = 0;  ///< buffers of a vectored transfer; 0: not vectored
  bool batch = false;      ///< the buffers are requests of a batch
  bool bounced = false;    ///< through a pool, into memory at odd addresses and, in a batch, of odd sizes
  qio::sync_kind kind = qio::sync_kind::everything;
  bool durable = false;      ///< of a write: write_options::durable
  bool untorn = false;       ///< of a write: write_options::untorn
  bool then_sync = false;    ///< of a write: async_write_and_sync()
  unsigned patience_us = 0;  ///< until the deadline
};

struct step {
  enum class kind : std::uint8_t { transfers, reopen, restart };
  enum class finale : std::uint8_t { wait, close_file, destroy_context };
  /// What waits for the awaited transfers: when_all, a task_scope, for all or for one after the other with at most two
  /// in flight, or when_any, which cancels all but the first.
  enum class joining : std::uint8_t { all, scope, each, first };

  kind what = kind::transfers;
  std::vector<transfer> transfers;  ///< in flight at once, on disjoint ranges
  finale end = finale::wait;        ///< while they are in flight
  joining join = joining::all;
  property::mode mode = mode::cached;  ///< which file is closed or reopened,
  std::size_t context = 0;             ///< … of which context, or which context is destroyed
  bool on_all_contexts = false;        ///< the files of both contexts are reopened
  bool polls = false;                  ///< instead of waiting for posted calls, and before what happens later
  bool asynchronously = false;         ///< close and open
  bool posted = false;                 ///< the started transfers are started by calls that another thread posts
};

/// The conditions of a sequence.
struct surroundings {
  std::vector<property::mode> modes;  ///< in which the file is open at once
  bool asynchronous = false;          ///< there is an engine
  std::size_t contexts = 1;           ///< 2: a second context shares the files of the first (share_with)
  bool threads_stop = false;          ///< another thread may request a stop
  bool mapped_may_be_cut = false;     ///< other handles may truncate a mapped file
  bool mapped_shows_direct = false;   ///< if not, the file is not open in both modes
  std::uint64_t limit = 0;            ///< the largest size of the file
  bool has_writeback = true;          ///< start_writeback() is available
  qio::atomic_write_limits untorn;    ///< of a direct file
  std::size_t unit = 1;               ///< what direct transfers must be multiples of

  bool has(property::mode mode) const;
};

/// Chooses modes and the number of contexts from the available ones, and the size.
surroundings surroundings_of(std::uint64_t seed, surroundings possible);

step make_step(std::uint64_t seed, std::uint64_t number, const surroundings& in);

/// A line for each transfer.
std::string text(const step& step);
std::string text(const transfer& transfer);

}  // namespace property
