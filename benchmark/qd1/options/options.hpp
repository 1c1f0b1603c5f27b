// SPDX-License-Identifier: BSL-1.0
// The options of a command as a table. The command line's parser, its help, the manual page and the shells' completions
// are all made from it.
#pragma once

#include "enumerators.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qd1 {

struct option {
  std::string name;   ///< "--block"; of an argument without a name: "PATH"
  std::string value;  ///< "SIZE": what follows; empty: a flag
  std::string help;
  std::string preset;                   ///< the default; empty: the help text has it
  std::vector<std::string> choices;     ///< all values that it takes; empty: any
  std::string needs;                    ///< another option, without which this one has no meaning
  std::string decides;                  ///< "which blocks are measured": what is left to no other option …
  std::vector<std::string> instead_of;  ///< … so these cannot be given beside it
  bool required = false;
  std::size_t most = 1;    ///< how often it may be given
  std::size_t values = 1;  ///< that follow each time
  std::size_t least = 0;   ///< of an argument without a name: how often it has to be given
  bool is_output = false;  ///< the command writes to the file, or files, that it names
  /// Takes the values as typed. Throws usage_error.
  std::function<void(const std::vector<std::string>&)> take;

  bool is_argument() const { return name[0] != '-'; }
  bool is_file() const { return value == "FILE" || value == "PATH" || value == "REPORT" || value == "PREFIX"; }
  /// The first value names a file or a directory.
  bool names_file() const { return is_file() || value == "DIRECTORY" || value.starts_with("REPORT "); }
};

/// A spelling on the command line, and what it means.
template <class Value>
struct choice {
  std::string_view spelling;
  Value value;
};

/// The values by the names that reports give them.
template <enumerated Value>
constexpr auto choices_of() {
  constexpr auto values = all_values<Value>();
  std::array<choice<Value>, values.size()> all{};
  for (std::size_t each = 0; each < values.size(); ++each) all[each] = {name(values[each]), values[each]};
  return all;
}

/// Adds options that write to members of a request, whose value until then is the default. The request must outlive the
/// table. What is added can be changed through the reference that is returned, until the next one is added.
class options {
 public:
  const std::vector<option>& all() const noexcept { return all_; }

  option& flag(std::string name, bool& to, std::string help);
  option& text(std::string name, std::string value, std::string& to, std::string help);
  option& texts(std::string name, std::string value, std::vector<std::string>& to, std::string help);
  /// One of the words.
  option& word(std::string name, std::string& to, std::vector<std::string> words, std::string help);

  option& size(std::string name, std::uint64_t& to, std::string help);
  option& size(std::string name, std::optional<std::uint64_t>& to, std::string help);
  option& sizes(std::string name, std::vector<std::uint64_t>& to, std::string help);
  option& seconds(std::string name, double& to, std::string help);
  option& seconds(std::string name, std::optional<double>& to, std::string help);
  option& count(std::string name, std::uint64_t& to, std::uint64_t least, std::uint64_t most, std::string help);
  option& count(std::string name, std::optional<std::uint64_t>& to, std::uint64_t least, std::uint64_t most,
                std::string help);
  /// Ascending, each once.
  option& counts(std::string name, std::vector<std::uint64_t>& to, std::uint64_t least, std::uint64_t most,
                 std::string help);
  option& number(std::string name, std::optional<double>& to, double least, double most, std::string help);
  /// Per cent on the command line, a part of 1 in the request.
  option& percent(std::string name, double& to, std::string help);
  /// Several, from `least` to `most` as parts of 1; ascending, each once. "p99.9" may stand for 99.9.
  option& percents(std::string name, std::vector<double>& to, double least, double most, std::string help);

  template <class Value, std::size_t count>
  option& one_of(std::string name, Value& to, const std::array<choice<Value>, count>& known, std::string help) {
    option& added = add(std::move(name), "WORD", std::move(help));
    for (const auto& each : known) {
      added.choices.emplace_back(each.spelling);
      if (each.value == to) added.preset = each.spelling;
    }
    added.take = [&to, known, name = added.name, words = added.choices](const std::vector<std::string>& typed) {
      to = known[index_of(name, typed.back(), words)].value;
    };
    return added;
  }
  template <enumerated Value>
  option& one_of(std::string name, Value& to, std::string help) {
    return one_of(std::move(name), to, choices_of<Value>(), std::move(help));
  }

  /// In the order of their declaration, each once. `to` is a vector, or an optional one.
  template <class Values, class Value, std::size_t count>
  option& some_of(std::string name, Values& to, const std::array<choice<Value>, count>& known, std::string help) {
    option& added = add(std::move(name), "WORD,...", std::move(help));
    added.most = many;
    for (const auto& each : known) {
      added.choices.emplace_back(each.spelling);
      if (!contains(to, each.value)) continue;
      added.preset += (added.preset.empty() ? "" : ",") + std::string(each.spelling);
    }
    added.take = [&to, known, name = added.name, words = added.choices](const std::vector<std::string>& typed) {
      std::array<bool, count> is_wanted{};
      for (const std::string& each : separated(name, typed)) is_wanted[index_of(name, each, words)] = true;
      std::vector<Value> found;
      for (std::size_t each = 0; each < count; ++each)
        if (is_wanted[each]) found.push_back(known[each].value);
      to = std::move(found);
    };
    return added;
  }
  template <enumerated Value>
  option& some_of(std::string name, std::vector<Value>& to, std::string help) {
    return some_of(std::move(name), to, choices_of<Value>(), std::move(help));
  }
  template <enumerated Value>
  option& some_of(std::string name, std::optional<std::vector<Value>>& to, std::string help) {
    return some_of(std::move(name), to, choices_of<Value>(), std::move(help));
  }

  static constexpr std::size_t many = 1000;

 private:
  template <class Value>
  static bool contains(const std::vector<Value>& values, const Value& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  }
  template <class Value>
  static bool contains(const std::optional<std::vector<Value>>& values, const Value& value) {
    return values && contains(*values, value);
  }
  option& add(std::string name, std::string value, std::string help);
  static std::size_t index_of(const std::string& name, const std::string& typed, const std::vector<std::string>& words);
  /// At least one, or throws usage_error.
  static std::vector<std::string> separated(const std::string& name, const std::vector<std::string>& typed);

  std::vector<option> all_;
};

/// "run", what it is for, its options, and what it does. `run` gets the command line as the report shows it, and
/// returns the exit status; it may throw usage_error.
struct command {
  std::string name;
  std::string help;
  qd1::options options;
  std::function<int(const std::string& command_line)> run;
  bool by_ranks = false;  ///< the processes of an MPI job may run it together
  bool hidden = false;    ///< not for people: left out of the help
};

}  // namespace qd1
