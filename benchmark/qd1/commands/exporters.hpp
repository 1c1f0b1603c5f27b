// SPDX-License-Identifier: BSL-1.0
// The formats in which reports leave qd1. A format is one entry of the table in exporters.cpp.
#pragma once

#include "options/options.hpp"
#include "output/output_file.hpp"
#include "report.hpp"

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

struct reproduction;

struct exporter {
  const char* option;  ///< "--json"
  const char* value;   ///< "FILE", "PREFIX"
  const char* help;
  /// What goes into the file.
  std::string (*contents)(const report&) = nullptr;
  /// For a format of several files instead: writes them; `open` checks whether it can.
  void (*write)(const report&, const std::string& prefix) = nullptr;
  void (*open)(const std::string& prefix) = nullptr;
  /// The contents for a repeated experiment; nullptr if the format has none.
  std::string (*of_experiment)(const reproduction&) = nullptr;
};

std::span<const exporter> exporters();

/// The option of a format for a command that fills the file itself: `what` replaces "the report".
void add_format(options& to, std::string_view option, output_file& file, std::string_view what);

/// Prints a line for each output that failed. Returns the exit status: that of the run, unless it is 0.
int report_failures(const std::vector<std::string>& failures, int status);

/// The files that the user wants.
class exports {
 public:
  /// Adds an option for each format; of experiments: for those that have them.
  void declare(options& to, bool of_experiments = false);
  /// Opens all of them, so that a mistake in a path costs no measurement. Throws usage_error.
  void open();
  /// Writes all of them, even if one fails. Call it before anything is printed, so that a closed standard output does
  /// not cost the files. Returns the reasons of those that failed.
  std::vector<std::string> write(const report& found);
  std::vector<std::string> write(const reproduction& found);
  /// Prints a text, unless a format goes to standard output. command_line() reports what could not be printed.
  void show(const std::string& text) const;

  /// A format goes to standard output, so nothing else may.
  bool take_standard_output() const;
  /// The path of the file that this option has written; empty if it has written none.
  std::string path_of(const std::string& option) const;

 private:
  struct one {
    const exporter* by;
    output_file file;
    bool is_written = false;
  };

  template <class Write>
  std::vector<std::string> write_each(Write&& write);

  std::deque<one> wanted_;  // options refer to the paths in it
};

}  // namespace qd1
