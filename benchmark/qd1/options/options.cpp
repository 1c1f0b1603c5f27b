// SPDX-License-Identifier: BSL-1.0
#include "options/options.hpp"

#include "failure.hpp"
#include "units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <sstream>

namespace qd1 {
namespace {

double parse_number(const std::string& name, const std::string& typed, double least, double most) {
  double found = 0;
  const auto [end, failure] = std::from_chars(typed.data(), typed.data() + typed.size(), found);
  if (failure == std::errc() && end == typed.data() + typed.size() && found >= least && found <= most) return found;
  throw usage_error(fmt::format("{}: '{}' is not a number from {:g} to {:g}", name, typed, least, most));
}

std::uint64_t parse_count(const std::string& name, const std::string& typed, std::uint64_t least, std::uint64_t most) {
  std::uint64_t found = 0;
  const auto [end, failure] = std::from_chars(typed.data(), typed.data() + typed.size(), found);
  if (failure == std::errc() && end == typed.data() + typed.size() && found >= least && found <= most) return found;
  throw usage_error(fmt::format("{}: '{}' is not a whole number from {} to {}", name, typed, least, most));
}

// "4k", if that is as exact.
std::string shortest_size(std::uint64_t bytes) {
  std::string text = size_text(bytes);
  std::erase(text, ' ');
  return text;
}

template <class Number>
void sort_once(std::vector<Number>& numbers) {
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  numbers.erase(repeated.begin(), repeated.end());
}

}  // namespace

option& options::add(std::string name, std::string value, std::string help) {
  option& added = all_.emplace_back();
  added.name = std::move(name);
  added.value = std::move(value);
  added.help = std::move(help);
  return added;
}

std::size_t options::index_of(const std::string& name, const std::string& typed,
                              const std::vector<std::string>& words) {
  const auto found = std::ranges::find(words, typed);
  if (found == words.end())
    throw usage_error(fmt::format("{}: '{}' is not one of {}", name, typed, fmt::join(words, ", ")));
  return static_cast<std::size_t>(found - words.begin());
}

std::vector<std::string> options::separated(const std::string& name, const std::vector<std::string>& typed) {
  std::vector<std::string> found;
  for (const std::string& each : typed) {
    std::istringstream parts(each);
    for (std::string part; std::getline(parts, part, ',');) found.push_back(part);
  }
  if (found.empty()) throw usage_error(name + ": the list is empty; at least one value is needed");
  return found;
}

option& options::flag(std::string name, bool& to, std::string help) {
  option& added = add(std::move(name), "", std::move(help));
  added.take = [&to](const std::vector<std::string>&) { to = true; };
  return added;
}

option& options::text(std::string name, std::string value, std::string& to, std::string help) {
  option& added = add(std::move(name), std::move(value), std::move(help));
  added.preset = to;
  added.take = [&to](const std::vector<std::string>& typed) { to = typed.back(); };
  return added;
}

option& options::texts(std::string name, std::string value, std::vector<std::string>& to, std::string help) {
  option& added = add(std::move(name), std::move(value), std::move(help));
  added.most = many;
  added.take = [&to](const std::vector<std::string>& typed) { to = typed; };
  return added;
}

option& options::word(std::string name, std::string& to, std::vector<std::string> words, std::string help) {
  option& added = add(std::move(name), "WORD", std::move(help));
  added.preset = to;
  added.choices = std::move(words);
  added.take = [&to, name = added.name, words = added.choices](const std::vector<std::string>& typed) {
    to = words[index_of(name, typed.back(), words)];
  };
  return added;
}

option& options::size(std::string name, std::uint64_t& to, std::string help) {
  option& added = add(std::move(name), "SIZE", std::move(help));
  added.preset = shortest_size(to);
  added.take = [&to, name = added.name](const std::vector<std::string>& typed) { to = parse_size(name, typed.back()); };
  return added;
}

option& options::size(std::string name, std::optional<std::uint64_t>& to, std::string help) {
  option& added = add(std::move(name), "SIZE", std::move(help));
  added.take = [&to, name = added.name](const std::vector<std::string>& typed) { to = parse_size(name, typed.back()); };
  return added;
}

option& options::sizes(std::string name, std::vector<std::uint64_t>& to, std::string help) {
  option& added = add(std::move(name), "SIZE,...", std::move(help));
  added.most = many;
  added.take = [&to, name = added.name](const std::vector<std::string>& typed) {
    to.clear();
    for (const std::string& each : separated(name, typed)) to.push_back(parse_size(name, each));
  };
  return added;
}

option& options::seconds(std::string name, double& to, std::string help) {
  option& added = add(std::move(name), "TIME", std::move(help));
  added.preset = fmt::format("{:g}s", to);
  added.take = [&to, name = added.name](const std::vector<std::string>& typed) {
    to = parse_seconds(name, typed.back());
  };
  return added;
}

option& options::seconds(std::string name, std::optional<double>& to, std::string help) {
  option& added = add(std::move(name), "TIME", std::move(help));
  added.take = [&to, name = added.name](const std::vector<std::string>& typed) {
    to = parse_seconds(name, typed.back());
  };
  return added;
}

option& options::count(std::string name, std::uint64_t& to, std::uint64_t least, std::uint64_t most, std::string help) {
  option& added = add(std::move(name), "NUMBER", std::move(help));
  added.preset = std::to_string(to);
  added.take = [&to, least, most, name = added.name](const std::vector<std::string>& typed) {
    to = parse_count(name, typed.back(), least, most);
  };
  return added;
}

option& options::count(std::string name, std::optional<std::uint64_t>& to, std::uint64_t least, std::uint64_t most,
                       std::string help) {
  option& added = add(std::move(name), "NUMBER", std::move(help));
  added.take = [&to, least, most, name = added.name](const std::vector<std::string>& typed) {
    to = parse_count(name, typed.back(), least, most);
  };
  return added;
}

option& options::counts(std::string name, std::vector<std::uint64_t>& to, std::uint64_t least, std::uint64_t most,
                        std::string help) {
  option& added = add(std::move(name), "NUMBER,...", std::move(help));
  added.most = many;
  added.preset = fmt::format("{}", fmt::join(to, ","));
  added.take = [&to, least, most, name = added.name](const std::vector<std::string>& typed) {
    to.clear();
    for (const std::string& each : separated(name, typed)) to.push_back(parse_count(name, each, least, most));
    sort_once(to);
  };
  return added;
}

option& options::number(std::string name, std::optional<double>& to, double least, double most, std::string help) {
  option& added = add(std::move(name), "NUMBER", std::move(help));
  added.take = [&to, least, most, name = added.name](const std::vector<std::string>& typed) {
    to = parse_number(name, typed.back(), least, most);
  };
  return added;
}

option& options::percent(std::string name, double& to, std::string help) {
  option& added = add(std::move(name), "PERCENT", std::move(help));
  added.preset = fmt::format("{:g}", to * 100);
  added.take = [&to, name = added.name](const std::vector<std::string>& typed) {
    to = parse_number(name, typed.back(), 0, 100) / 100;
  };
  return added;
}

option& options::percents(std::string name, std::vector<double>& to, double least, double most, std::string help) {
  option& added = add(std::move(name), "NUMBER,...", std::move(help));
  added.most = many;
  for (const double each : to) added.preset += fmt::format("{}{:.6g}", added.preset.empty() ? "" : ",", each * 100);
  added.take = [&to, least, most, name = added.name](const std::vector<std::string>& typed) {
    to.clear();
    for (std::string each : separated(name, typed)) {
      if (each.starts_with('p')) each.erase(0, 1);
      const double percent = parse_number(name, each, least * 100, most * 100);
      to.push_back(std::round(percent * 1e4) / 1e6);
    }
    sort_once(to);
  };
  return added;
}

}  // namespace qd1
