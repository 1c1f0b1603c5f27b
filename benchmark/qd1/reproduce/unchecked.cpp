// SPDX-License-Identifier: BSL-1.0
#include "reproduce/unchecked.hpp"

#include "failure.hpp"
#include "machine/find.hpp"
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "measure/offsets.hpp"
#include "measure/series.hpp"
#include "measure/surroundings.hpp"
#include "measure/tally.hpp"
#include "statistics/histogram.hpp"
#include <qio/qio.hpp>

namespace qd1 {
namespace {

// All offsets at which a whole block can be read, multiples or not.
offset_source any_byte(std::uint64_t seed, std::uint64_t bytes, std::uint64_t block) {
  return [random = splitmix64(seed), places = bytes - block + 1]() mutable { return random() % places; };
}

unchecked_calls without_looking(const unchecked_request& request, const data_file& file, const clock& clock) {
  unchecked_calls found;
  auto opened = qio::direct_file::open(file.path());
  auto buffer = qio::aligned_buffer::allocate(static_cast<std::size_t>(request.block));
  if (!opened || !buffer) return found;
  histogram times;
  const offset_source next_offset = any_byte(request.seed, file.bytes(), request.block);
  const std::uint64_t deadline = clock.after() + clock.ticks(request.seconds);
  for (std::uint64_t end = 0; end < deadline && !interrupted();) {
    const std::uint64_t offset = next_offset();
    const std::uint64_t begin = clock.before();
    const auto answer = opened.value().read_at(offset, buffer.value());
    end = clock.after();
    times.record(clock.picoseconds(end - begin));
    ++found.calls;
    if (answer) continue;
    if (found.failed++ == 0) found.error = answer.error().message();
  }
  found.latency = summary(times, {sampled(times)});
  return found;
}

}  // namespace

experiment_part repeat_mistake(const unchecked_request& request, const std::string& command_line) {
  experiment_part part;
  report& out = part.found;
  out = begun_report(command_line);
  const data_file file({request.path, request.file_size, request.block, request.overwrite, request.seed});
  const clock clock = clock::calibrated();
  out.machine = find_machine(request.path);
  out.settings = {request.path, file.bytes(), request.block, 0, request.seconds, 1, "auto", request.seed};
  work work;
  work.block = request.block;
  work.working_set = file.bytes();
  const run_setup setup{clock, file, out.machine, "auto"};
  measure_amid(out, clock, [&] {
    part.unchecked = without_looking(request, file, clock);
    tally found(work);
    measure_round(found, setup, any_byte(request.seed, file.bytes(), request.block),
                  {{~std::uint64_t(0), request.seconds}, 0, std::nullopt});
    out.series.push_back(found.finished());
  });
  return part;
}

}  // namespace qd1
