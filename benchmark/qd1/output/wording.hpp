// SPDX-License-Identifier: BSL-1.0
// How figures and remarks are worded in a terminal.
#pragma once

#include "figures.hpp"
#include "report.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace qd1 {

/// By which paths operations were served: "  inline 98.4%  ring 1.56%"; of Linux AIO, "  aio 100%".
std::string path_text(const service& service);

/// "not io_uring: a seccomp filter forbids io_uring"; empty if the engine serves that `among` requested.
std::string other_engine_text(const service& service, const report& among);

/// "the loop stood still for at most 3.2 ms (writing)"; empty if it was less than 1 ms.
std::string stall_text(const service& service);

/// Columns of what is printed: those of the terminal, or of the variable COLUMNS; 100 at most, and where neither is
/// known.
std::size_t page_width();

/// Lines of at most page_width() columns, broken between words, those after the first indented.
std::string wrapped(const std::string& text);

/// The same for each line of a text, which keeps its blanks, as of a table. What follows in a line that is too long is
/// indented further.
std::string narrowed(const std::string& text);

/// A remark about one series.
struct remark {
  std::string subject;  ///< its title, or the mode that is not available
  std::string text;
  bool is_grave = false;  ///< the series is invalid: printed with the series, however many there are
};

/// All but the device's side of it.
std::vector<remark> remarks(const series& each, const report& among);

/// On how many series of a report each remark is, by its text.
using remark_counts = std::map<std::string, std::size_t>;
remark_counts count_remarks(const report& of);

/// Those that no other series shares, a line each. The others: shared_remarks().
std::vector<std::string> own_remarks(const series& each, const report& run, const remark_counts& among);

}  // namespace qd1
