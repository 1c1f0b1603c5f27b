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

/// The files that the user wants.
class exports {
 public:
  /// Adds an option for each format; of experiments: for those that have them.
  void declare(options& to, bool of_experiments = false);
  /// Opens all of them, so that a mistake in a path costs no measurement. Throws usage_error.
  void open();
  /// Writes them. Prints the text, unless another format goes to standard output. Throws usage_error.
  void deliver(const report& found, const std::string& text);
  void deliver(const reproduction& found, const std::string& text);

  /// A format goes to standard output, so nothing else may.
  bool take_standard_output() const;
  /// The path of the file that this option wrote; empty if it wrote none.
  std::string path_of(const std::string& option) const;

 private:
  struct one {
    const exporter* by;
    output_file file;
  };
  std::deque<one> wanted_;  // options refer to the paths in it
};

}  // namespace qd1
