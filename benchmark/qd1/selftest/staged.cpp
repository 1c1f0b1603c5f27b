// SPDX-License-Identifier: BSL-1.0
#include "selftest/staged.hpp"

#include "machine/find.hpp"
#include "measure/data_checks.hpp"
#include "measure/measure.hpp"
#include "measure/surroundings.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace qd1 {
namespace {

constexpr std::uint64_t staged_bytes = std::uint64_t(4) << 20;
constexpr std::uint64_t staged_block = 4096;

// All remarks of a report, those of the gravest kind first.
std::vector<std::string> complaints(const report& found) {
  std::vector<std::string> all;
  for (const series& each : found.series) all.insert(all.end(), each.invalid.begin(), each.invalid.end());
  return all;
}

std::vector<std::string> remarks(const report& found) {
  std::vector<std::string> all = complaints(found);
  for (const series& each : found.series) {
    all.insert(all.end(), each.notes.begin(), each.notes.end());
    for (const std::string* text : {&each.not_available, &each.unsettled, &each.verification.text})
      if (!text->empty()) all.push_back(*text);
  }
  all.insert(all.end(), found.notes.begin(), found.notes.end());
  return all;
}

finding found_in(const std::vector<std::string>& texts, const report& of, std::string_view words,
                 std::string_view prefix) {
  for (const std::string& each : texts)
    if (each.find(words) != std::string::npos) return {attack_result::noticed, std::string(prefix) + each};
  if (std::string why = why_not_measured(of); !why.empty()) return {attack_result::untried, std::move(why)};
  const std::vector<std::string> all = remarks(of);
  return {attack_result::missed, all.empty() ? "nothing was reported" : "only this was reported: " + all.front()};
}

}  // namespace

std::string why_not_measured(const report& found) {
  return found.series.empty() ? "" : found.series.front().not_available;
}

finding refused(const report& found, std::string_view words) {
  return found_in(complaints(found), found, words, "INVALID: ");
}

finding named(const report& found, std::string_view words) { return found_in(remarks(found), found, words, ""); }

report staged(const std::string& directory, const clock& clock,
              const std::function<void(report&, const run_setup&)>& measure) {
  report out = begun_report("qd1 selftest");
  const data_file file({directory, staged_bytes, staged_block, false, 1});
  out.machine = find_machine(directory);
  const run_setup setup{clock, file, out.machine, "auto"};
  const data_checks data(file);
  measure_amid(out, clock, [&] {
    measure(out, setup);
    data.judge(out);
  });
  return out;
}

series staged_reads(const run_setup& setup, mode mode, temperature temperature, const limits& most,
                    const offset_source& next_offset) {
  work work;
  work.mode = mode;
  work.temperature = temperature;
  work.block = staged_block;
  work.working_set = setup.file.bytes();
  tally found(work);
  measure_round(found, setup, next_offset, {most, 0, std::nullopt});
  return found.finished();
}

series staged_transfers(const clock& clock, const work& work, const limits& most, std::uint64_t rounds,
                        const staged_transfer& transfer, const std::function<void()>& between) {
  std::array<std::byte, staged_block> buffer{};
  stamps stamps(1);
  const offset_source offsets = [&] {
    if (between) between();
    return std::uint64_t(0);
  };
  tally found(work, {0.5, 0.9, 0.99, 0.999});
  pace schedule(clock, work, 1);
  const transfer_loop loop{work, clock, offsets, buffer, stamps};
  std::uint64_t number = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    recorder recorder(clock, work, most, &schedule);
    repeat(loop, recorder, [&](std::uint64_t) -> qio::result<std::size_t> {
      transfer(number++);
      return static_cast<std::size_t>(work.block);
    });
    schedule.pause(recorder.last());
    found.add(recorder, {});
  }
  return found.finished();
}

void spin_for(const clock& clock, double seconds) {
  const std::uint64_t end = clock.before() + clock.ticks(seconds);
  while (clock.before() < end) {}
}

run_request short_run(const std::string& path, mode mode) {
  run_request made;
  made.path = path;
  made.file_size = staged_bytes;
  made.modes = {mode};
  made.operations = std::vector{operation::read};
  made.forms = {form::blocking};
  made.seconds = 0.2;
  made.rounds = 10;
  made.samples = 2'000;
  made.command_line = "qd1 selftest";
  return made;
}

}  // namespace qd1
