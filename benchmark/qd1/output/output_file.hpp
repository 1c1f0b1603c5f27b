// SPDX-License-Identifier: BSL-1.0
// A file that is known to be writable before anything is measured, and written when there is something to write.
#pragma once

#include <string>

namespace qd1 {

struct output_file {
  std::string path;  ///< empty: none is wanted; "-": standard output

  bool is_wanted() const noexcept { return !path.empty(); }
  bool is_standard_output() const noexcept { return path == "-"; }

  /// Makes sure that the file can be written, and leaves what is there. Throws usage_error.
  void open() const;
  /// Writes all of it, or throws usage_error and leaves what was there.
  void write(const std::string& contents) const;
};

/// The same for several files that begin with a prefix. Throws usage_error where none can be made there.
void require_writable_prefix(const std::string& prefix);

}  // namespace qd1
