// SPDX-License-Identifier: BSL-1.0
#include "commands/depth.hpp"

#include "depth/ladder.hpp"
#include "failure.hpp"
#include "measure/interruption.hpp"
#include "measure/run.hpp"
#include "merge/of_ranks.hpp"
#include "output/deliver.hpp"
#include "platform/names.hpp"
#include "units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace qd1 {
namespace {

constexpr std::uint64_t most_in_flight = 1 << 16;
constexpr std::uint64_t most_memory = std::uint64_t(1) << 30;  // of buffers, for each worker

void add_load(CLI::App& command, depth_arguments& to) {
  command.add_option("PATH", to.paths,
                     "Files, directories or block devices, all used at once. Default: a temporary file in the current "
                     "directory.\nA file that does not exist is made, and kept for the next run.");
  command.add_option("--modes", to.modes, "Modes to measure")
      ->delimiter(',')
      ->check(CLI::IsMember({"direct", "cached", "mapped"}))
      ->default_str("direct");
  command.add_option("--reads", to.reads, "Per cent of the transfers that read; the others write")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command.add_option("--order", to.order, "Of the offsets")
      ->check(CLI::IsMember({"random", "sequential"}))
      ->capture_default_str();
  command.add_option("--block", to.block, "Bytes of a transfer; offsets are multiples of it")->capture_default_str();
  command.add_option("--depths", to.depths, "Transfers that each worker keeps in flight, one step of the ladder each")
      ->delimiter(',')
      ->check(CLI::Range(std::uint64_t(1), most_in_flight))
      ->default_str("1,2,4,8,16,32,64,128");
  command.add_option("--workers", to.workers, "Threads for each PATH, with a context each; each with all depths")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->default_str("1");
  command.add_flag("--alone", to.each_alone,
                   "Each PATH alone, too: what all do together is then a part of the sum, and why it is not all of it");
  command.add_option("--file-size", to.file_size,
                     "Bytes to measure on. Default: those of a file that exists, else 1GiB");
  command.add_option("--start", to.temperature, "With the pages in memory (warm), or not (cold); direct knows neither")
      ->check(CLI::IsMember({"warm", "cold"}))
      ->capture_default_str();
  command
      .add_option("--writes", to.durability,
                  fmt::format("Over when accepted, or when written through ({})", platform::write_through))
      ->check(CLI::IsMember({"accepted", "through"}))
      ->capture_default_str();
}

void add_measuring(CLI::App& command, depth_arguments& to) {
  command.add_option("--time", to.seconds, "Time of a step")->capture_default_str();
  command
      .add_option("--rounds", to.rounds,
                  "Parts in which the time of a step is spent, the steps taking turns; with 1 each is measured without "
                  "a break,\nand its course is seen second by second")
      ->check(CLI::Range(std::uint64_t(1), std::uint64_t(1000)))
      ->capture_default_str();
  command.add_flag("--no-clock", to.untimed,
                   "Do not read the clock for each transfer: the most operations a second, and no latencies");
  command.add_flag("--pin", to.pinned, "Keep each worker on a processor, those near the device first");
  command.add_option("--engine", to.engine, fmt::format("auto takes {} where it can be had", platform::own_engine))
      ->check(CLI::IsMember({"auto", platform::own_engine_option, "pool"}))
      ->capture_default_str();
  command.add_option("--wait", to.waiting, "How workers wait for completions")
      ->check(CLI::IsMember({"sleep", "spin", "adaptive"}))
      ->capture_default_str();
  command.add_flag("--polled", to.polled, "Ask the device for completions, where it has queues for that");
  command.add_flag(
      "--registered", to.registered,
      "Transfer into and out of memory that is registered with the ring, which takes less of the processor");
  command.add_option("--seed", to.seed, "Of the offsets and the data")->capture_default_str();
  command.add_flag("--overwrite", to.overwrite, "Destroy the contents of PATH, though qd1 has not made it");
  command.add_option("--json", to.json, "Write the report to this file; - is standard output, without the table");
  command.add_option("--html", to.html, "Write the report as a page, which needs no other file and no network");
}

std::vector<mode> modes_of(const std::vector<std::string>& names) {
  std::vector<mode> found;
  for (const mode each : {mode::direct, mode::cached, mode::mapped})
    if (std::ranges::find(names, name(each)) != names.end()) found.push_back(each);
  return found;
}

std::vector<std::uint64_t> ascending(std::vector<std::uint64_t> numbers) {
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::unique(numbers);
  numbers.erase(repeated.begin(), repeated.end());
  return numbers;
}

void require_possible(const ladder_request& request) {
  const std::uint64_t depth = request.depths.back();
  if (request.block > most_memory / depth)
    throw usage_error(
        fmt::format("--depths: {} transfers of {} bytes take more than {} of memory for each worker; at "
                    "most {} fit",
                    depth, request.block, size_text(most_memory), most_memory / request.block));
  if (request.each_alone && request.paths.size() < 2)
    throw usage_error(fmt::format("--alone: there are {} targets; it takes two at least",
                                  std::max<std::size_t>(request.paths.size(), 1)));
}

ladder_request understood(const depth_arguments& from, const std::string& command_line) {
  ladder_request request;
  request.paths = from.paths;
  request.modes = modes_of(from.modes);
  request.reads = static_cast<double>(from.reads) / 100;
  request.order = from.order == name(order::random) ? order::random : order::sequential;
  request.depths = ascending(from.depths);
  request.workers = ascending(from.workers);
  request.each_alone = from.each_alone;
  request.block = parse_size("--block", from.block);
  if (!from.file_size.empty()) request.file_size = parse_size("--file-size", from.file_size);
  request.temperature = from.temperature == name(temperature::cold) ? temperature::cold : temperature::warm;
  request.durability = from.durability == "through" ? durability::written_through : durability::accepted;
  request.seconds = parse_seconds("--time", from.seconds);
  request.rounds = from.rounds;
  request.timed = !from.untimed;
  request.pinned = from.pinned;
  request.engine = {from.engine, from.waiting, from.polled, from.registered};
  request.seed = from.seed;
  request.overwrite = from.overwrite;
  request.command_line = command_line;
  require_possible(request);
  return request;
}

}  // namespace

CLI::App& add_depth(CLI::App& program, depth_arguments& to) {
  CLI::App& command = *program.add_subcommand("depth", "Measure with many transfers in flight");
  add_load(command, to);
  add_measuring(command, to);
  return command;
}

int depth(const depth_arguments& arguments, const std::string& command_line) {
  const ladder_request request = understood(arguments, command_line);
  heed_interrupts();
  const auto found = of_all_ranks(climb(request));
  if (!found) return exit_pass;  // the first rank answers for all
  deliver(*found, arguments.json, arguments.html);
  return verdict(*found);
}

}  // namespace qd1
