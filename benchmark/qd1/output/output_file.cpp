// SPDX-License-Identifier: BSL-1.0
#include "output/output_file.hpp"

#include "output/text_file.hpp"
#include "platform/file.hpp"
#include "text/printable.hpp"

#include <cstdio>

namespace qd1 {

void output_file::open() const {
  if (is_wanted() && !is_standard_output()) platform::require_writable(path);
}

void output_file::write(const std::string& contents) const {
  if (is_standard_output()) return print(stdout, contents);
  write_file(path, contents);
}

void require_writable_prefix(const std::string& prefix) { platform::require_writable(prefix + "-.probe"); }

}  // namespace qd1
