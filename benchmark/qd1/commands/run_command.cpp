// SPDX-License-Identifier: BSL-1.0
#include "commands/run_command.hpp"

#include "compare/gate.hpp"
#include "measure/interruption.hpp"
#include "measure/run.hpp"
#include "merge/of_ranks.hpp"
#include "output/deliver.hpp"
#include "output/hgrm.hpp"
#include "output/json.hpp"
#include "output/text_file.hpp"
#include "platform/names.hpp"
#include "units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <utility>

namespace qd1 {
namespace {

void add_options(CLI::App& command, run_arguments& to) {
  command.add_option("PATH", to.path,
                     "A file, a directory or a block device. Default: a temporary file in the current directory.\n"
                     "A file that does not exist is made, and kept for the next run.");
  command.add_option("--modes", to.modes, "Modes to measure")
      ->delimiter(',')
      ->check(CLI::IsMember({"direct", "cached", "mapped"}))
      ->default_str("direct,cached,mapped");
  command.add_option("--ops", to.operations, "Operations to measure")
      ->delimiter(',')
      ->check(CLI::IsMember({"read", "write"}))
      ->default_str("read,write");
  command.add_option("--block", to.block, "Bytes of a transfer; offsets are multiples of it")->capture_default_str();
  command.add_option("--file-size", to.file_size,
                     "Bytes to measure on. Default: those of a file that exists, else 1GiB");
  command
      .add_option("--reads", to.reads, "Reads with the pages in memory (warm), or not (cold); direct ones know neither")
      ->delimiter(',')
      ->check(CLI::IsMember({"warm", "cold"}))
      ->default_str("warm");
  command
      .add_option(
          "--writes", to.writes,
          fmt::format(
              "Writes that are over when they are accepted, when they are written through ({}), or after a sync",
              platform::write_through))
      ->delimiter(',')
      ->check(CLI::IsMember({"accepted", "through", "flushed"}))
      ->default_str("accepted,flushed");
  command
      .add_option("--advice", to.advice,
                  fmt::format("What the kernel is told of mappings: nothing (normal), or random use ({})",
                              platform::random_advice))
      ->delimiter(',')
      ->check(CLI::IsMember({"normal", "random"}))
      ->default_str("normal");
  command.add_option("--working-set", to.working_sets, "Bytes from which offsets are chosen. Default: the whole file")
      ->delimiter(',');
  command
      .add_option("--rate", to.rate,
                  "Open loop: begin so many transfers a second, and measure from when each should have begun")
      ->check(CLI::Range(1e-3, 1e9));
  command.add_flag("--poisson", to.poisson, "With --rate: at random intervals, as from many independent callers")
      ->needs("--rate");
  command.add_option("--samples", to.samples, "Transfers of a series, at most")
      ->check(CLI::Range(std::uint64_t(1), std::uint64_t(1) << 40))
      ->capture_default_str();
  command.add_option("--time", to.seconds, "Time of a series, at most")->capture_default_str();
  command
      .add_option("--rounds", to.rounds,
                  "Parts in which the transfers and the time of a series are spent, the series taking turns. compare "
                  "tells by them\nwhat is chance; with 1 a series is measured without a break")
      ->check(CLI::Range(std::uint64_t(1), std::uint64_t(1000)))
      ->capture_default_str();
  command.add_option("--turns", to.turns,
                     "A file: each round waits its turn with those of other runs that name it. Of runs side by side, "
                     "so that whatever\nthe host does meets them alike, and compare tells smaller differences");
  command
      .add_option(
          "--engine", to.engine,
          fmt::format("Who serves the asynchronous form; auto takes {} where it can be had", platform::own_engine))
      ->check(CLI::IsMember({"auto", platform::own_engine_option, "pool"}))
      ->capture_default_str();
  command.add_option("--seed", to.seed, "Of the offsets and the data")->capture_default_str();
  command.add_flag("--overwrite", to.overwrite, "Destroy the contents of PATH, though qd1 has not made it");
  command.add_option("--json", to.json, "Write the report to this file; - is standard output, without the table");
  command.add_option("--html", to.html, "Write the report as a page, which needs no other file and no network");
  command.add_option("--hgrm", to.hgrm, "Write each series for the HdrHistogram plotter: <this>-<series>.hgrm");
  command.add_option("--fio", to.fio,
                     "Write each series as fio's json+, as fio-plot takes it: <this>/<series>/fio.json");
  command
      .add_option(
          "--gate", to.gates,
          "What must be, such as direct.read.p99<=200us. Exit status: 0 met, 1 not, 3 cannot be told, 4 invalid")
      ->take_all();
  command
      .add_option("--gate-vs", to.gates_against,
                  "A report of --json, and what must be as a multiple of its figures: base.json 'p50<=1.10x'")
      ->type_size(2);
}

template <class Value>
std::vector<Value> values(const std::vector<std::string>& names, std::initializer_list<Value> all) {
  std::vector<Value> found;
  for (const Value each : all)
    if (std::find(names.begin(), names.end(), name(each)) != names.end()) found.push_back(each);
  return found;
}

// What "written through" is called on a command line has no blank in it.
std::vector<durability> durabilities(std::vector<std::string> names) {
  std::replace(names.begin(), names.end(), std::string("through"), std::string(name(durability::written_through)));
  return values(names, {durability::accepted, durability::written_through, durability::flushed});
}

run_request understood(const run_arguments& from, const std::string& command_line) {
  run_request request;
  request.path = from.path;
  request.modes = values(from.modes, {mode::direct, mode::cached, mode::mapped});
  if (!from.operations.empty()) request.operations = values(from.operations, {operation::read, operation::write});
  request.block = parse_size("--block", from.block);
  if (!from.file_size.empty()) request.file_size = parse_size("--file-size", from.file_size);
  request.reads = values(from.reads, {temperature::warm, temperature::cold});
  request.writes = durabilities(from.writes);
  request.advice = values(from.advice, {advice::normal, advice::random});
  for (const std::string& each : from.working_sets) request.working_sets.push_back(parse_size("--working-set", each));
  if (from.rate > 0) request.rate = from.rate;
  request.poisson = from.poisson;
  request.samples = from.samples;
  request.seconds = parse_seconds("--time", from.seconds);
  request.rounds = from.rounds;
  request.turns = from.turns;
  request.engine = from.engine;
  request.seed = from.seed;
  request.overwrite = from.overwrite;
  request.command_line = command_line;
  return request;
}

void write_hgrms(const std::string& prefix, const report& report) {
  for (const series& each : report.series)
    if (each.measured()) write_file(fmt::format("{}-{}.hgrm", prefix, file_title(each.work)), hgrm(each.latency));
}

void write_fio_files(const std::string& directory, const report& report) {
  for (const series& each : report.series) {
    if (!each.measured()) continue;
    const std::filesystem::path own = std::filesystem::path(directory) / file_title(each.work);
    std::error_code failed;
    std::filesystem::create_directories(own, failed);
    if (failed) throw usage_error(fmt::format("{}: {}", own.string(), failed.message()));
    write_file((own / "fio.json").string(), fio_json(report, each));
  }
}

// All gates, understood before anything is measured, so that a slip of the pen costs no time.
struct gates {
  std::vector<gate> absolute;
  std::vector<std::pair<report, gate>> against;
};

gates understood_gates(const run_arguments& from) {
  gates found;
  for (const std::string& each : from.gates) found.absolute.push_back(parse_gate(each));
  for (std::size_t each = 0; each + 1 < from.gates_against.size(); each += 2) {
    const std::string& path = from.gates_against[each];
    found.against.emplace_back(read_json(read_file(path), path), parse_gate(from.gates_against[each + 1]));
  }
  return found;
}

exit_status check(const gates& gates, const report& run, std::FILE* to) {
  std::vector<gate_result> results;
  const auto add = [&](std::vector<gate_result> more) { results.insert(results.end(), more.begin(), more.end()); };
  for (const gate& each : gates.absolute) add(check(each, run));
  for (const auto& [base, each] : gates.against) add(check_against(each, base, run));
  exit_status status = exit_pass;
  for (const gate_result& each : results) {
    fmt::print(to, "{}\n", each.text);
    status = worst(status, each.status);
  }
  return status;
}

}  // namespace

CLI::App& add_run(CLI::App& program, run_arguments& to) {
  CLI::App& command = *program.add_subcommand("run", "Measure");
  add_options(command, to);
  return command;
}

int run(const run_arguments& arguments, const std::string& command_line) {
  const gates gates = understood_gates(arguments);
  heed_interrupts();
  const auto all = of_all_ranks(run(understood(arguments, command_line)));
  if (!all) return exit_pass;  // the first rank answers for all
  const report& found = *all;
  deliver(found, arguments.json, arguments.html);
  if (!arguments.hgrm.empty()) write_hgrms(arguments.hgrm, found);
  if (!arguments.fio.empty()) write_fio_files(arguments.fio, found);
  return worst(verdict(found), check(gates, found, arguments.json == "-" ? stderr : stdout));
}

}  // namespace qd1
