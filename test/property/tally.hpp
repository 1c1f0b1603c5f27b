// Counts operations and results, to show what a run has covered.
#pragma once

#include "flight.hpp"
#include "plan.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

namespace property {

struct tally {
  void count(const transfer& each, const outcome& result) {
    ++done[static_cast<std::size_t>(each.mode)][static_cast<std::size_t>(each.what)];
    if (each.context != 0) ++on_second_context;
    if (each.batch) ++batches;
    if (each.untorn) ++untorn;
    if (each.then_sync) ++then_synced;
    if (each.bounced) ++bounced;
    if (each.what == action::look || each.what == action::change) return;
    if (result.completions == 0) ++destroyed;
    if (!result.failure) return;
    if (is_lacking(*result.failure)) {
      ++lacking[static_cast<std::size_t>(each.what)];
      return;
    }
    if (result.failure->is_qio()) {
      ++refused;
      return;
    }
    ++(*result.failure == std::errc::timed_out            ? timed_out
       : *result.failure == std::errc::operation_canceled ? canceled
                                                          : failed);
    if (result.moved != 0) ++partial;
  }

  void count_names(const name_change& each, const std::optional<qio::error>& failure) {
    ++names_changed[static_cast<std::size_t>(each.what)];
    if (failure) ++(*failure == std::errc::operation_not_supported ? names_lacking : names_refused);
  }

  std::uint64_t operations() const {
    std::uint64_t sum = 0;
    for (const auto& of_mode : done)
      for (const std::uint64_t each : of_mode) sum += each;
    return sum;
  }

  /// The counts, in several lines.
  std::string text() const {
    std::string lines;
    for (std::size_t by = 0; by < modes; ++by) {
      std::string line;
      for (std::size_t what = 0; what < actions; ++what)
        if (done[by][what] != 0)
          line += ' ' + std::string(name(static_cast<action>(what))) + ' ' + std::to_string(done[by][what]);
      if (!line.empty()) lines += "  " + std::string(name(static_cast<mode>(by))) + ':' + line + '\n';
    }
    if (on_second_context != 0)
      lines += "  on a second context that shares the file: " + std::to_string(on_second_context) +
               " operations; on both contexts at once: " + std::to_string(steps_on_both) + " steps\n";
    if (batches != 0) lines += "  batches: " + std::to_string(batches) + '\n';
    if (untorn + then_synced != 0)
      lines +=
          "  untorn writes: " + std::to_string(untorn) + "; writes with a sync: " + std::to_string(then_synced) + '\n';
    if (bounced != 0) lines += "  through a pool: " + std::to_string(bounced) + '\n';
    std::string missing;
    for (std::size_t what = 0; what < actions; ++what)
      if (lacking[what] != 0)
        missing += ' ' + std::string(name(static_cast<action>(what))) + ' ' + std::to_string(lacking[what]);
    if (!missing.empty()) lines += "  not supported here:" + missing + '\n';
    if (refused != 0)
      lines += "  clones and copies that were refused, as they must be: " + std::to_string(refused) + '\n';
    lines += "  names: replaced " + std::to_string(names_changed[0]) + ", renamed " + std::to_string(names_changed[1]) +
             ", linked " + std::to_string(names_changed[2]) + ", removed " + std::to_string(names_changed[3]) +
             ", given " + std::to_string(names_changed[4]) + ", copied " + std::to_string(names_changed[5]) +
             ", read " + std::to_string(names_changed[6]) + ", listed " + std::to_string(names_changed[7]) +
             "; failed as they must: " + std::to_string(names_refused) +
             ", not supported here: " + std::to_string(names_lacking) + '\n';
    if (crashes != 0) lines += "  crashes: " + std::to_string(crashes) + '\n';
    if (posted != 0) lines += "  started by posted calls: " + std::to_string(posted) + '\n';
    return lines + "  ended early: canceled " + std::to_string(canceled) + ", timed out " + std::to_string(timed_out) +
           ", destroyed " + std::to_string(destroyed) + ", failed " + std::to_string(failed) + "; in part " +
           std::to_string(partial) + '\n';
  }

  std::array<std::array<std::uint64_t, actions>, modes> done{};
  std::array<std::uint64_t, actions> lacking{};
  std::array<std::uint64_t, name_changes> names_changed{};
  std::uint64_t names_refused = 0, names_lacking = 0, refused = 0, crashes = 0;
  std::uint64_t on_second_context = 0, steps_on_both = 0, posted = 0, batches = 0, untorn = 0, then_synced = 0,
                bounced = 0;
  std::uint64_t canceled = 0, timed_out = 0, destroyed = 0, failed = 0, partial = 0;
};

}  // namespace property
