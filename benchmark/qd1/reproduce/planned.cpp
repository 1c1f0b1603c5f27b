// SPDX-License-Identifier: BSL-1.0
#include "reproduce/planned.hpp"

#include "measure/plan.hpp"
#include "platform/queue_setting.hpp"
#include "units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace qd1 {
namespace {

constexpr double warm_up = 1.1;  // with what is thrown away before

template <class... Functions>
struct overloaded : Functions... {
  using Functions::operator()...;
};
// What C++20 deduces by itself; Clang does from 17 on.
template <class... Functions>
overloaded(Functions...) -> overloaded<Functions...>;

std::string names(const std::vector<std::string>& paths) {
  if (std::ranges::all_of(paths, [](const std::string& each) { return each.empty() || each == "."; }))
    return paths.size() == 1 ? "a temporary file" : fmt::format("{} temporary files", paths.size());
  return fmt::format("{}", fmt::join(paths, ", "));
}

std::string sized(const std::optional<std::uint64_t>& bytes) { return bytes ? size_text(*bytes) + " of " : ""; }

std::uint64_t steps_of(const ladder_request& request) {
  const std::uint64_t targets = request.each_alone ? request.paths.size() + 1 : 1;
  return request.modes.size() * request.depths.size() * request.workers.size() * targets;
}

constexpr overloaded outlined = {[](const run_request& request) {
                                   return fmt::format("{}{}, read and written", sized(request.file_size),
                                                      names({request.path}));
                                 },
                                 [](const ladder_request& request) {
                                   return fmt::format("{}{}, {}", sized(request.file_size), names(request.paths),
                                                      request.reads == 1 ? "read" : "read and written");
                                 },
                                 [](const unchecked_request& request) {
                                   return fmt::format("{}{}, read", sized(request.file_size), names({request.path}));
                                 }};

}  // namespace

double seconds_of(const planned& part) {
  return std::visit(
      overloaded{[](const run_request& request) {
                   const auto operations = request.operations.value_or(std::vector{operation::read, operation::write});
                   const std::uint64_t bytes = request.block;  // any: only how many series there are is asked
                   return static_cast<double>(plan(request, operations, bytes).size()) * request.seconds * warm_up;
                 },
                 [](const ladder_request& request) {
                   return static_cast<double>(steps_of(request)) * request.seconds * warm_up;
                 },
                 [](const unchecked_request& request) { return request.seconds; }},
      part.how);
}

std::string outline_of(const planned& part) {
  if (!part.tuned) return std::visit(outlined, part.how);
  return fmt::format("{}; {} of {} is set to {} meanwhile", std::visit(outlined, part.how), part.tuned->setting,
                     part.tuned->device, part.tuned->value);
}

experiment_part measured(const planned& part, const std::string& command_line) {
  std::optional<platform::queue_setting> setting;
  if (part.tuned) setting.emplace(part.tuned->device, part.tuned->setting, part.tuned->value);
  experiment_part found =
      std::visit(overloaded{[&](run_request request) {
                              request.command_line = command_line;
                              return experiment_part{{}, {}, run(request)};
                            },
                            [&](ladder_request request) {
                              request.command_line = command_line;
                              return experiment_part{{}, {}, climb(request)};
                            },
                            [&](const unchecked_request& request) { return repeat_mistake(request, command_line); }},
                 part.how);
  found.name = part.name;
  found.purpose = part.purpose;
  return found;
}

}  // namespace qd1
