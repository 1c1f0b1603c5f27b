// SPDX-License-Identifier: BSL-1.0
#include "output/closing.hpp"

#include "figures.hpp"
#include "findings/ladders.hpp"
#include "output/wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace qd1 {
namespace {

std::string text_of(const std::optional<estimate>& value) {
  return value ? figure_text(unit::nanoseconds, value->value) : "n/a";
}

// The kind of work that is compared, by the first series that was measured: its modes, one form.
std::vector<const series*> beside(const report& report, const series& first) {
  std::vector<const series*> found;
  for (const series& each : report.series) {
    work same = each.work;
    same.mode = first.work.mode;
    same.advice = first.work.advice;
    if (each.measured() && same == first.work && median_of(each)) found.push_back(&each);
  }
  std::ranges::stable_sort(found, {}, [](const series* each) { return median_of(*each)->value; });
  return found;
}

std::string finding_of_modes(const report& report, const series& first) {
  std::vector<std::string> parts;
  for (const series* each : beside(report, first))
    parts.push_back(fmt::format("{} {} µs", mode_text(each->work), text_of(median_of(*each))));
  if (parts.empty()) return "Too few samples were taken for a median.";
  return fmt::format("A {} {} takes, at the median: {}.", name(first.work.form), name(first.work.operation),
                     fmt::join(parts, ", "));
}

std::string finding_of_loads(const series& best) {
  return fmt::format("The maximum is {} operations per second ({} MB/s), with {} in flight.",
                     figure_text(unit::per_second, best.iops),
                     figure_text(unit::megabytes_per_second, best.bytes_per_second / 1e6), best.work.load.in_flight());
}

// "Reads reach 3100 MB/s (SEQ1M Q8T1) and 120000 operations per second (RND4K Q32T1)"
std::string finding_of_profile(const report& report) {
  std::vector<std::string> parts;
  for (const operation what : all_values<operation>()) {
    const series *widest = nullptr, *most = nullptr;
    for (const series& each : report.series) {
      if (!each.measured() || each.work.operation != what || each.work.load.share < 1) continue;
      if (widest == nullptr || each.bytes_per_second > widest->bytes_per_second) widest = &each;
      if (most == nullptr || each.iops > most->iops) most = &each;
    }
    if (widest == nullptr) continue;
    parts.push_back(fmt::format("{}s reach {} MB/s ({}) and {} operations per second ({})", name(what),
                                figure_text(unit::megabytes_per_second, widest->bytes_per_second / 1e6),
                                mark_name(widest->work), figure_text(unit::per_second, most->iops),
                                mark_name(most->work)));
  }
  if (parts.empty()) return "No row that only reads or only writes could be measured.";
  std::string text = fmt::format("{}.", fmt::join(parts, "; "));
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string finding(const report& report) {
  const auto measured = [](const series& each) { return each.measured(); };
  const auto first = std::ranges::find_if(report.series, measured);
  if (first == report.series.end()) return "Nothing could be measured.";
  if (!report.settings.profile.empty()) return finding_of_profile(report);
  if (report.kind != report_kind::depth) return finding_of_modes(report, *first);
  const series* best = &*first;
  for (const series& each : report.series)
    if (each.measured() && each.iops > best->iops) best = &each;
  return finding_of_loads(*best);
}

std::string standing(const report& report) {
  const auto count = [&](const auto& is) { return std::ranges::count_if(report.series, is); };
  const auto invalid = count([](const series& each) { return !each.invalid.empty(); });
  const auto unavailable = count([](const series& each) { return !each.not_available.empty(); });
  const auto unsteady = count([](const series& each) { return each.measured() && each.steady == false; });
  const auto unverified = count(
      [](const series& each) { return each.measured() && each.verification.result == verification::verdict::unknown; });
  std::vector<std::string> parts;
  if (invalid != 0) parts.push_back(fmt::format("{} INVALID", invalid));
  if (unavailable != 0) parts.push_back(fmt::format("{} not available", unavailable));
  if (unsteady != 0) parts.push_back(fmt::format("{} not steady", unsteady));
  if (unverified != 0) parts.push_back(fmt::format("{} with direct not verified", unverified));
  if (!report.complete) parts.emplace_back("the run was interrupted");
  if (parts.empty()) return fmt::format("All {} series are valid.", report.series.size());
  return fmt::format("Of {} series: {}.", report.series.size(), fmt::join(parts, ", "));
}

}  // namespace

std::string provisional_table(std::uint64_t done, std::uint64_t of, const std::vector<series>& found) {
  const std::string when =
      done == 0 ? fmt::format("within the first of {} rounds", of) : fmt::format("after {} of {} rounds", done, of);
  std::string text = fmt::format("Provisional, {} [µs]\n{:>9} {:>9} {:>10}\n", when, "p50", "p99", "IOPS");
  for (const series& each : found) {
    if (!each.measured()) continue;
    const std::string figures =
        fmt::format("{:>9} {:>9} {:>10}", text_of(median_of(each)), text_of(percentile_of(each, 0.99)),
                    figure_text(unit::per_second, each.iops));
    const std::string what = title(each.work);
    text += fmt::format("{}{}{}\n", figures, figures.size() + 2 + what.size() > page_width() ? "\n    " : "  ", what);
  }
  return text;
}

std::string shared_remarks(const report& report) {
  std::map<std::string, std::vector<std::string>> by_text;
  std::map<std::string, std::size_t> counts;
  std::vector<std::string> order;
  for (const series& each : report.series)
    for (const remark& one : remarks(each, report)) {
      if (one.is_grave) continue;  // printed with the series
      if (!by_text.contains(one.text)) order.push_back(one.text);
      std::vector<std::string>& subjects = by_text[one.text];
      if (std::ranges::find(subjects, one.subject) == subjects.end()) subjects.push_back(one.subject);
      ++counts[one.text];
    }
  std::string text;
  for (const std::string& each : order)
    if (counts[each] > 1 && by_text[each].size() == 1)  // of a mode, not of one series
      text += wrapped(fmt::format("{}: {}", by_text[each].front(), each));
    else if (counts[each] > 1)
      text += wrapped(fmt::format("{} ({} series: {})", each, by_text[each].size(), fmt::join(by_text[each], "; ")));
  return text.empty() ? text : text + '\n';
}

std::string verdict_text(const report& report) { return wrapped(finding(report) + ' ' + standing(report)); }

}  // namespace qd1
