// SPDX-License-Identifier: BSL-1.0
#include "output/profile.hpp"

#include "findings/profile_rows.hpp"
#include "output/load_columns.hpp"
#include "output/wording.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace qd1 {
namespace {

constexpr std::size_t row_label_width = 14;

// MB/s comes first, and always, as in the tools that the profiles are from.
std::vector<load_column> columns_of(const ladder& rows, const report& run) {
  std::vector<load_column> all = load_columns(rows, run);
  const auto throughput = std::ranges::find(all, "MB/s", &load_column::heading);
  throughput->rank = 0;
  std::rotate(all.begin(), throughput, throughput + 1);
  return fitting_columns(std::move(all), row_label_width);
}

std::string line(const std::string& label, const series& of, const std::vector<load_column>& shown) {
  std::string text = fmt::format("{:<{}}", label, row_label_width);
  if (!of.measured()) return text + (of.invalid.empty() ? "  not available\n" : "  INVALID\n");
  for (const load_column& each : shown) text += fmt::format(" {:>{}}", each.text(of), each.width);
  return text + '\n';
}

// The reads and the writes of a mix: what both do together, then each.
std::string lines_of_mix(const profile_group::row& row, const std::vector<load_column>& shown) {
  series both;
  bool all_measured = true;
  for (const series* each : row.parts) {
    both.iops += each->iops;
    both.bytes_per_second += each->bytes_per_second;
    all_measured = all_measured && each->measured();
  }
  std::string text = fmt::format("{:<{}}", "  " + row.name, row_label_width);
  for (const load_column& each : shown)
    if (all_measured && (each.heading == "MB/s" || each.heading == "IOPS"))
      text += fmt::format(" {:>{}}", each.text(both), each.width);
  text += '\n';
  for (const series* each : row.parts)
    text += line(each->work.operation == operation::read ? "    reads" : "    writes", *each, shown);
  return text;
}

std::string group_text(const profile_group& group, const std::vector<load_column>& shown) {
  std::string text = group.title + '\n';
  for (const profile_group::row& each : group.rows)
    text += each.parts.size() == 1 ? line("  " + each.name, *each.parts.front(), shown) : lines_of_mix(each, shown);
  return text;
}

}  // namespace

std::string profile_block(const report& report) {
  ladder all;
  for (const series& each : report.series) all.push_back(&each);
  if (all.empty()) return {};
  const std::vector<load_column> shown = columns_of(all, report);
  std::string text =
      wrapped(fmt::format("Profile {}: {}, within {} [µs]", report.settings.profile,
                          name(report.series.front().work.mode), size_text(report.series.front().work.working_set)));
  text += fmt::format("{:<{}}", "", row_label_width);
  for (const load_column& each : shown) text += fmt::format(" {:>{}}", each.heading, each.width);
  text += '\n';
  for (const profile_group& each : profile_groups(report)) text += group_text(each, shown);
  text +=
      wrapped("SEQ, RND: sequential or random blocks; Q: transfers in flight for each of T threads; MB: 10^6 bytes.");
  if (std::ranges::find(shown, "busy", &load_column::heading) != shown.end()) text += wrapped(load_legend);
  text += served_text(all);
  const std::string verified = verification_text(all, "all rows");
  text += verified;
  const remark_counts among = count_remarks(report);
  for (const series* each : all) text += row_remarks(*each, report, among, !verified.empty());
  return text + '\n';
}

}  // namespace qd1
