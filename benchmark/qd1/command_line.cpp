// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include "commands/compare.hpp"
#include "commands/depth.hpp"
#include "commands/env.hpp"
#include "commands/memory.hpp"
#include "commands/merge.hpp"
#include "commands/reproduce.hpp"
#include "commands/run_command.hpp"
#include "failure.hpp"
#include "measure/progress.hpp"
#include "ranks/ranks.hpp"
#include <qio/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>

namespace qd1 {
namespace {

std::string as_typed(int argc, const char* const* argv) {
  std::string text = "qd1";
  for (int each = 1; each < argc; ++each) text += fmt::format(" {}", argv[each]);
  return text;
}

}  // namespace

int command_line(int argc, const char* const* argv) {
  CLI::App program("Latencies of small reads and writes: direct, cached and mapped, one at a time or many.", "qd1");
  program.set_version_flag("--version",
                           fmt::format("qd1 {}.{}.{}", QIO_VERSION_MAJOR, QIO_VERSION_MINOR, QIO_VERSION_PATCH));
  program.require_subcommand(1);
  run_arguments run_options;
  add_run(program, run_options);
  depth_arguments depth_options;
  const CLI::App& depth_command = add_depth(program, depth_options);
  memory_arguments memory_options;
  const CLI::App& memory_command = add_memory(program, memory_options);
  env_arguments env_options;
  const CLI::App& env_command = add_env(program, env_options);
  compare_arguments compare_options;
  const CLI::App& compare_command = add_compare(program, compare_options);
  merge_arguments merge_options;
  const CLI::App& merge_command = add_merge(program, merge_options);
  reproduce_arguments reproduce_options;
  const CLI::App& reproduce_command = add_reproduce(program, reproduce_options);
  std::optional<job> job;
  try {
    program.parse(argc, argv);
    job.emplace();
    if (depth_command.parsed()) return depth(depth_options, as_typed(argc, argv));
    const bool alone = memory_command.parsed() || reproduce_command.parsed();
    if (alone && ranks::are_several())
      throw usage_error("only run and depth can be measured by the ranks of one job; the others go by themselves");
    if (memory_command.parsed()) return memory(memory_options, as_typed(argc, argv));
    if (env_command.parsed()) return env(env_options);
    if (compare_command.parsed()) return compare(compare_options);
    if (merge_command.parsed()) return merge(merge_options, as_typed(argc, argv));
    if (reproduce_command.parsed()) return reproduce(reproduce_options, as_typed(argc, argv));
    return run(run_options, as_typed(argc, argv));
  } catch (const CLI::ParseError& failure) {
    return program.exit(failure) == 0 ? exit_pass : exit_usage;
  } catch (const usage_error& failure) {
    progress::clear();
    fmt::print(stderr, "qd1: {}\n", failure.what());
    if (job) job->give_up(exit_usage);
    return exit_usage;
  }
}

}  // namespace qd1
