// SPDX-License-Identifier: BSL-1.0
#include "reproduce/loads.hpp"

#include "findings/ladders.hpp"
#include "reproduce/judging.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qd1 {
namespace {

// The file has this many parts, of which one fits into memory when buffered reads fill it.
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

namespace {

// The size of the file that buffered reads are measured on: of one that is there as much as makes sense.
std::uint64_t buffered_bytes(const resources& with) {
  if (with.file_size != 0) return with.file_size;
  constexpr std::uint64_t whole = 1024 * 1024;
  return std::min(with.least_size / whole * whole, with.memory / 2 / whole * whole);
}

// The memory to leave, so that a part of the file fits into it.
std::uint64_t memory_for(std::uint64_t bytes) {
  constexpr std::uint64_t least = std::uint64_t(128)
                                  << 20;  // eight blocks in flight, and the program, beside the pages
  return std::max(least, bytes / parts_of_file);
}

}  // namespace

std::vector<planned> buffered_reads(const resources& with, double seconds) {
  const std::uint64_t bytes = buffered_bytes(with);
  if (bytes < 2 * memory_for(bytes)) return {};
  ladder_request request = reads_of_one(with, 1024 * 1024, 1, seconds);
  request.file_size = bytes;
  request.modes = {mode::cached};
  request.order = order::sequential;  // so that nothing that is in memory is hit: it is gone when its turn comes
  request.temperature = temperature::cold;
  request.depths = {8};
  request.rounds = 1;  // second by second, without a break
  request.memory = memory_for(bytes);
  return {{std::string(buffered), "what is left of buffered reads when each page evicts another one", request}};
}

namespace {

struct phase {
  double operations = 0, seconds = 0;

  void add(const slice& from) {
    operations += static_cast<double>(from.operations);
    seconds += from.seconds;
  }
  double rate() const { return operations / seconds; }
};

}  // namespace

shape decayed(const reproduction& of, claim claim) {
  const series* const found = best_of(of, buffered);
  if (found == nullptr)
    return not_told(std::move(claim),
                    "was not measured: that needs a file of at least 256 MiB, and a memory limit (root)");
  const double page = static_cast<double>(qio::platform::page_size());
  const double full_pages = 0.8 * static_cast<double>(memory_for(found->work.working_set)) / page;
  phase filling, full;
  for (const slice& each : found->slices)
    (static_cast<double>(each.cached_pages.value_or(0)) < full_pages ? filling : full).add(each);
  constexpr double enough_seconds = 3;  // in which memory fills: it is reported second by second
  if (full.seconds <= 0) return not_told(std::move(claim), "memory did not fill within that --time");
  if (filling.seconds < enough_seconds)
    return not_told(std::move(claim),
                    fmt::format("memory was full within {:.0f} s: a --file-size of {:.0f} GiB would show how it fills",
                                std::max(filling.seconds, 1.),
                                std::ceil(found->bytes_per_second * enough_seconds * parts_of_file / 0x1p30)));
  return held_within(
      std::move(claim), full.rate() / filling.rate(), 0, 0.8,
      fmt::format("{:.0f} MiB/s while memory filled, {:.0f} when it was full", filling.rate(), full.rate()));
}

shape reconciled(const reproduction& of) {
  const std::string claim = "the devices did what the application counts: no figure stands by itself";
  using told = verification::verdict;
  std::uint64_t verified = 0;
  std::string uncounted;
  for (const experiment_part& part : of.parts)
    for (const series& each : part.found.series) {
      if (each.work.mode != mode::direct || each.latency.samples == 0) continue;
      const std::string evidence = fmt::format("{}: {}", title(each.work), each.verification.text);
      if (each.verification.result == told::refuted) return {claim, shape::verdict::not_held, evidence};
      if (each.verification.result == told::verified)
        ++verified;
      else if (uncounted.empty())
        uncounted = evidence;
    }
  if (!uncounted.empty()) return {claim, shape::verdict::not_told, uncounted};
  if (verified == 0) return {claim, shape::verdict::not_told, "nothing was measured with direct I/O"};
  return {claim, shape::verdict::held, fmt::format("verified for each of {} measurements", verified)};
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
        fmt::format("{} for each transfer of {}; max_sectors_kb of {} is {}, which makes at least {} of it",
                    times(found), size_text(best->work.block), device.name, *device.largest_transfer_kib, expected));
  }
  return {claim, shape::verdict::not_told, "max_sectors_kb is not known"};
}

shape scaled(const reproduction& of, std::string_view part, claim claim, double low, double high) {
  const report* const in = part_named(of, part);
  if (in == nullptr) return not_told(std::move(claim), "was not measured: there is only one target");
  const series* best = nullptr;
  for (const series& each : in->series)
    if (scaling_efficiency(*in, each) && (best == nullptr || each.iops > best->iops)) best = &each;
  if (best == nullptr)
    return not_told(std::move(claim), in->settings.targets.size() < 2 ? "there is only one target"
                                                                      : "not all of the targets were measured");
  const auto efficiency = scaling_efficiency(*in, *best);
  std::string evidence;
  for (const std::string& note : best->notes) evidence += (evidence.empty() ? "" : "; ") + note;
  return held_within(std::move(claim), efficiency, low, high, std::move(evidence));
}

std::vector<std::string> lacking(const resources& with, std::uint64_t drives, std::uint64_t workers) {
  std::vector<std::string> found;
  if (with.paths.size() < drives)
    found.push_back(
        fmt::format("{} drives were used at once, here {}: name more as PATH; block devices are only "
                    "read.",
                    drives, with.paths.size()));
  if (with.processors < workers)
    found.push_back(
        fmt::format("{} workers for each drive were used; there {} here.", workers,
                    with.processors == 1 ? "is one processor" : fmt::format("are {} processors", with.processors)));
  found.push_back(
      "Absolute figures: they depend on the drives, the processor and the kernel; only how they relate can repeat.");
  return found;
}

}  // namespace qd1
