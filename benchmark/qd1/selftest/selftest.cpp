// SPDX-License-Identifier: BSL-1.0
#include "selftest/selftest.hpp"

#include "measure/interruption.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace qd1 {
namespace {

std::size_t count_of(const selftest& of, attack_result result) {
  return static_cast<std::size_t>(
      std::ranges::count(of.attacks, result, [](const attack_outcome& each) { return each.finding.result; }));
}

finding attempt(const attack& of, const std::string& directory) try {
  return of.attempt(directory);
} catch (const usage_error& failure) {
  return {attack_result::untried, failure.what()};
}

std::string line_of(const attack_outcome& of) {
  return fmt::format("{}: {} (expected: {}): {}", name(of.finding.result), of.name, of.expected, of.finding.text);
}

// What is noticed of a run that nobody attacks is a mistake of qd1's.
std::string line_of_none(const attack& none, const finding& found) {
  switch (found.result) {
    case attack_result::noticed: return fmt::format("believed: {}", none.name);
    case attack_result::missed:
      return fmt::format("REFUSED: {} (expected: {}): {}", none.name, none.expected, found.text);
    case attack_result::untried: break;
  }
  return fmt::format("{}: {}: {}", name(found.result), none.name, found.text);
}

}  // namespace

std::vector<attack> known_attacks() {
  std::vector<attack> all = attacks_on_files();
  for (auto more : {attacks_on_time(), attacks_on_reports()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

selftest carry_out(const attack& none, const std::vector<attack>& attacks, const std::string& directory,
                   const std::function<void(const std::string& line)>& tell) {
  selftest found{attempt(none, directory), {}};
  if (tell && !interrupted()) tell(line_of_none(none, found.unattacked));
  for (const attack& each : attacks) {
    attack_outcome outcome{each.name, each.expected, attempt(each, directory)};
    if (interrupted()) break;  // it was not carried out to its end
    found.attacks.push_back(std::move(outcome));
    if (tell) tell(line_of(found.attacks.back()));
  }
  return found;
}

std::string closing(const selftest& of) {
  const std::size_t untried = count_of(of, attack_result::untried);
  std::string text =
      fmt::format("{} of {} attacks were noticed", count_of(of, attack_result::noticed), of.attacks.size() - untried);
  if (untried != 0) text += fmt::format("; {} could not be tried here", untried);
  if (of.unattacked.result == attack_result::missed) text += "; a run that nobody attacked was refused";
  return text + '.';
}

std::string json(const selftest& of) {
  auto list = nlohmann::json::array();
  for (const attack_outcome& each : of.attacks)
    list.push_back({{"attack", each.name},
                    {"expected", each.expected},
                    {"result", name(each.finding.result)},
                    {"text", each.finding.text}});
  const nlohmann::json all{{"unattacked_run_believed", of.unattacked.result == attack_result::noticed},
                           {"attacks", std::move(list)}};
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

exit_status verdict(const selftest& of) {
  if (count_of(of, attack_result::missed) != 0 || of.unattacked.result == attack_result::missed) return exit_fail;
  return count_of(of, attack_result::noticed) == 0 ? exit_usage : exit_pass;
}

}  // namespace qd1
