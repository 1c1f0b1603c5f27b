// The steps of a sequence that appends to a log. As in plan.hpp, a step depends on the seed and on its number alone.
#pragma once

#include "plan.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace property {

/// A task that appends records one after another, or records that are appended at once with callbacks.
struct appender {
  way how = way::awaited;
  property::ending ending = ending::none;  ///< or destroyed_at_once, of callbacks, or destroyed_later
  std::vector<std::size_t> records;        ///< the length of each
};

struct log_step {
  /// reread also reads the log with read_log() before it is opened again. restart begins with a new context. rival
  /// tries to open the log, and reads it, while it is open. lose_header overwrites a copy of the header before the log
  /// is opened again.
  enum class kind : std::uint8_t { append, reopen, reread, restart, rival, lose_header };
  /// What happens while records are in flight. Then the log is opened again.
  enum class finale : std::uint8_t { wait, destroy_log, destroy_context };

  kind what = kind::append;
  std::vector<appender> appenders;  ///< all at once
  std::uint64_t trims = 0;          ///< beside them, a task drops so many eighths of the records; 0: none does
  bool is_trim_destroyed = false;   ///< in flight
  bool polls = false;               ///< once, before some appends are destroyed and before the finale
  finale end = finale::wait;
};

/// The conditions of a sequence.
struct log_surroundings {
  property::mode mode = mode::cached;
  std::uint64_t extent = 0;
  std::uint64_t largest_batch = 0;
  bool checksums = false;
};

log_surroundings log_surroundings_of(std::uint64_t seed, const surroundings& possible);

log_step make_log_step(std::uint64_t seed, std::uint64_t number, const log_surroundings& in);

/// A line for each appender.
std::string text(const log_step& step);

}  // namespace property
