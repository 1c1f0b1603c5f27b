// SPDX-License-Identifier: BSL-1.0
#include "findings/ladders.hpp"
#include "reproduce/experiment.hpp"
#include "reproduce/judging.hpp"
#include "reproduce/loads.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace in_twenty_million {
namespace {

constexpr std::uint64_t published_workers = 6;
constexpr double test_seconds = 30;

constexpr std::string_view drives = "drives alone and together";
constexpr std::string_view near_drives = "all drives, workers near them";

// 512 bytes, or as little as each of the targets takes.
std::uint64_t least_block(const resources& with) {
  std::uint64_t block = 512;
  for (const machine_facts& machine : with.machines) {
    block = std::max(block, machine.filesystem.direct.read_alignment.value_or(512));
    if (!machine.devices.empty()) block = std::max(block, machine.devices.front().logical_block_bytes.value_or(512));
  }
  return block;
}

std::vector<planned> plan_twenty_million(const resources& with) {
  const std::uint64_t block = least_block(with);
  ladder_request all = reads_of(with, block, published_workers, test_seconds);
  all.each_alone = with.paths.size() > 1;
  ladder_request pinned = reads_of(with, block, published_workers, test_seconds);
  pinned.pinned = true;
  return {{std::string(drives), "random direct reads of the smallest block: each drive, then all at once", all},
          {std::string(near_drives), "the same, each worker kept on a processor near its drive", pinned}};
}

const series* together(const reproduction& of, std::string_view part) {
  return best_of(of, part, [](const work& each) { return !each.load.only; });
}

figures table_of(const resources& with, const reproduction& of) {
  figures table{
      fmt::format("Random direct reads, published of 512 B, here of {}, depth 32", size_text(least_block(with))),
      load_columns(),
      {}};
  const auto told = [&](const char* subject, std::string workers, std::string iops) {
    table.rows.push_back(told_row(subject, std::move(workers), {{"iops", std::move(iops)}}));
  };
  told("Intel P5800X", "6 × 32", "2589000");
  told("Kioxia CM6", "4 × 32", "1423000");
  told("Samsung 980 Pro", "6 × 32", "1095000");
  const report* const in = part_named(of, drives);
  for (std::uint64_t only = 0; in != nullptr && only < in->settings.targets.size(); ++only)
    if (const series* const best = best_of(of, drives, [&](const work& each) { return each.load.only == only; }))
      table.rows.push_back(load_row(target_name(*in, only) + " alone", best, in));
  told("sum of single drives", "", "11600000");
  told("all together", "", "6800000");
  table.rows.push_back(load_row("all together", together(of, drives), in));
  told("all together, workers near their drives", "", "15200000");
  table.rows.push_back(
      load_row("all together, workers near their drives", together(of, near_drives), part_named(of, near_drives)));
  return table;
}

void judge_twenty_million(const resources& with, reproduction& of) {
  of.tables.push_back(table_of(with, of));
  of.shapes.push_back(
      scaled(of, drives, {"all drives together do less than the sum of each alone: 6.8 of 11.6 million", 6.8 / 11.6}, 0,
             0.95));
  const auto pinned = ratio(iops_of(together(of, near_drives)), iops_of(together(of, drives)));
  of.shapes.push_back(held_within({"workers that are kept near their drives do more: 14.8 to 15.2 million instead of "
                                   "13.6 to 13.9",
                                   (14.8 + 15.2) / (13.6 + 13.9)},
                                  pinned, 1.02, 10, fmt::format("{} times as many", times(pinned))));
  const auto one = series_of(of, near_drives, [](const work& each) { return each.load.workers == 1; });
  const auto workers = ratio(iops_of(together(of, near_drives)), iops_of(one));
  of.shapes.push_back(held_within("a drive needs several workers to reach its maximum", workers, 1.1, 100,
                                  fmt::format("{} times as many as with one worker for each", times(workers))));
  of.shapes.push_back(reconciled(of));
  of.incomparable = lacking(with, 29, published_workers);
}

}  // namespace
}  // namespace in_twenty_million

const experiment twenty_million_iops = {{"20m-iops", "Twenty million reads a second on a desktop", "Level1Techs, 2021",
                                         "up to 29 drives, 512-byte random reads, depth 32, 30 s a test", ""},
                                        2,
                                        in_twenty_million::plan_twenty_million,
                                        in_twenty_million::judge_twenty_million};

}  // namespace qd1
