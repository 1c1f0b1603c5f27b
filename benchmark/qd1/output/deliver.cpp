// SPDX-License-Identifier: BSL-1.0
#include "output/deliver.hpp"

#include "html/html.hpp"
#include "output/json.hpp"
#include "output/table.hpp"
#include "output/text_file.hpp"

#include <fmt/format.h>

namespace qd1 {

void deliver(const report& report, const std::string& json_path, const std::string& html_path) {
  const bool json_only = json_path == "-";
  fmt::print("{}", json_only ? json(report) : table(report));
  if (!json_path.empty() && !json_only) write_file(json_path, json(report));
  if (!html_path.empty()) write_file(html_path, html::render(report));
}

}  // namespace qd1
