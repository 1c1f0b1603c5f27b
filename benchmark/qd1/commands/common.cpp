// SPDX-License-Identifier: BSL-1.0
#include "commands/common.hpp"

#include "commands/commands.hpp"
#include "measure/interruption.hpp"
#include "measure/progress.hpp"
#include "measure/run.hpp"
#include "options/suggestion.hpp"
#include "output/closing.hpp"
#include "output/json.hpp"
#include "output/summary.hpp"
#include "output/table.hpp"
#include "output/text_file.hpp"
#include "platform/file.hpp"
#include "platform/names.hpp"
#include "platform/process.hpp"
#include "text/printable.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>

namespace qd1 {
namespace {

constexpr std::uint64_t most_repeats = 100;

const std::string help_of_creation =
    "Default: a temporary file in the current directory. A file that does not exist is created, and kept for the next "
    "run";

constexpr const char* help_of_reads = "Whether cached and mapped reads find the pages in memory";

// What "written through" is called on a command line has no blank in it.
constexpr std::array durabilities = {choice<durability>{"accepted", durability::accepted},
                                     choice<durability>{"through", durability::written_through},
                                     choice<durability>{"flushed", durability::flushed}};
constexpr std::array durabilities_without_sync = {durabilities[0], durabilities[1]};

std::string help_of_writes(bool may_flush) {
  return fmt::format("Writes that end when they are accepted{} written through ({}){}", may_flush ? "," : ", or",
                     platform::write_through, may_flush ? ", or flushed by a sync" : "");
}

}  // namespace

option& add_path(options& to, std::string& path, std::string help) {
  return to.text("PATH", "PATH", path,
                 help.empty() ? "A file, a directory or a block device. " + help_of_creation : help);
}

option& add_paths(options& to, std::vector<std::string>& paths, const std::string& help) {
  return to.texts("PATH", "PATH", paths, help + ' ' + help_of_creation);
}

void add_modes(options& to, std::vector<mode>& modes) { to.some_of("--modes", modes, "Modes to measure"); }

void add_block(options& to, std::uint64_t& block) {
  to.size("--block", block, "Bytes of a transfer; offsets are multiples of it");
}

void add_order(options& to, order& order, std::optional<double>& theta) {
  to.one_of("--order", order, "Order of the offsets");
  to.number(
        "--zipf-theta", theta, least_theta, greatest_theta,
        fmt::format("Theta of --order zipf, which chooses few blocks often, the k-th most popular with a probability "
                    "proportional to 1 / k^theta. Default: {:g}, as in fio",
                    usual_theta))
      .needs = "--order";
}

void settle_order(order order, std::optional<double>& theta) {
  if (order == order::zipf && !theta) theta = usual_theta;
  if (order != order::zipf && theta)
    throw usage_error(
        fmt::format("--zipf-theta: {:g} has no effect with --order {}; use --order zipf", *theta, name(order)));
}

void add_reads(options& to, temperature& reads) { to.one_of("--reads", reads, help_of_reads); }

void add_reads(options& to, std::vector<temperature>& reads) { to.some_of("--reads", reads, help_of_reads); }

void add_writes(options& to, durability& writes, bool may_flush) {
  if (may_flush)
    to.one_of("--writes", writes, durabilities, help_of_writes(true));
  else
    to.one_of("--writes", writes, durabilities_without_sync, help_of_writes(false));
}

void add_writes(options& to, std::vector<durability>& writes) {
  to.some_of("--writes", writes, durabilities, help_of_writes(true));
}

option& add_file_size(options& to, std::optional<std::uint64_t>& bytes) {
  return to.size("--file-size", bytes, "Bytes to measure on. Default: those of a file that exists, else 1GiB");
}

void add_engine(options& to, std::string& engine) {
  std::vector<std::string> words{"auto"};
  for (const platform::engine& each : platform::engines) words.emplace_back(each.option);
  to.word("--engine", engine, std::move(words), "Async engine; auto takes the first of the others that is available");
}

void add_rounds(options& to, std::uint64_t& rounds) {
  to.count(
      "--rounds", rounds, 1, 1000,
      "Parts into which the time of a series is split; the series take turns. compare uses them to tell change from "
      "chance; with 1, each series is measured without a break");
}

void add_seed(options& to, std::uint64_t& seed) {
  to.count("--seed", seed, 0, ~std::uint64_t(0), "Seed of the offsets, the data and random arrivals");
}

void add_overwrite(options& to, bool& overwrite) {
  to.flag("--overwrite", overwrite, "Destroy the contents of PATH, even if qd1 did not create it");
}

void add_create(options& to, bool& create) {
  to.flag("--create", create, "Create PATH if it does not exist, even if it has no directory, such as ./data");
}

void add_measurement(options& to, measurement_request& request) {
  option& percentiles = to.percents("--percentiles", request.percentiles, least_fraction, greatest_fraction,
                                    "Percentiles to report; the median is always one of them");
  percentiles.take = [take = percentiles.take, &request](const std::vector<std::string>& typed) {
    take(typed);
    const auto place = std::ranges::lower_bound(request.percentiles, 0.5);
    if (place == request.percentiles.end() || *place != 0.5) request.percentiles.insert(place, 0.5);
  };
  add_seed(to, request.seed);
  add_overwrite(to, request.overwrite);
}

void require_meant(const std::vector<std::string>& paths, bool create) {
  for (const std::string& each : paths) {
    if (create || each.empty() || std::filesystem::path(each).has_parent_path() ||
        platform::kind_of(each) != platform::file_kind::missing)
      continue;
    std::vector<command> all;
    add_all_commands(all);
    throw usage_error(fmt::format("{} does not exist{} To create a file of that name, write ./{}, or add --create",
                                  each, did_you_mean(each, all), each));
  }
}

void add_reports(options& to, std::vector<std::string>& paths) {
  to.texts("REPORT", "REPORT", paths, "Reports that --json wrote; at least two").least = 2;
}

std::vector<report> read_reports(const std::vector<std::string>& paths) {
  std::vector<report> found;
  found.reserve(paths.size());
  for (const std::string& path : paths) found.push_back(read_json(read_file(path), path));
  return found;
}

void report_options::declare(options& to) {
  exports_.declare(to);
  to.flag("--progress", shows_progress_,
          "Print progress and provisional results to standard error, even if it is not a terminal");
  to.texts("--gate", "CONDITION", gate_texts_,
           "A condition, such as 'direct.read.p99<=200us'. Exit status: 0 met, 1 not met, 3 inconclusive, 4 invalid");
  to.texts("--gate-vs", "REPORT CONDITION", gate_texts_against_,
           "A report that --json wrote, and a condition as a multiple of its figures: base.json 'p50<=1.10x'")
      .values = 2;
}

void report_options::declare_repeat(options& to) {
  to.count("--repeat", repeats_, 1, most_repeats,
           "Measure everything this many times, as independent runs, and print how runs differ. Intervals need 3 runs. "
           "Default: 1; 5 with a gate");
}

void report_options::declare_details(options& to) {
  shows_details_ = false;
  to.flag("--details", shows_details_,
          "Print all percentiles and figures of each series, with their intervals and remarks, instead of one table");
}

std::uint64_t report_options::repeats() const {
  return repeats_.value_or(gate_texts_.empty() && gate_texts_against_.empty() ? 1 : 5);
}

void report_options::prepare(const std::vector<double>& percentiles) {
  for (const std::string& each : gate_texts_) {
    gates_.push_back(parse_gate(each, percentiles));
    if (gates_.back().relative)
      throw usage_error(fmt::format("--gate '{}': a multiple needs a base; use --gate-vs", each));
  }
  for (std::size_t each = 0; each + 1 < gate_texts_against_.size(); each += 2) {
    const std::string& path = gate_texts_against_[each];
    gates_against_.emplace_back(read_json(read_file(path), path),
                                parse_gate(gate_texts_against_[each + 1], percentiles));
    if (!gates_against_.back().second.relative)
      throw usage_error(
          fmt::format("--gate-vs '{}': the limit must be a multiple, such as 1.10x", gate_texts_against_[each + 1]));
  }
  exports_.open();
  if (shows_progress_) progress::request();
}

void report_options::prepare(measurement_request& request, const std::string& command_line) {
  prepare(request.percentiles);
  request.command_line = command_line;
  request.repeat = repeats();
  request.before_measuring = plan_check();
  request.after_round = observer();
  heed_interrupts();
  platform::outlive_readers();  // who reads the table or the progress does not read the files
}

std::function<void(const std::vector<work>&)> report_options::plan_check() const {
  return [this](const std::vector<work>& planned) {
    for (const gate& each : gates_) qd1::require_meant(each, planned);
    for (const auto& [_, each] : gates_against_) qd1::require_meant(each, planned);
  };
}

round_observer report_options::observer() const {
  if (!progress::is_shown()) return {};
  return [](std::uint64_t done, std::uint64_t of, const std::vector<series>& found) {
    progress::tell(provisional_table(done, of, found));
  };
}

exit_status report_options::check_gates(const report& found) const {
  std::vector<gate_result> results;
  const auto add = [&](std::vector<gate_result> more) { results.insert(results.end(), more.begin(), more.end()); };
  for (const gate& each : gates_) add(check(each, found));
  for (const auto& [base, each] : gates_against_) add(check_against(each, base, found));
  exit_status status = exit_pass;
  for (const gate_result& each : results) {
    exports_.take_standard_output() ? print(stderr, each.text + '\n') : exports_.show(each.text + '\n');
    status = worst(status, each.status);
  }
  return status;
}

int report_options::finish(const report& found) {
  const std::vector<std::string> failures = exports_.write(found);
  exports_.show(shows_details_ || !has_summary(found) ? table(found) : summary(found));
  if (const std::string page = exports_.path_of("--html"); !page.empty())
    exports_.show("The report as a page: " + std::filesystem::absolute(page).string() + '\n');
  const exit_status status = worst(verdict(found), check_gates(found));
  const bool is_cut = interrupted() && (status == exit_pass || status == exit_usage);
  return report_failures(failures, is_cut ? exit_interrupted : status);
}

}  // namespace qd1
