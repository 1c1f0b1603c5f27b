// SPDX-License-Identifier: BSL-1.0
#include "measure/run.hpp"
#include "merge/merge.hpp"
#include "output/json.hpp"
#include "selftest/attack.hpp"
#include "selftest/staged.hpp"

#include <functional>
#include <string>
#include <vector>

namespace qd1 {
namespace {

using placed = const std::string&;  // the directory

finding refused_by(const std::function<void()>& read) try {
  read();
  return {attack_result::missed, "it was accepted"};
} catch (const usage_error& refusal) {
  return {attack_result::noticed, refusal.what()};
}

// The first digit of a figure becomes another.
finding edit(placed directory) {
  std::string text = json(run(short_run(directory, mode::cached)));
  const std::size_t figure = text.find("\"mean_ns\"");
  const std::size_t digit = figure == std::string::npos ? figure : text.find_first_of("123456789", figure);
  if (digit == std::string::npos) return {attack_result::untried, "the report has no mean"};
  text[digit] = text[digit] == '9' ? '1' : static_cast<char>(text[digit] + 1);
  return refused_by([&] { read_json(text, "the report"); });
}

finding merge_with_itself(placed directory) {
  const report once = run(short_run(directory, mode::cached));
  return refused_by([&] { merged({{"first", once}, {"second", once}}); });
}

}  // namespace

std::vector<attack> attacks_on_reports() {
  return {{"a report of which a digit was changed", "refused", edit},
          {"a report merged with itself", "refused", merge_with_itself}};
}

}  // namespace qd1
