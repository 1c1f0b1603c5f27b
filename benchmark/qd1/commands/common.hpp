// SPDX-License-Identifier: BSL-1.0
// Options that several commands have: declared once, so that a word means the same everywhere.
#pragma once

#include "commands/exporters.hpp"
#include "compare/gate.hpp"
#include "measure/request.hpp"
#include "options/options.hpp"
#include "report.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qd1 {

/// "PATH": one, or several that are used at once. `help`: what it may be, where the command does not create it.
option& add_path(options& to, std::string& path, std::string help = {});
option& add_paths(options& to, std::vector<std::string>& paths,
                  const std::string& help = "Files, directories or block devices, all used at once.");
void add_modes(options& to, std::vector<mode>& modes);
void add_block(options& to, std::uint64_t& block);
/// Offers a theta as well, which settle_order() completes.
void add_order(options& to, order& order, std::optional<double>& theta);
/// Gives the order zipf its usual theta. Throws usage_error for a theta of another order.
void settle_order(order order, std::optional<double>& theta);
/// --reads: cold, warm, or both.
void add_reads(options& to, temperature& reads);
void add_reads(options& to, std::vector<temperature>& reads);
/// --writes: when a write is complete. Not all commands can flush.
void add_writes(options& to, durability& writes, bool may_flush);
void add_writes(options& to, std::vector<durability>& writes);
option& add_file_size(options& to, std::optional<std::uint64_t>& bytes);
/// "Time of a series, at most": `of` is what takes that time.
template <class Seconds>
void add_time(options& to, Seconds& seconds, const std::string& of) {
  to.seconds("--time", seconds, "Time of " + of);
}
void add_engine(options& to, std::string& engine);
void add_rounds(options& to, std::uint64_t& rounds);
void add_seed(options& to, std::uint64_t& seed);
void add_overwrite(options& to, bool& overwrite);
void add_create(options& to, bool& create);
/// What every measurement has: percentiles, seed, and the permission to overwrite.
void add_measurement(options& to, measurement_request& request);

/// Throws usage_error for a path that may be a mistyped command: nothing exists there, and it has no directory.
void require_meant(const std::vector<std::string>& paths, bool create);

/// "REPORT...": files that --json wrote.
void add_reports(options& to, std::vector<std::string>& paths);
/// Throws usage_error.
std::vector<report> read_reports(const std::vector<std::string>& paths);

/// What every command has that makes a report: formats and gates.
class report_options {
 public:
  void declare(options& to);
  /// --repeat, for commands that measure.
  void declare_repeat(options& to);
  /// --details, for commands whose report has a summary: what finish() prints without it.
  void declare_details(options& to);
  /// Before anything is measured: opens the files, reads the gates, so that a mistake costs no measurement. Throws
  /// usage_error. `percentiles`: those that the report will have.
  void prepare(const std::vector<double>& percentiles);
  /// The same for a measurement. Its request gets the command line, the number of runs, a check of its plan, and what
  /// prints provisional results. Interrupts end the measurement from here on.
  void prepare(measurement_request& request, const std::string& command_line);
  /// Prints the report, writes the files, checks the gates, and returns the exit status.
  int finish(const report& found);

 private:
  /// For a measurement, once its plan is known: throws usage_error for a gate on a series that the plan does not have.
  std::function<void(const std::vector<work>&)> plan_check() const;
  /// The number of runs: as requested, else 5 for gates, which need to know how runs differ, and 1 without.
  std::uint64_t repeats() const;
  /// Prints provisional results, if progress is shown.
  round_observer observer() const;
  exit_status check_gates(const report& found) const;

  exports exports_;
  bool shows_progress_ = false;
  bool shows_details_ = true;
  std::optional<std::uint64_t> repeats_;
  std::vector<std::string> gate_texts_;
  std::vector<std::string> gate_texts_against_;  // a report, then the gate
  std::vector<gate> gates_;
  std::vector<std::pair<report, gate>> gates_against_;
};

}  // namespace qd1
