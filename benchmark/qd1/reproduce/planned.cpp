// SPDX-License-Identifier: BSL-1.0
#include "reproduce/planned.hpp"

#include "measure/plan.hpp"
#include "platform/queue_setting.hpp"
#include "reproduce/resources.hpp"
#include "units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace qd1 {
namespace {

constexpr double with_warm_up = 1.1;
constexpr double steps_of_memory = 10;  // of qd1 memory

std::string names(const std::vector<std::string>& paths) {
  if (std::ranges::all_of(paths, [](const std::string& each) { return each.empty() || each == "."; }))
    return paths.size() == 1 ? "a temporary file" : fmt::format("each of {} temporary files", paths.size());
  return fmt::format("{}", fmt::join(paths, ", "));
}

std::string sized(const std::optional<std::uint64_t>& bytes) { return bytes ? size_text(*bytes) + " of " : ""; }

// --- one of each, for each kind of request ---

double seconds_of(const run_request& request) {
  const auto operations = request.operations.value_or(std::vector{operation::read, operation::write});
  const std::uint64_t bytes = request.block;  // any: only how many series there are is asked
  return static_cast<double>(plan(request, operations, bytes).size()) * request.seconds * with_warm_up;
}

double seconds_of(const ladder_request& request) {
  const std::uint64_t targets = request.each_alone ? request.paths.size() + 1 : 1;
  const std::uint64_t steps = request.modes.size() * request.depths.size() * request.workers.size() * targets;
  return static_cast<double>(steps) * request.seconds * with_warm_up;
}

double seconds_of(const memory_request& request) { return steps_of_memory * request.seconds; }
double seconds_of(const unchecked_request& request) { return 2 * request.seconds; }

std::uint64_t bytes_of(const std::vector<std::string>& paths, std::uint64_t each) {
  return static_cast<std::uint64_t>(std::ranges::count_if(paths, is_made)) * each;
}

std::uint64_t bytes_written(const run_request& request) {
  return bytes_of({request.path}, request.file_size.value_or(0));
}
std::uint64_t bytes_written(const ladder_request& request) {
  return bytes_of(request.paths, request.file_size.value_or(0));
}
std::uint64_t bytes_written(const memory_request& request) {
  return bytes_of({request.path}, request.memory.value_or(default_memory()) / 2 * 3);
}
std::uint64_t bytes_written(const unchecked_request& request) {
  return bytes_of({request.path}, request.file_size.value_or(0));
}

std::string outline_of(const run_request& request) {
  const bool only_reads = request.operations == std::vector{operation::read};
  return fmt::format("{}{}, {}", sized(request.file_size), names({request.path}),
                     only_reads ? "read" : "read and written");
}

std::string outline_of(const ladder_request& request) {
  return fmt::format("{}{}, {}{}", sized(request.file_size), names(request.paths),
                     request.reads == 1 ? "read" : "read and written",
                     request.memory ? fmt::format(" with {} of memory", size_text(*request.memory)) : "");
}

std::string outline_of(const memory_request& request) {
  return fmt::format("{}, read, and written where that is allowed, with {} of memory and less", names({request.path}),
                     size_text(request.memory.value_or(default_memory())));
}

std::string outline_of(const unchecked_request& request) {
  return fmt::format("{}{}, read", sized(request.file_size), names({request.path}));
}

template <class Request>
Request noted(Request request, const std::string& command_line) {
  request.command_line = command_line;
  return request;
}

experiment_part carried_out(const run_request& request, const std::string& command_line) {
  return {{}, {}, run(noted(request, command_line))};
}

experiment_part carried_out(const ladder_request& request, const std::string& command_line) {
  return {{}, {}, measure_loads(noted(request, command_line))};
}

experiment_part carried_out(const memory_request& request, const std::string& command_line) {
  return {{}, {}, measure_memory(noted(request, command_line))};
}

experiment_part carried_out(const unchecked_request& request, const std::string& command_line) {
  return repeat_mistake(request, command_line);
}

}  // namespace

double seconds_of(const planned& part) {
  return std::visit([](const auto& how) { return seconds_of(how); }, part.how);
}

std::uint64_t bytes_written(const planned& part) {
  return std::visit([](const auto& how) { return bytes_written(how); }, part.how);
}

std::string outline_of(const planned& part) {
  std::string text = std::visit([](const auto& how) { return outline_of(how); }, part.how);
  if (part.tuned)
    text +=
        fmt::format("; {} of {} is set to {} meanwhile", part.tuned->setting, part.tuned->device, part.tuned->value);
  return text;
}

experiment_part measured(const planned& part, const std::string& command_line) {
  std::optional<platform::queue_setting> setting;
  if (part.tuned) setting.emplace(part.tuned->device, part.tuned->setting, part.tuned->value);
  experiment_part found = std::visit([&](const auto& how) { return carried_out(how, command_line); }, part.how);
  found.name = part.name;
  found.purpose = part.purpose;
  return found;
}

}  // namespace qd1
