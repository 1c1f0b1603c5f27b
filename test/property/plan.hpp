// What is done in a sequence: all of it follows from its seed, and each step from the seed and its number alone, so
// that steps can be left out and the others stay what they are.
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

/// look: through a view; change: likewise.
enum class action : std::uint8_t { read, write, sync, resize, look, change };
inline constexpr std::size_t actions = 6;
std::string_view name(action action);

enum class way : std::uint8_t { blocking, awaited, started };

/// What is done to an asynchronous transfer so that it may end early.
enum class ending : std::uint8_t {
  none,
  deadline,
  stopped_before,     ///< its stop was requested before it was started,
  stopped_later,      ///< … after that,
  stopped_elsewhere,  ///< … by another thread
  cancelled_at_once,
  cancelled_later,
  destroyed_at_once,
  destroyed_later,
};

struct transfer {
  action what = action::read;
  property::mode mode = mode::cached;
  way how = way::blocking;
  property::ending ending = ending::none;
  std::uint64_t offset = 0;  ///< or the size, of a resize
  std::size_t bytes = 0;
  std::size_t pieces = 0;  ///< buffers; 0: one, and no vectored transfer
  qio::sync_kind kind = qio::sync_kind::everything;
  unsigned patience_us = 0;  ///< of a deadline
};

struct step {
  enum class kind : std::uint8_t { transfers, reopen, restart };
  enum class finale : std::uint8_t { wait, close_file, destroy_context };

  kind what = kind::transfers;
  std::vector<transfer> transfers;     ///< in flight at once, on disjoint ranges
  finale end = finale::wait;           ///< while they are
  property::mode mode = mode::cached;  ///< which file is closed or opened again
  bool polls = false;                  ///< before what happens later
  bool asynchronously = false;         ///< closed and opened
};

/// Where a sequence takes place.
struct surroundings {
  std::vector<property::mode> modes;  ///< that the file is open in, at once
  bool asynchronous = false;          ///< there is an engine
  bool threads_stop = false;          ///< a stop may be requested by another thread
  bool mapped_may_be_cut = false;     ///< a file that is mapped may be made shorter by other handles
  bool mapped_shows_direct = false;   ///< else the file is not open in both modes
  std::uint64_t limit = 0;            ///< the largest size of the file
  std::size_t unit = 1;               ///< what direct transfers must be multiples of

  bool has(property::mode mode) const;
};

/// Chooses the modes among those that can be had, and the size.
surroundings surroundings_of(std::uint64_t seed, surroundings possible);

step make_step(std::uint64_t seed, std::uint64_t number, const surroundings& in);

/// A line for each transfer.
std::string text(const step& step);
std::string text(const transfer& transfer);

}  // namespace property
