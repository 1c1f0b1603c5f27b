// The steps of a sequence. A step depends on the seed and on its number alone, so steps can be left out without
// changing the others.
#pragma once

#include <qio/if_exists.hpp>
#include <qio/mode.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace property {

enum class mode : std::uint8_t { cached, uncached, direct, mapped };
inline constexpr std::size_t modes = 4;
std::string_view name(mode mode);

/// look and change read and write through a view. From allocate on, they are those of the file's space.
enum class action : std::uint8_t {
  read,
  write,
  sync,
  resize,
  look,
  change,
  writeback,
  allocate,
  discard,
  zero,
  next_data,
  clone,
  copy,
};
inline constexpr std::size_t actions = 13;
std::string_view name(action action);
inline bool is_of_space(action what) { return what >= action::allocate; }
inline bool makes_zeros(action what) { return what == action::discard || what == action::zero; }
inline bool copies(action what) { return what == action::clone || what == action::copy; }

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
  bool keep_size = false;    ///< of an allocate
  std::uint64_t from = 0;    ///< of a clone or a copy: where the range begins, in the same file
  std::size_t source = 0;    ///< … the context through whose file it is read
  unsigned patience_us = 0;  ///< until the deadline
};

/// What is done with the names beside the file, and with the files that have them.
struct name_change {
  /// give_name: a file without a name is written as a stream, and then gets one. read_file reads one as a stream.
  enum class kind : std::uint8_t { replace_file, rename, link, remove, give_name, copy_file, read_file, list };

  kind what = kind::replace_file;
  qio::if_exists how = qio::if_exists::replace;  ///< of a rename
  std::size_t from = 0, to = 0;                  ///< indices of names
  std::size_t bytes = 0;                         ///< of the new contents
  std::size_t piece = 1;                         ///< bytes that a program gives to a stream, or takes, at once
  std::size_t block_bytes = 0;                   ///< of a stream; 0: as many as it chooses
  bool streams = false;                          ///< the contents of a replace_file are written as a stream
  bool durable = false;
  bool asynchronous = false;
};
inline constexpr std::size_t name_changes = 8;
inline constexpr std::array<const char*, 3> side_names = {"a", "b", "c"};

struct step {
  enum class kind : std::uint8_t { transfers, reopen, restart, names, crash };
  enum class finale : std::uint8_t { wait, close_file, destroy_context, crash };
  /// What waits for the awaited transfers: when_all, a task_scope, for all or for one after the other with at most two
  /// in flight, or when_any, which cancels all but the first.
  enum class joining : std::uint8_t { all, scope, each, first };

  kind what = kind::transfers;
  std::vector<transfer> transfers;   ///< in flight at once, on disjoint ranges
  std::vector<name_change> changes;  ///< of names, one after the other
  finale end = finale::wait;         ///< while they are in flight
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
  bool crashes = false;               ///< the disk may crash
  std::array<bool, actions> lacks{};  ///< what the file system does not support
  std::size_t unit = 1;               ///< what direct transfers must be multiples of

  bool has(property::mode mode) const;
};

/// Chooses modes and the number of contexts from the available ones, and the size.
surroundings surroundings_of(std::uint64_t seed, surroundings possible);

step make_step(std::uint64_t seed, std::uint64_t number, const surroundings& in);

/// A line for each transfer.
std::string text(const step& step);
std::string text(const transfer& transfer);
std::string text(const name_change& change);

}  // namespace property
