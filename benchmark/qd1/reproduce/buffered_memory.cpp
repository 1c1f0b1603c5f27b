// SPDX-License-Identifier: BSL-1.0
#include "figures.hpp"
#include "findings/steps.hpp"
#include "reproduce/experiment.hpp"
#include "reproduce/judging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace qd1 {
namespace in_buffered_memory {
namespace {

constexpr std::string_view steps_part = "reads and writes";
constexpr std::uint64_t least_memory_of_steps = std::uint64_t(64) << 20;

// Files, as parts of the memory.
constexpr double fitting = 0.5, larger = 1.5, little = 0.125;

std::vector<planned> plan_buffered_memory(const resources& with) {
  memory_request request;
  request.path = with.paths.front();
  // The largest file has one and a half times the memory.
  if (with.file_size != 0) request.memory = std::max(std::bit_floor(with.file_size / 3 * 2), least_memory_of_steps);
  request.seconds = with.seconds_or(10);
  request.seed = with.seed;
  request.overwrite = with.overwrite;
  return {{std::string(steps_part), "buffered transfers of 8 KiB while memory is enough, short, or full", request}};
}

// The steps of qd1 memory, found by what they have in common with the published ones.
class memory_steps {
 public:
  explicit memory_steps(const reproduction& of) : of_(of) {
    if (const report* const in = part_named(of, steps_part)) memory_ = memory_without_ballast(*in);
  }

  const series* read(double part, bool ballast, temperature state) const {
    return series_of(of_, steps_part, [&](const work& each) {
      return each.operation == operation::read && each.temperature == state && has(each, part, ballast);
    });
  }

  const series* written(double part, bool ballast) const {
    return series_of(of_, steps_part,
                     [&](const work& each) { return each.operation == operation::write && has(each, part, ballast); });
  }

 private:
  bool has(const work& each, double part, bool ballast) const {
    const double size = static_cast<double>(each.working_set) / static_cast<double>(memory_);
    return size > 0.9 * part && size < 1.1 * part && (each.memory < memory_) == ballast;
  }

  const reproduction& of_;
  std::uint64_t memory_ = 0;
};

figures_row step_row(std::string subject, const series* from) {
  figures_row row{std::move(subject), origin::here, {"–", "–", "–"}};
  if (from == nullptr || !from->measured()) return row;
  row.cells = {fmt::format("{:.0f}", from->iops), microseconds(from->latency.mean.value),
               from->shortage ? std::string(name(from->shortage->bound)) : "–"};
  return row;
}

figures table_of(const memory_steps& found) {
  figures table{"Random 8 KiB through the page cache, one at a time", {"IOPS", "mean [µs]", "bound"}, {}};
  const auto add = [&](const char* subject, const char* published, const char* mean, const series* from) {
    table.rows.push_back({subject, origin::published, {published, mean, ""}});
    table.rows.push_back(step_row(subject, from));
  };
  add("read what fits, cold", "2609", "382", found.read(fitting, false, temperature::cold));
  add("read what fits, again", "585000", "", found.read(fitting, false, temperature::warm));
  add("read what is larger, cold", "2702", "", found.read(larger, false, temperature::cold));
  add("read what is larger, again", "4206", "", found.read(larger, false, temperature::warm));
  add("read with ballast, cold", "2671", "", found.read(fitting, true, temperature::cold));
  add("read with ballast, again", "3525", "", found.read(fitting, true, temperature::warm));
  add("write what fits", "22100", "", found.written(fitting, false));
  add("write a little", "193000", "", found.written(little, false));
  add("write a little, with ballast", "25100", "", found.written(little, true));
  return table;
}

void judge_reads(const memory_steps& found, reproduction& of) {
  const auto again = [&](double part, bool ballast) {
    return ratio(iops_of(found.read(part, ballast, temperature::warm)),
                 iops_of(found.read(part, ballast, temperature::cold)));
  };
  const auto add = [&](claim claim, std::optional<double> gain, double low, double high) {
    of.shapes.push_back(held_within(std::move(claim), gain, low, high, fmt::format("{} times", times(gain))));
  };
  add({"what fits into memory is read again at memory's speed: 224 times", 224}, again(fitting, false), 10, 1e9);
  add({"what is larger than memory gains little when it is read again: 1.6 times", 1.6}, again(larger, false), 0.5,
      3.2);
  add({"nor does what fitted, once other memory is in use: 1.3 times", 1.3}, again(fitting, true), 0.5, 2.5);
  const series* const cold = found.read(fitting, false, temperature::cold);
  const bool is_told = cold != nullptr && cold->shortage && cold->measured();
  of.shapes.push_back({"cold reads are latency bound: the device is waited for, one read after the other",
                       !is_told                                     ? shape::verdict::not_told
                       : cold->shortage->bound == bound::by_latency ? shape::verdict::held
                                                                    : shape::verdict::not_held,
                       is_told ? std::string(name(cold->shortage->bound)) : "was not measured"});
}

void judge_writes(const memory_steps& found, reproduction& of) {
  const series* const with_ballast = found.written(little, true);
  const auto throttled = ratio(iops_of(found.written(little, false)), iops_of(with_ballast));
  const std::string circumstances =
      with_ballast != nullptr && with_ballast->shortage
          ? fmt::format("; {}; {}", with_ballast->shortage->how, name(with_ballast->shortage->bound))
          : "";
  of.shapes.push_back(held_within({"writes that fit into memory are throttled once it is short: 7.7 times slower", 7.7},
                                  throttled, 1.5, 1e9, fmt::format("{} times{}", times(throttled), circumstances)));
  const auto many = ratio(iops_of(found.written(little, false)), iops_of(found.written(fitting, false)));
  of.shapes.push_back(held_within({"writes all over a large file are slower than those to a small one: 8.7 times", 8.7},
                                  many, 1.2, 1e9, fmt::format("{} times", times(many))));
}

void judge_buffered_memory(const resources&, reproduction& of) {
  const memory_steps found(of);
  of.tables.push_back(table_of(found));
  judge_reads(found, of);
  judge_writes(found, of);
  of.incomparable = {
      "Absolute figures: the published volume was capped at 3000 operations a second.",
      "Sizes are parts of the memory, not the published ones: what fits has half of it, what is larger one and a half "
      "times as much, a little an eighth; ballast takes three quarters.",
      "A control group of version 1 has no limit of dirty memory of its own: writers then wait for memory instead."};
}

}  // namespace
}  // namespace in_buffered_memory

const experiment buffered_memory = {
    {"buffered-memory", "Buffered reads and writes, and how much memory there is for them", "Frits Hoogland, 2022",
     "fio, synchronous, 8 KiB random, 3.6 GB of memory, a volume capped at 3000 operations a second", ""},
    1,
    in_buffered_memory::plan_buffered_memory,
    in_buffered_memory::judge_buffered_memory};

}  // namespace qd1
