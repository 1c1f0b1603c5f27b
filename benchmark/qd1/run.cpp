// SPDX-License-Identifier: BSL-1.0
#include "run.hpp"

#include "data_file.hpp"
#include "interruption.hpp"
#include "progress.hpp"
#include "series.hpp"
#include <qio/version.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace qd1 {
namespace {

std::vector<operation> allowed_operations(const run_request& request, const data_file& file, report& out) {
  const std::vector<operation> wanted = request.operations.value_or(std::vector{operation::read, operation::write});
  if (file.why_read_only().empty() || std::find(wanted.begin(), wanted.end(), operation::write) == wanted.end())
    return wanted;
  if (request.operations) throw usage_error(file.why_read_only());
  out.notes.push_back("reads only: " + file.why_read_only());
  return {operation::read};
}

// Mode by mode: what one mode leaves in the page cache does not disturb the next.
std::vector<work> plan(const run_request& request, const std::vector<operation>& operations, std::uint64_t bytes) {
  std::vector<work> all;
  for (const mode mode : request.modes)
    for (const operation operation : operations)
      for (const form form : {form::blocking, form::asynchronous}) {
        work each;
        each.mode = mode;
        each.operation = operation;
        each.form = form;
        each.block = request.block;
        each.working_set = bytes;
        all.push_back(each);
      }
  return all;
}

}  // namespace

report run(const run_request& request) {
  report out;
  out.version = fmt::format("{}.{}.{}", QIO_VERSION_MAJOR, QIO_VERSION_MINOR, QIO_VERSION_PATCH);
  out.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  out.command_line = request.command_line;

  const data_file file({request.path, request.file_size, request.block, request.overwrite, request.seed});
  const clock clock = clock::calibrated();
  out.settings = {request.path,    file.bytes(),   request.block, request.samples,
                  request.seconds, request.engine, request.seed};
  const std::vector<work> works = plan(request, allowed_operations(request, file, out), file.bytes());
  const laboratory laboratory{clock, file, {request.samples, request.seconds}, request.engine};
  for (const work& each : works) {
    if (interrupted()) break;
    progress::show(fmt::format("{}/{} {}", out.series.size() + 1, works.size(), title(each)));
    out.series.push_back(measure(each, laboratory, random_offsets(request.seed, each.working_set, each.block)));
  }
  progress::clear();
  out.complete = !interrupted();
  out.clock = clock.facts();
  return out;
}

exit_status verdict(const report& report) {
  if (!report.valid()) return exit_invalid;
  const bool measured =
      std::any_of(report.series.begin(), report.series.end(), [](auto& each) { return each.measured(); });
  return measured ? exit_pass : exit_usage;
}

}  // namespace qd1
