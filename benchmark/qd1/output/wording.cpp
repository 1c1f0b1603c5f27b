// SPDX-License-Identifier: BSL-1.0
#include "output/wording.hpp"

#include "platform/names.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <sstream>

namespace qd1 {
namespace {

constexpr std::size_t page_width = 100;

}  // namespace

std::string digits(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.1f}", value);
  if (value >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string microseconds(double ns) { return digits(ns / 1000); }

// Rounded down to what is usually asked for.
std::string trusted_percentile(const series& each) {
  if (!each.trusted_fraction) return "";
  for (const double fraction : {0.99999, 0.9999, 0.999, 0.99, 0.95, 0.5})
    if (*each.trusted_fraction >= fraction) return percentile_name(fraction);
  return "nothing";
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
  add(service.by_ring, "ring");
  add(service.by_worker, "worker");
  return text;
}

std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string lines;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > page_width) {
      lines += line + '\n';
      line = "   ";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + '\n';
}

std::vector<std::string> remarks(const series& each) {
  std::vector<std::string> lines;
  const auto about_it = [&](const std::string& text) { lines.push_back(title(each.work) + ": " + text); };
  if (!each.not_available.empty())
    lines.push_back(fmt::format("{}: not available: {}", name(each.work.mode), each.not_available));
  for (const std::string& reason : each.invalid) lines.push_back("INVALID: " + title(each.work) + ": " + reason);
  for (const std::string& note : each.notes) about_it(note);
  if (!each.complete) about_it("INCOMPLETE: interrupted");
  if (!each.service.reason.empty()) about_it(fmt::format("not {}: {}", platform::own_engine, each.service.reason));
  for (const std::string& lack : each.service.lacking) about_it("not " + lack);
  if (!each.measured()) return lines;
  if (each.steady == false) about_it("not steady: its latency was still changing; give it more --time");
  return lines;
}

}  // namespace qd1
