// SPDX-License-Identifier: BSL-1.0
#include "figures.hpp"
#include "reproduce/experiment.hpp"
#include "reproduce/judging.hpp"
#include "reproduce/loads.hpp"

#include <fmt/format.h>

#include <utility>

namespace qd1 {
namespace in_eleven_million {
namespace {

constexpr std::uint64_t kibibyte = 1024;
constexpr std::uint64_t published_workers = 3;
constexpr double test_seconds = 10;
constexpr double buffered_seconds = 60;

constexpr std::string_view small_blocks = "one drive, 4 KiB";
constexpr std::string_view peak = "one drive, 4 KiB, without a clock";
constexpr std::string_view large_blocks = "one drive, 1 MiB";
constexpr std::string_view together = "all drives, 4 KiB";
constexpr std::string_view together_middling = "all drives, 64 KiB";
constexpr std::string_view together_large = "all drives, 512 KiB";

// The first of the devices under the first target that lets one choose.
const device_facts* scheduled_device(const resources& with) {
  for (const device_facts& each : with.machine().devices)
    if (each.schedulers.size() > 1) return &each;
  return nullptr;
}

std::string scheduled(const std::string& scheduler) { return "one drive, 4 KiB, scheduler " + scheduler; }

void plan_schedulers(const resources& with, std::vector<planned>& to) {
  const device_facts* const device = scheduled_device(with);
  if (!with.allow_tuning || device == nullptr) return;
  for (const std::string& each : device->schedulers)
    to.push_back({scheduled(each), "the same reads, however the kernel orders them",
                  reads_of_one(with, 4 * kibibyte, published_workers, test_seconds),
                  tuning{device->name, "scheduler", each}});
}

// The topmost of the devices under the first target that reads ahead: what is opened takes its value. btrfs has one of
// its own, whatever its devices have (fs/btrfs/disk-io.c).
const device_facts* device_that_reads_ahead(const resources& with) {
  if (with.machine().filesystem.type == "btrfs") return nullptr;
  for (const device_facts& each : with.machine().devices)
    if (each.read_ahead_kib) return *each.read_ahead_kib > 0 ? &each : nullptr;
  return nullptr;
}

// The buffered reads once more.
void plan_without_read_ahead(const resources& with, std::vector<planned>& to) {
  const device_facts* const device = device_that_reads_ahead(with);
  if (!with.allow_tuning || device == nullptr) return;
  for (planned& each : buffered_reads(with, buffered_seconds)) {
    each.name = without_read_ahead;
    each.purpose = "the same reads without read-ahead";
    each.tuned = tuning{device->name, "read_ahead_kb", "0"};
    to.push_back(std::move(each));
  }
}

std::vector<planned> plan_eleven_million(const resources& with) {
  const auto one = [&](std::uint64_t block) { return reads_of_one(with, block, published_workers, test_seconds); };
  ladder_request ladder = one(4 * kibibyte);
  ladder.depths = {1, 32, 128};
  ladder_request fastest = one(4 * kibibyte);
  fastest.timed = false;
  fastest.engine.polled = true;
  fastest.engine.registered = true;
  std::vector<planned> parts = {
      {std::string(small_blocks), "random direct reads by more and more workers, and what one worker can do", ladder},
      {std::string(peak), "as many operations per second as possible", fastest},
      {std::string(large_blocks), "random direct reads, split where the drive accepts less at once",
       one(1024 * kibibyte)}};
  for (planned& each : buffered_reads(with, buffered_seconds)) parts.push_back(std::move(each));
  plan_without_read_ahead(with, parts);
  plan_schedulers(with, parts);
  if (with.paths.size() < 2) return parts;
  ladder_request all = reads_of(with, 4 * kibibyte, published_workers, test_seconds);
  all.each_alone = true;
  parts.push_back({std::string(together), "each drive alone, then all of them", all});
  parts.push_back(
      {std::string(together_middling), "all drives", reads_of(with, 64 * kibibyte, published_workers, test_seconds)});
  parts.push_back(
      {std::string(together_large), "all drives", reads_of(with, 512 * kibibyte, published_workers, test_seconds)});
  return parts;
}

const series* one_worker(const reproduction& of, std::uint64_t depth) {
  return series_of(of, small_blocks,
                   [&](const work& each) { return each.load.workers == 1 && each.load.depth == depth; });
}

const series* at_depth_32(const reproduction& of) {
  return best_of(of, small_blocks, [](const work& each) { return each.load.depth == 32; });
}

figures table_of(const reproduction& of) {
  figures table{"Random direct reads", load_columns(), {}};
  const auto add = [&](const char* subject, std::string_view part, const series* from, const char* load,
                       const std::vector<told_figure>& told) {
    if (part_named(of, part) == nullptr) return;
    table.rows.push_back(told_row(subject, load, told));
    table.rows.push_back(load_row(subject, from, part_named(of, part)));
  };
  add("one drive, 4 KiB, one worker", small_blocks, one_worker(of, 32), "1 × 32",
      {{"iops", "450000"}, {"cycles", "8666"}, {"busy", "100%"}});
  add("one drive, 4 KiB", small_blocks, at_depth_32(of), "3 × 32", {{"iops", "1150000"}});
  add("one drive, 4 KiB, scheduler none", scheduled("none"), best_of(of, scheduled("none")), "3 × 32",
      {{"iops", "1150000"}});
  add("one drive, 4 KiB, scheduler mq-deadline", scheduled("mq-deadline"), best_of(of, scheduled("mq-deadline")),
      "3 × 32", {{"iops", "525000"}});
  add("one drive, 1 MiB, buffered", buffered, best_of(of, buffered), "", {{"MB/s", "as direct, then half"}});
  add("one drive, 1 MiB, buffered, read-ahead off", without_read_ahead, best_of(of, without_read_ahead), "",
      {{"MB/s", "4194, then 3146"}});
  if (const report* const in = part_named(of, peak))
    table.rows.push_back(load_row(std::string(peak), best_of(of, peak), in));
  add("one drive, 1 MiB", large_blocks, best_of(of, large_blocks), "3 × 32", {{"MB/s", "6800"}, {"dev/op", "2.03"}});
  // The published one is polled.
  add("all drives, 4 KiB", together, best_of(of, together, [](const work& each) { return !each.load.only; }), "",
      {{"iops", "11000000"}});
  add("all drives, 64 KiB", together_middling, best_of(of, together_middling), "",
      {{"iops", "1000000"}, {"MB/s", "70866"}});
  add("all drives, 512 KiB", together_large, best_of(of, together_large), "", {{"MB/s", "70866"}});
  return table;
}

void judge_saturation(reproduction& of) {
  const series* const alone = one_worker(of, 128);
  const auto computing =
      alone != nullptr && alone->cpu_ns ? std::optional(*alone->cpu_ns * 1e-9 * alone->iops) : std::nullopt;
  of.shapes.push_back(held_within(
      "one worker is limited by its processor, not by the drive: it is busy all the time", computing, 0.9, 1.1,
      computing ? fmt::format("at depth 128 it computed {:.0f} % of the time, {} µs for each read; if that "
                              "is well below 100 %, the drive is the limit",
                              *computing * 100, microseconds(*alone->cpu_ns))
                : ""));
  const auto several = [](const work& each) { return each.load.workers > 1 && each.load.depth == 32; };
  const auto more = ratio(iops_of(series_of(of, small_blocks, several)), iops_of(one_worker(of, 32)));
  of.shapes.push_back(
      held_within({"more workers do more: 1150 thousand a second with three, 450 with one", 1150. / 450}, more, 1.2, 10,
                  fmt::format("{} times as many", times(more))));
}

void judge_peak(reproduction& of) {
  const auto gain = ratio(iops_of(best_of(of, peak)), iops_of(at_depth_32(of)));
  of.shapes.push_back(held_within(
      "without reading the clock, polled and in registered memory where available, there are no fewer operations", gain,
      0.97, 10, fmt::format("{} times as many", times(gain))));
}

void judge_schedulers(const resources& with, reproduction& of) {
  const claim claim = {"mq-deadline does less than no scheduler: 525 thousand a second instead of 1150", 525. / 1150};
  const auto deadline = ratio(iops_of(best_of(of, scheduled("mq-deadline"))), iops_of(best_of(of, scheduled("none"))));
  const device_facts* const device = scheduled_device(with);
  std::string why_not = "the devices here offer no choice of scheduler";
  if (with.allow_tuning && device != nullptr)
    why_not = "not both of them were measured";
  else if (device != nullptr)
    why_not = fmt::format(
        "{} has {}; as root, with --allow-tuning, each is measured; by hand: echo none > "
        "/sys/block/{}/queue/scheduler",
        device->name, device->scheduler.value_or("none"), device->name);
  of.shapes.push_back(held_within(claim, deadline, 0, 0.95, fmt::format("{} times as many", times(deadline)), why_not));
}

void judge_read_ahead(const resources& with, reproduction& of) {
  const auto without =
      ratio(bytes_per_second_of(best_of(of, without_read_ahead)), bytes_per_second_of(best_of(of, buffered)));
  const device_facts* const device = device_that_reads_ahead(with);
  std::string why_not = "nothing is read ahead here, or that cannot be changed";
  if (with.allow_tuning && device != nullptr)
    why_not = "not both of them were measured: that needs a file of at least 256 MiB, and a memory limit (root)";
  else if (device != nullptr)
    why_not = fmt::format(
        "{} reads {} KiB ahead; as root, with --allow-tuning, both are measured; by hand: echo 0 > "
        "/sys/block/{}/queue/read_ahead_kb",
        device->name, *device->read_ahead_kib, device->name);
  of.shapes.push_back(held_within(
      "without read-ahead, buffered reads are slower: 4000 MiB/s, then 3000, not the drive's full speed, then half",
      without, 0, 0.95, fmt::format("{} times as many bytes a second", times(without)), why_not));
}

void judge_eleven_million(const resources& with, reproduction& of) {
  of.tables.push_back(table_of(of));
  judge_saturation(of);
  judge_peak(of);
  const auto larger = ratio(bytes_per_second_of(best_of(of, large_blocks)), bytes_per_second_of(at_depth_32(of)));
  of.shapes.push_back(
      held_within({"larger blocks move more bytes a second: 6800 MB/s with blocks of 1 MiB, 4710 with those of 4 KiB",
                   6800. / 4710},
                  larger, 1, 1e6, fmt::format("{} times as many", times(larger))));
  of.shapes.push_back(split_at_most(of, large_blocks));
  of.shapes.push_back(
      decayed(of, {"buffered reads lose about half when memory is full of pages, after 35 seconds", 0.5}));
  judge_read_ahead(with, of);
  judge_schedulers(with, of);
  of.shapes.push_back(
      scaled(of, together, {"drives add up: 11 million with ten, 1.15 with one", 11 / (10 * 1.15)}, 0.9, 10));
  of.shapes.push_back(reconciled(of));
  of.incomparable = lacking(with, 10, published_workers);
}

}  // namespace
}  // namespace in_eleven_million

const experiment eleven_million_iops = {
    {"11m-iops", "Eleven million reads a second on a workstation", "Tanel Poder, 2021",
     "10 × Samsung 980 Pro, 16 cores, Linux 5.8, fio 3.25 with io_uring", ""},
    1,
    in_eleven_million::plan_eleven_million,
    in_eleven_million::judge_eleven_million};

}  // namespace qd1
