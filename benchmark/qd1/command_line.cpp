// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include "commands/commands.hpp"
#include "commands/separate_files.hpp"
#include "failure.hpp"
#include "measure/progress.hpp"
#include "options/parse.hpp"
#include "output/wording.hpp"
#include "ranks/ranks.hpp"
#include "text/printable.hpp"
#include <qio/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>

namespace qd1 {
namespace {

std::string as_typed(int argc, const char* const* argv) {
  std::string text = "qd1";
  for (int each = 1; each < argc; ++each) text += fmt::format(" {}", argv[each]);
  return text;
}

int end_all(std::optional<job>& job, const std::exception& reason, exit_status status) {
  progress::clear();
  print(stderr, fmt::format("qd1: {}\n", reason.what()));
  if (job) job->give_up(status);
  return status;
}

int done(int argc, const char* const* argv) {
  std::optional<job> job;
  try {
    program program{"qd1",
                    "Measures file I/O: direct, uncached, cached and mapped, one transfer at a time or many.",
                    fmt::format("{}.{}.{}", QIO_VERSION_MAJOR, QIO_VERSION_MINOR, QIO_VERSION_PATCH),
                    {},
                    std::min<std::size_t>(page_width(), 80)};
    add_all_commands(program.commands);
    const parsed parsed = parse(program, argc, argv);
    if (parsed.chosen == nullptr) return parsed.status;
    require_separate_files(parsed.files);
    job.emplace();
    if (!parsed.chosen->by_ranks && ranks::are_several())
      throw usage_error(fmt::format("{} cannot run as the ranks of a job; run it by itself", parsed.chosen->name));
    return parsed.chosen->run(as_typed(argc, argv));
  } catch (const usage_error& failure) {
    return end_all(job, failure, exit_usage);
  } catch (const interruption& reason) {
    return end_all(job, reason, exit_interrupted);
  }
}

}  // namespace

int command_line(int argc, const char* const* argv) {
  int status = exit_pass;
  std::string lost;
  try {
    status = done(argc, argv);
    std::cout.flush();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) lost = "not all output could be written";
  } catch (const std::system_error& failure) {  // of what is printed; files throw usage_error
    lost = failure.code().message();
  }
  if (lost.empty()) return status;
  print(stderr, fmt::format("qd1: standard output: {}\n", lost));
  return status == exit_pass ? exit_usage : status;
}

}  // namespace qd1
