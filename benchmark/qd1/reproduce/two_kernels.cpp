// SPDX-License-Identifier: BSL-1.0
#include "reproduce/experiment.hpp"
#include "reproduce/judging.hpp"
#include "reproduce/loads.hpp"

#include <fmt/format.h>

#include <utility>

namespace qd1 {
namespace in_two_kernels {
namespace {

constexpr std::uint64_t kibibyte = 1024;
constexpr std::uint64_t published_workers = 3;
constexpr double test_seconds = 10;

constexpr std::string_view small_blocks = "one drive, 4 KiB";
constexpr std::string_view large_blocks = "one drive, 1 MiB";
constexpr std::string_view together = "all drives, 4 KiB";
constexpr std::string_view together_large = "all drives, 512 KiB";

std::vector<planned> plan_two_kernels(const resources& with) {
  std::vector<planned> parts = {
      {std::string(small_blocks), "random direct reads, the application's operations compared with the device's",
       reads_of_one(with, 4 * kibibyte, published_workers, test_seconds)},
      {std::string(large_blocks), "random direct reads, split where the drive accepts less at once",
       reads_of_one(with, 1024 * kibibyte, published_workers, test_seconds)}};
  for (planned& each : buffered_reads(with, 60)) parts.push_back(std::move(each));
  if (with.paths.size() < 2) return parts;
  ladder_request all = reads_of(with, 4 * kibibyte, published_workers, test_seconds);
  all.each_alone = true;
  parts.push_back({std::string(together), "each drive alone, then all of them", all});
  parts.push_back(
      {std::string(together_large), "all drives", reads_of(with, 512 * kibibyte, published_workers, test_seconds)});
  return parts;
}

figures table_of(const reproduction& of) {
  figures table{"Random direct reads", load_columns(), {}};
  const auto add = [&](const char* subject, std::string_view part, const char* load, told_figure told) {
    if (part_named(of, part) == nullptr) return;
    table.rows.push_back(told_row(subject, load, {std::move(told)}));
    table.rows.push_back(
        load_row(subject, best_of(of, part, [](const work& each) { return !each.load.only; }), part_named(of, part)));
  };
  add("one drive, 4 KiB", small_blocks, "3 × 32", {"iops", "1133000"});
  if (part_named(of, small_blocks) != nullptr)
    table.rows.push_back(told_row("one drive, 4 KiB, on Linux 5.8, as its tool printed it", "3 × 32",
                                  {{"iops", "1784000"}, {"dev/op", "0.28"}}, origin::refused));
  if (const report* const in = part_named(of, buffered))
    table.rows.push_back(load_row("one drive, 1 MiB, buffered", best_of(of, buffered), in));
  add("one drive, 1 MiB", large_blocks, "3 × 32", {"MB/s", "7147"});
  add("all drives, 4 KiB", together, "", {"iops", "6220000"});
  add("all drives, 512 KiB", together_large, "", {"MB/s", "41876"});
  return table;
}

void judge_two_kernels(const resources& with, reproduction& of) {
  of.tables.push_back(table_of(of));
  of.shapes.push_back(reconciled(of));
  of.shapes.push_back(split_at_most(of, large_blocks));
  const auto larger =
      ratio(bytes_per_second_of(best_of(of, large_blocks)), bytes_per_second_of(best_of(of, small_blocks)));
  of.shapes.push_back(
      held_within({"larger blocks move more bytes a second: 6816 MiB/s with blocks of 1 MiB, 4426 with those of 4 KiB",
                   6816. / 4426},
                  larger, 1, 1e6, fmt::format("{} times as many", times(larger))));
  of.shapes.push_back(
      decayed(of, {"buffered reads fall when memory is full of pages: from 2630 to 182 MB/s", 182. / 2630}));
  of.shapes.push_back(
      scaled(of, together, {"drives add up: 6.22 million with six, 1.133 with one", 6.22 / (6 * 1.133)}, 0.85, 10));
  of.incomparable = lacking(with, 6, published_workers);
  of.incomparable.push_back(
      fmt::format("The other kernel: this run is of {}. Run it on another one, too; a report names its kernel.",
                  with.machine().host.kernel.value_or("an unknown kernel")));
}

}  // namespace
}  // namespace in_two_kernels

const experiment two_kernels = {
    {"two-kernels", "The same drives on two kernels, and which figures the devices confirm", "Aleph Technologies, 2021",
     "6 NVMe drives, Linux 5.11 and 5.8",
     "On 5.8 its tool printed 1 784 thousand operations a second while the block layer saw 498 thousand: only what the "
     "devices confirm counts."},
    1,
    in_two_kernels::plan_two_kernels,
    in_two_kernels::judge_two_kernels};

}  // namespace qd1
