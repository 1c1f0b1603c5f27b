// SPDX-License-Identifier: BSL-1.0
// A whole run: which series there are, and the report of them.
#pragma once

#include "failure.hpp"
#include "measure/request.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

struct run_request : measurement_request {
  std::string profile;  ///< for the command: its loads are measured instead; see depth/profiles.hpp
  std::string path;
  std::vector<mode> modes = {mode::direct, mode::cached, mode::mapped};
  std::optional<std::vector<operation>> operations;  ///< none: both, or reads only where the file must not be written
  std::vector<form> forms = {form::blocking, form::asynchronous};
  std::vector<temperature> reads = {temperature::warm};
  std::vector<durability> writes = {durability::accepted, durability::flushed};
  std::vector<qd1::advice> advice = {advice::normal};
  qd1::order order = order::random;
  std::optional<double> zipf_theta;  ///< with the order zipf, and with no other
  std::uint64_t block = 4096;
  std::optional<std::uint64_t> file_size;
  std::vector<std::uint64_t> working_sets;  ///< none: the whole file
  std::uint64_t samples = 1'000'000;
  double seconds = 5;
  std::uint64_t rounds = 20;
  std::string turns;           ///< a file: each round waits its turn with those of other runs that name it
  std::optional<double> rate;  ///< open loop: operations a second
  bool poisson = false;
  std::string engine = "auto";
  double detect = 0;    ///< a difference to be found between two targets or modes: 0.02; 0: none is looked for
  std::string against;  ///< with it: the second target; empty: two modes are compared
  bool quick = false;   ///< the report is labeled as a first look
  bool cycles = false;  ///< CPU cycles are counted
};

/// In the report of a quick run.
inline constexpr const char* quick_note =
    "QUICK: few rounds, and a small file unless one was given; for a first look, not for comparisons";

/// Throws usage_error where that cannot be done.
report run(const run_request& request);

/// A report for each of the repeated runs. All use the same file, and each reopens it.
std::vector<report> repeated_runs(const run_request& request);

/// Pairs of runs until it is decided whether two targets or two modes differ. Throws usage_error.
report detected_run(const run_request& request);

/// Whether what was measured may be believed; exit_usage if nothing could be measured at all.
exit_status verdict(const report& report);

}  // namespace qd1
