// SPDX-License-Identifier: BSL-1.0
#include "compare/gate.hpp"

#include "compare/difference.hpp"
#include "figures.hpp"
#include "units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

namespace qd1 {
namespace {

constexpr std::string_view through = "through";  // what "written through" is called where words have no blanks
constexpr std::string_view mix = "mix";
constexpr std::string_view unmixed = "unmixed";

// Takes the number at the beginning of the text away. False if there is none.
bool take_number(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(end);
  return end != 0;
}

// Whether it can be a word of a row of a profile, whatever the row.
bool may_be_of_row(std::string_view word) {
  for (const std::string_view order : {"SEQ", "ZIPF", "RND"})
    if (word.starts_with(order)) {
      word.remove_prefix(order.size());
      return take_number(word) && (word == "B" || word == "K" || word == "M");
    }
  if (!word.starts_with('Q')) return false;
  word.remove_prefix(1);
  if (!take_number(word) || !word.starts_with('T')) return false;
  word.remove_prefix(1);
  return take_number(word) && word.empty();
}

template <enumerated... Values>
std::vector<std::string_view> names_of() {
  std::vector<std::string_view> found;
  (found.insert(found.end(), std::begin(enumerators<Values>::names), std::end(enumerators<Values>::names)), ...);
  return found;
}

void require_words(const gate& gate) {
  std::vector<std::string_view> known = names_of<mode, operation, form, temperature, durability, order>();
  known.insert(known.end(), {through, mix, unmixed});
  for (const std::string& each : gate.words)
    if (std::ranges::find(known, each) == known.end() && !may_be_of_row(each))
      throw usage_error(
          fmt::format("--gate '{}': '{}' selects no series; use {}, or the words of a row of a profile, such "
                      "as SEQ1M or Q8T1",
                      gate.text, each, fmt::join(known, ", ")));
}

// "SEQ1M", "Q8T1": the words of a row of a profile.
bool is_of_row(const work& work, const std::string& word) {
  const std::string row = mark_name(work);
  const std::size_t blank = row.find(' ');
  return word == row.substr(0, blank) || word == row.substr(blank + 1);
}

bool is_about(const work& work, const std::string& word) {
  const bool reads = work.operation == operation::read;
  return word == name(work.mode) || word == name(work.operation) || word == name(work.form) ||
         (reads && word == name(work.temperature)) || (!reads && word == name(work.durability)) ||
         (!reads && word == through && work.durability == durability::written_through) ||
         word == name(work.load.order) || word == (work.load.share < 1 ? mix : unmixed) || is_of_row(work, word);
}

bool is_meant(const gate& gate, const work& work) {
  return std::all_of(gate.words.begin(), gate.words.end(), [&](auto& word) { return is_about(work, word); });
}

[[noreturn]] void refuse_none(const gate& gate) {
  throw usage_error(fmt::format("--gate '{}': the run has no such series", gate.text));
}

// None if an interrupted run has not come to them.
std::vector<const series*> meant(const gate& gate, const report& run) {
  std::vector<const series*> found;
  for (const series& each : run.series)
    if (is_meant(gate, each.work)) found.push_back(&each);
  if (found.empty() && run.complete) refuse_none(gate);
  return found;
}

gate_result interrupted_before(const gate& gate) {
  return {exit_inconclusive,
          fmt::format("INCONCLUSIVE {}: the run was interrupted before it had such a series", gate.text)};
}

bool is_time(const gate& gate) {
  const figure* const found = figure_named(gate.metric);
  return found == nullptr || found->unit == unit::nanoseconds;
}

// What the limit is in: the unit's name, and what it is multiplied by.
double factor_of(const gate& gate, std::string_view name) {
  if (!is_time(gate) && name.empty()) return 1;
  constexpr std::pair<std::string_view, double> units[] = {
      {"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  for (const auto& [known, factor] : units)
    if (is_time(gate) && known == name) return factor;
  throw usage_error(
      fmt::format("--gate '{}': '{}' is not a unit of {}; use ns, us, ms or s for a time, no unit for other "
                  "figures, or x for a multiple of the base",
                  gate.text, name, gate.metric));
}

std::string value_text(const gate& gate, double value) {
  if (gate.relative) return fmt::format("{:.3f}x", value);
  const auto [factor, unit] = unit_of(gate.metric);
  return is_time(gate) ? fmt::format("{:.3f} {}", value * factor, unit)
                       : fmt::format("{} {}", figure_text(figure_named(gate.metric)->unit, value), unit);
}

gate_result judge(const gate& gate, const work& work, const estimate& found) {
  const interval ends = found.interval.value_or(interval{found.value, found.value});
  const double best = gate.at_most ? ends.low : -ends.high;
  const double worst = gate.at_most ? ends.high : -ends.low;
  const double limit = gate.at_most ? gate.limit : -gate.limit;
  const exit_status status = worst <= limit ? exit_pass : best > limit ? exit_fail : exit_inconclusive;
  const std::string_view word = status == exit_pass ? "pass" : status == exit_fail ? "FAIL" : "INCONCLUSIVE";
  std::string text = fmt::format("{} {}: {}: {}", word, gate.text, title(work), value_text(gate, found.value));
  if (found.interval) text += fmt::format(" ({} … {})", value_text(gate, ends.low), value_text(gate, ends.high));
  return {status, std::move(text)};
}

// Whether no sample can lie on the other side of a limit that minimum and maximum are on one side of.
bool is_within_samples(const std::string& metric) { return metric == "mean" || percentile_named(metric); }

// Without an interval, a gate is decided only if all samples are on one side of the limit.
gate_result judge_figure(const gate& gate, const series& of) {
  estimate found = *metric(of, gate.metric);
  if (found.withheld.empty()) {
    gate_result result = judge(gate, of.work, found);
    if (found.interval) result.text += ", " + interval_scope(of);
    return result;
  }
  if (!is_within_samples(gate.metric))
    return {exit_inconclusive, fmt::format("INCONCLUSIVE {}: {}: {}; no interval: {}", gate.text, title(of.work),
                                           value_text(gate, found.value), found.withheld)};
  found.interval = interval{of.latency.min, of.latency.max};
  gate_result result = judge(gate, of.work, found);
  result.text += result.status == exit_inconclusive ? ", minimum and maximum; no interval: " + found.withheld
                                                    : ", minimum and maximum";
  return result;
}

// Why there is no figure, or only one of a part of the run.
std::optional<gate_result> without_figure(const gate& gate, const series& series, const report& of) {
  const std::string who = fmt::format("{}: {}", gate.text, title(series.work));
  if (!series.invalid.empty()) return gate_result{exit_invalid, "INVALID " + who + ": " + series.invalid.front()};
  if (!series.measured()) return gate_result{exit_inconclusive, "INCONCLUSIVE " + who + ": " + series.not_available};
  if (!of.complete || !series.complete)
    return gate_result{exit_inconclusive, "INCONCLUSIVE " + who + ": the run was interrupted"};
  if (!metric(series, gate.metric))
    return gate_result{
        exit_inconclusive,
        fmt::format("INCONCLUSIVE {}: {}", who,
                    percentile_named(gate.metric) ? "too few samples" : "the run does not have this figure")};
  return std::nullopt;
}

// If compare gives no verdict, there is no ratio either.
std::optional<gate_result> without_verdict(const gate& gate, const series& base, const series& now,
                                           const std::string& forbidden) {
  const std::string reason = forbidden.empty() ? why_not_comparable(base, now) : forbidden;
  if (reason.empty()) return std::nullopt;
  return gate_result{exit_invalid,
                     fmt::format("INVALID {}: {}: not comparable: {}", gate.text, title(now.work), reason)};
}

gate_result judge_ratio(const gate& gate, const series& base, const series& now) {
  const decision found = compare(base, now, gate.metric);
  if (!found.ratio)
    return {exit_inconclusive, fmt::format("INCONCLUSIVE {}: {}: {}", gate.text, title(now.work), found.remark)};
  gate_result result = judge(gate, now.work, *found.ratio);
  if (found.base_runs != 0)
    result.text += fmt::format(", by {} runs and {} of the base", found.now_runs, found.base_runs);
  if (!found.remark.empty()) result.text += "; " + found.remark;
  return result;
}

// The longest end of the names, after a point or all of them, that is a figure: a percentile has a point of its own.
std::string metric_in(const std::string& names) {
  for (std::size_t at = 0; at <= names.size();) {
    const std::string_view rest = std::string_view(names).substr(at);
    if (figure_named(rest) != nullptr || percentile_named(rest)) return std::string(rest);
    const std::size_t point = rest.find('.');
    if (point == std::string_view::npos) break;
    at += point + 1;
  }
  const std::size_t last = names.rfind('.');
  return last == std::string::npos ? names : names.substr(last + 1);
}

}  // namespace

gate parse_gate(const std::string& text, const std::vector<double>& percentiles) {
  gate found;
  found.text = text;
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string::npos || sign + 1 >= text.size() || text[sign + 1] != '=')
    throw usage_error(
        fmt::format("--gate '{}': write a figure, <= or >=, and a limit, such as "
                    "'direct.read.p99<=200us'",
                    text));
  found.at_most = text[sign] == '<';
  std::string names = text.substr(0, sign);
  found.metric = metric_in(names);
  require_metric(found.metric, percentiles);
  const std::size_t words = names.size() - found.metric.size();  // each with its point
  for (std::size_t at = 0; at < words;) {
    const std::size_t end = std::min(names.find('.', at), words);
    found.words.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  require_words(found);
  const char* const begin = text.data() + sign + 2;
  const auto [end, failure] = std::from_chars(begin, text.data() + text.size(), found.limit);
  if (failure != std::errc()) throw usage_error(fmt::format("--gate '{}': '{}' is not a number", text, begin));
  const std::string_view unit_name(end);
  found.relative = unit_name == "x";
  if (!found.relative) found.limit *= factor_of(found, unit_name);
  if (!(found.limit >= 0) || !std::isfinite(found.limit))
    throw usage_error(fmt::format("--gate '{}': '{}' is not a limit; it must be a number of 0 or more", text, begin));
  return found;
}

void require_meant(const gate& gate, std::span<const work> works) {
  if (std::none_of(works.begin(), works.end(), [&](const work& each) { return is_meant(gate, each); }))
    refuse_none(gate);
}

std::vector<gate_result> check(const gate& gate, const report& run) {
  if (gate.relative) throw usage_error(fmt::format("--gate '{}': a multiple needs a base; use --gate-vs", gate.text));
  std::vector<gate_result> results;
  for (const series* each : meant(gate, run)) {
    auto failed = without_figure(gate, *each, run);
    results.push_back(failed ? *failed : judge_figure(gate, *each));
  }
  if (results.empty()) results.push_back(interrupted_before(gate));
  return results;
}

std::vector<gate_result> check_against(const gate& gate, const report& base, const report& run) {
  if (!gate.relative)
    throw usage_error(fmt::format("--gate-vs '{}': the limit must be a multiple, such as 1.10x", gate.text));
  const std::string forbidden = why_not_comparable(base, run);
  std::vector<gate_result> results;
  for (const series* each : meant(gate, run)) {
    const auto same =
        std::find_if(base.series.begin(), base.series.end(), [&](auto& other) { return other.work == each->work; });
    if (same == base.series.end()) {
      results.push_back(
          {exit_inconclusive, fmt::format("INCONCLUSIVE {}: {}: not in the base", gate.text, title(each->work))});
      continue;
    }
    auto failed = without_figure(gate, *each, run);
    if (!failed) failed = without_figure(gate, *same, base);
    if (!failed) failed = without_verdict(gate, *same, *each, forbidden);
    results.push_back(failed ? *failed : judge_ratio(gate, *same, *each));
  }
  if (results.empty()) results.push_back(interrupted_before(gate));
  return results;
}

exit_status worst(exit_status a, exit_status b) {
  constexpr exit_status order[] = {exit_invalid, exit_usage, exit_fail, exit_inconclusive};
  for (const exit_status each : order)
    if (a == each || b == each) return each;
  return exit_pass;
}

}  // namespace qd1
