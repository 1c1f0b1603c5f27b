// SPDX-License-Identifier: BSL-1.0
#include "reproduce/loads.hpp"

#include "depth/rungs.hpp"
#include "reproduce/judging.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qd1 {
namespace {

// Of which one fits into memory when buffered reads are to fill it.
constexpr std::uint64_t parts_of_file = 4;

}  // namespace

std::vector<std::uint64_t> workers_up_to(std::uint64_t most, const resources& with) {
  const std::uint64_t there = std::min(most, with.processors);
  return there > 1 ? std::vector<std::uint64_t>{1, there} : std::vector<std::uint64_t>{1};
}

ladder_request reads_of(const resources& with, std::uint64_t block, std::uint64_t published_workers, double seconds) {
  ladder_request request;
  request.paths = with.paths;
  request.depths = {32};
  request.workers = workers_up_to(published_workers, with);
  request.block = block;
  if (with.file_size != 0) request.file_size = std::max(with.file_size / block, std::uint64_t(1)) * block;
  request.seconds = with.seconds_or(seconds);
  request.rounds = 3;
  request.seed = with.seed;
  request.overwrite = with.overwrite;
  return request;
}

ladder_request reads_of_one(const resources& with, std::uint64_t block, std::uint64_t published_workers,
                            double seconds) {
  ladder_request request = reads_of(with, block, published_workers, seconds);
  request.paths.resize(1);
  return request;
}

std::vector<planned> buffered_reads(const resources& with, double seconds) {
  constexpr std::uint64_t block = 1024 * 1024;
  constexpr std::uint64_t least = 128 * block;  // eight blocks in flight, and the program, beside the pages
  const std::uint64_t memory = std::max(least, with.file_size / parts_of_file);
  if (with.file_size < 2 * memory) return {};
  ladder_request request = reads_of_one(with, block, 1, seconds);
  request.modes = {mode::cached};
  request.temperature = temperature::cold;
  request.depths = {8};
  request.rounds = 1;  // a course without a break
  return {{std::string(buffered), "what is left of buffered reads when each page throws another one out", request,
           std::nullopt, memory}};
}

shape decayed(const reproduction& of, std::string claim) {
  const series* const found = best_of(of, buffered);
  std::uint64_t most = 0;
  for (std::size_t each = 0; found != nullptr && each < found->slices.size(); ++each)
    most = std::max(most, found->slices[each].cached_pages.value_or(0));
  if (most == 0) return {std::move(claim), shape::verdict::not_told, "was not measured, or pages are not counted here"};
  struct course {
    double operations = 0, seconds = 0;
    double rate() const { return operations / seconds; }
  } filling, full;
  for (const slice& each : found->slices) {
    course& into =
        static_cast<double>(each.cached_pages.value_or(0)) < 0.9 * static_cast<double>(most) ? filling : full;
    into.operations += static_cast<double>(each.operations);
    into.seconds += each.seconds;
  }
  constexpr double enough_seconds = 3;  // of those in which memory fills: the course is told second by second
  if (full.seconds <= 0) return {std::move(claim), shape::verdict::not_told, "memory was not full in that --time"};
  if (filling.seconds < enough_seconds)
    return {std::move(claim), shape::verdict::not_told,
            fmt::format("memory was full within {:.0f} s: a --file-size of {:.0f} GiB would show how it fills",
                        std::max(filling.seconds, 1.),
                        std::ceil(found->bytes_per_second * enough_seconds * parts_of_file / 0x1p30))};
  const double left = full.rate() / filling.rate();
  return held_within(
      std::move(claim), left, 0, 0.8,
      fmt::format("{:.0f} MiB/s while memory filled, {:.0f} when it was full", filling.rate(), full.rate()));
}

shape reconciled(const reproduction& of) {
  const std::string claim = "what the application counts is what the devices did: no figure stands by itself";
  std::uint64_t checked = 0;
  std::string wrong;
  for (const experiment_part& part : of.parts)
    for (const series& each : part.found.series) {
      if (each.work.mode != mode::direct || each.latency.samples == 0) continue;
      ++checked;
      if (each.verification.result == verification::verdict::verified) continue;
      if (wrong.empty()) wrong = fmt::format("{}: {}", title(each.work), each.verification.text);
    }
  if (checked == 0) return {claim, shape::verdict::not_told, "nothing was measured with direct I/O"};
  if (!wrong.empty()) return {claim, shape::verdict::not_held, wrong};
  return {claim, shape::verdict::held, fmt::format("verified for each of {} measurements", checked)};
}

shape split_at_most(const reproduction& of, std::string_view part) {
  const std::string claim = "transfers larger than max_sectors_kb are split: 13.8 k device operations for 6.8 k reads";
  const series* const best = best_of(of, part);
  if (best == nullptr || !best->verification.device_operations)
    return {claim, shape::verdict::not_told, "the devices' operations are not known"};
  const double found = static_cast<double>(*best->verification.device_operations) /
                       static_cast<double>(best->verification.application_operations);
  for (const device_facts& device : part_named(of, part)->machine.devices) {
    if (!device.largest_transfer_kib) continue;
    if (*device.largest_transfer_kib * 1024 >= best->work.block)
      return {claim, shape::verdict::not_told,
              fmt::format("max_sectors_kb of {} is {}: {} need not be split; {} operations for each", device.name,
                          *device.largest_transfer_kib, size_text(best->work.block), times(found))};
    const double expected =
        std::ceil(static_cast<double>(best->work.block) / 1024 / static_cast<double>(*device.largest_transfer_kib));
    return held_within(
        claim, found, expected * 0.95, expected * 1.25,
        fmt::format("{} for each transfer of {}; max_sectors_kb of {} is {}, which makes {} of it at least",
                    times(found), size_text(best->work.block), device.name, *device.largest_transfer_kib, expected));
  }
  return {claim, shape::verdict::not_told, "max_sectors_kb is not known"};
}

shape scaled(const reproduction& of, std::string_view part, std::string claim, double low, double high) {
  const report* const in = part_named(of, part);
  if (in == nullptr) return {std::move(claim), shape::verdict::not_told, "was not measured"};
  const series* best = nullptr;
  for (const series& each : in->series)
    if (scaling_efficiency(*in, each) && (best == nullptr || each.iops > best->iops)) best = &each;
  if (best == nullptr) return {std::move(claim), shape::verdict::not_told, "there is one target only"};
  const auto efficiency = scaling_efficiency(*in, *best);
  std::string evidence;
  for (const std::string& note : best->notes) evidence += (evidence.empty() ? "" : "; ") + note;
  return held_within(std::move(claim), efficiency, low, high, std::move(evidence));
}

std::vector<std::string> lacking(const resources& with, std::uint64_t drives, std::uint64_t workers) {
  std::vector<std::string> found;
  if (with.paths.size() < drives)
    found.push_back(
        fmt::format("{} drives were used at once, here {}: name more as PATH; of block devices that is "
                    "read only.",
                    drives, with.paths.size()));
  if (with.processors < workers)
    found.push_back(
        fmt::format("{} workers for a drive were published; there {} here.", workers,
                    with.processors == 1 ? "is one processor" : fmt::format("are {} processors", with.processors)));
  found.push_back(
      "Absolute figures: they belong to the drives, the processor and the kernel; how they relate is what repeats.");
  return found;
}

}  // namespace qd1
