// SPDX-License-Identifier: BSL-1.0
#include "output/wording.hpp"

#include "figures.hpp"
#include "platform/names.hpp"
#include "platform/process.hpp"
#include "units.hpp"
#include "withheld.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

namespace qd1 {

std::size_t page_width() {
  constexpr std::size_t most = 100, least = 40;
  std::size_t columns = platform::output_columns().value_or(most);
  if (const char* const wanted = std::getenv("COLUMNS"))
    if (const auto number = std::strtoul(wanted, nullptr, 10); number != 0) columns = number;
  return std::clamp(columns, least, most);
}

std::string path_text(const service& service) {
  const std::uint64_t total = service.by_inline + service.by_ring + service.by_worker;
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view path) {
    if (count == 0) return;
    const double part = 100 * static_cast<double>(count) / static_cast<double>(total);
    text += fmt::format("  {} {:.3g}%", path, part);
  };
  add(service.by_inline, "inline");
  add(service.by_ring, is_by_linux_aio(service) ? "aio" : "ring");
  add(service.by_worker, "worker");
  return text;
}

std::string other_engine_text(const service& service, const report& among) {
  if (service.reason.empty()) return {};
  const platform::engine* const wanted = platform::engine_named(among.settings.engine);
  return fmt::format("not {}: {}", (wanted != nullptr ? *wanted : platform::engines.front()).name, service.reason);
}

std::string stall_text(const service& service) {
  constexpr double millisecond = 1e6;
  if (!service.stall || service.stall->longest < millisecond) return {};
  const std::string_view cause =
      service.stall->cause == stall_cause::unknown ? "cause unknown" : name(service.stall->cause);
  return fmt::format("the loop stood still for at most {:.1f} ms ({})", service.stall->longest / millisecond, cause);
}

std::string wrapped(const std::string& text) {
  const std::size_t width = page_width();
  std::istringstream words(text);
  std::string lines;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines += line + '\n';
      line = "   ";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + '\n';
}

std::string narrowed(const std::string& text) {
  const std::size_t width = page_width();
  // Continuation bytes of UTF-8 take no column.
  const auto is_column = [](char each) { return (static_cast<unsigned char>(each) & 0xC0U) != 0x80U; };
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    for (;;) {
      const std::size_t first_word = std::min(line.find_first_not_of(' '), line.size());
      std::size_t used = 0, last_blank = std::string::npos, at = 0;
      for (; at < line.size() && used <= width; ++at) {
        if (line[at] == ' ' && at > first_word) last_blank = at;
        used += static_cast<std::size_t>(is_column(line[at]));
      }
      if (used <= width) break;
      if (last_blank == std::string::npos) last_blank = line.find(' ', at);
      if (last_blank == std::string::npos) break;
      std::string head = line.substr(0, last_blank);
      head.erase(head.find_last_not_of(' ') + 1);
      const std::size_t rest = line.find_first_not_of(' ', last_blank);
      out += head + '\n';
      line = rest == std::string::npos ? "" : std::string(indent + 4, ' ') + line.substr(rest);
    }
    out += line + '\n';
  }
  return out;
}

std::vector<remark> remarks(const series& each, const report& among) {
  std::vector<remark> all;
  const std::string own = name_among(among, each.work);
  if (!each.not_available.empty())
    all.push_back({std::string(name(each.work.mode)), "not available: " + each.not_available});
  for (const std::string& reason : each.invalid) all.push_back({own, reason, true});
  for (const std::string& note : each.notes) all.push_back({own, note});
  if (!each.complete) all.push_back({own, "INCOMPLETE: interrupted"});
  if (std::string other = other_engine_text(each.service, among); !other.empty())
    all.push_back({own, std::move(other)});
  for (const std::string& lack : each.service.lacking) all.push_back({own, "not " + lack});
  if (each.measured() && each.steady == false)
    all.push_back({own, fmt::format("not steady: {}; give it more --time",
                                    each.unsettled.empty() ? "its latency was still changing" : each.unsettled)});
  if (each.measured() && among.settings.profile.empty())  // a profile's table has no intervals; its page says why
    for (std::string& reason : missing_intervals(each.latency)) all.push_back({own, std::move(reason)});
  return all;
}

remark_counts count_remarks(const report& of) {
  remark_counts found;
  for (const series& each : of.series) {
    std::set<std::string> texts;
    for (remark& one : remarks(each, of)) texts.insert(std::move(one.text));
    for (const std::string& text : texts) ++found[text];
  }
  return found;
}

std::vector<std::string> own_remarks(const series& each, const report& run, const remark_counts& among) {
  std::vector<std::string> lines;
  for (const remark& one : remarks(each, run)) {
    if (!one.is_grave && among.at(one.text) > 1) continue;
    lines.push_back(fmt::format("{}{}: {}", one.is_grave ? "INVALID: " : "", one.subject, one.text));
  }
  return lines;
}

}  // namespace qd1
