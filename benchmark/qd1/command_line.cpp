// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include "commands/env.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "run.hpp"
#include "table.hpp"
#include "units.hpp"
#include <qio/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace qd1 {
namespace {

// As typed; each is understood after parsing, so that errors can say what would be right.
struct run_arguments {
  std::string path;
  std::vector<std::string> modes = {"direct", "cached", "mapped"};
  std::vector<std::string> operations;
  std::string block = "4k";
  std::string file_size;
  std::uint64_t samples = 1'000'000;
  std::string seconds = "5s";
  std::string engine = "auto";
  std::uint64_t seed = 1;
  bool overwrite = false;
  std::string json;
};

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
  command.add_option("--samples", to.samples, "Transfers of a series, at most")
      ->check(CLI::Range(std::uint64_t(1), std::uint64_t(1) << 40))
      ->capture_default_str();
  command.add_option("--time", to.seconds, "Time of a series, at most")->capture_default_str();
  command
      .add_option("--engine", to.engine, "Who serves the asynchronous form; auto takes io_uring where it can be had")
      ->check(CLI::IsMember({"auto", "uring", "pool"}))
      ->capture_default_str();
  command.add_option("--seed", to.seed, "Of the offsets and the data")->capture_default_str();
  command.add_flag("--overwrite", to.overwrite, "Destroy the contents of PATH, though qd1 has not made it");
  command.add_option("--json", to.json, "Write the report to this file; - is standard output, without the table");
}

template <class Value>
std::vector<Value> values(const std::vector<std::string>& names, std::initializer_list<Value> all) {
  std::vector<Value> found;
  for (const Value each : all)
    if (std::find(names.begin(), names.end(), name(each)) != names.end()) found.push_back(each);
  return found;
}

run_request understood(const run_arguments& from, int argc, const char* const* argv) {
  run_request request;
  request.path = from.path;
  request.modes = values(from.modes, {mode::direct, mode::cached, mode::mapped});
  if (!from.operations.empty()) request.operations = values(from.operations, {operation::read, operation::write});
  request.block = parse_size("--block", from.block);
  if (!from.file_size.empty()) request.file_size = parse_size("--file-size", from.file_size);
  request.samples = from.samples;
  request.seconds = parse_seconds("--time", from.seconds);
  request.engine = from.engine;
  request.seed = from.seed;
  request.overwrite = from.overwrite;
  request.command_line = "qd1";
  for (int each = 1; each < argc; ++each) request.command_line += fmt::format(" {}", argv[each]);
  return request;
}

void write_file(const std::string& path, const std::string& contents) {
  std::ofstream file(path, std::ios::binary);
  file << contents;
  if (!file.flush()) throw usage_error(path + ": cannot be written");
}

int run_command(const run_arguments& arguments, int argc, const char* const* argv) {
  heed_interrupts();
  const report found = run(understood(arguments, argc, argv));
  if (arguments.json == "-")
    fmt::print("{}", json(found));
  else
    fmt::print("{}", table(found));
  if (!arguments.json.empty() && arguments.json != "-") write_file(arguments.json, json(found));
  return verdict(found);
}

}  // namespace

int command_line(int argc, const char* const* argv) {
  CLI::App program("Latencies of small reads and writes at queue depth 1: direct, cached and mapped.", "qd1");
  program.set_version_flag("--version",
                           fmt::format("qd1 {}.{}.{}", QIO_VERSION_MAJOR, QIO_VERSION_MINOR, QIO_VERSION_PATCH));
  program.require_subcommand(1);
  run_arguments run_options;
  add_options(*program.add_subcommand("run", "Measure"), run_options);
  env_arguments env_options;
  const CLI::App& env_command = add_env(program, env_options);
  try {
    program.parse(argc, argv);
    if (env_command.parsed()) return env(env_options);
    return run_command(run_options, argc, argv);
  } catch (const CLI::ParseError& failure) {
    return program.exit(failure) == 0 ? exit_pass : exit_usage;
  } catch (const usage_error& failure) {
    progress::clear();
    fmt::print(stderr, "qd1: {}\n", failure.what());
    return exit_usage;
  }
}

}  // namespace qd1
