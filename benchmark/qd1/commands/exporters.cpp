// SPDX-License-Identifier: BSL-1.0
#include "commands/exporters.hpp"

#include "failure.hpp"
#include "html/html.hpp"
#include "output/color.hpp"
#include "output/fio.hpp"
#include "output/hgrm.hpp"
#include "output/json.hpp"
#include "output/reproduction.hpp"
#include "text/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <system_error>
#include <utility>

namespace qd1 {

std::string csv(const report& report);  // csv.cpp

std::span<const exporter> exporters() {
  static constexpr std::array all = {
      exporter{"--json", "FILE", "Write the report as JSON; - is standard output, without the table", json, nullptr,
               nullptr, json},
      exporter{"--html", "FILE", "Write the report as a page that needs no other file and no network", html::render,
               nullptr, nullptr, html::render},
      exporter{"--csv", "FILE", "Write a line for each series, with its figures; times in nanoseconds", csv},
      exporter{"--hgrm", "PREFIX", "Write each series for the HdrHistogram plotter: PREFIX-<series>.hgrm", nullptr,
               write_hgrm_files, require_writable_prefix},
      exporter{"--fio", "DIRECTORY", "Write each series as fio's json+ for fio-plot: DIRECTORY/<series>/fio.json",
               nullptr, write_fio_files, require_fio_directory}};
  return all;
}

void add_format(options& to, std::string_view option, output_file& file, std::string_view what) {
  const auto all = exporters();
  const auto& format = *std::ranges::find(all, option, &exporter::option);
  std::string help = format.help;
  constexpr std::string_view subject = "the report";
  help.replace(help.find(subject), subject.size(), what);
  to.text(format.option, format.value, file.path, std::move(help)).is_output = true;
}

int report_failures(const std::vector<std::string>& failures, int status) {
  for (const std::string& each : failures) print(stderr, fmt::format("qd1: {}\n", each));
  return failures.empty() || status != exit_pass ? status : exit_usage;
}

void exports::declare(options& to, bool of_experiments) {
  for (const exporter& each : exporters()) {
    if (of_experiments && each.of_experiment == nullptr) continue;
    one& added = wanted_.emplace_back();
    added.by = &each;
    to.text(each.option, each.value, added.file.path, each.help).is_output = true;
  }
}

void exports::open() {
  for (one& each : wanted_)
    if (each.file.is_wanted()) each.by->open != nullptr ? each.by->open(each.file.path) : each.file.open();
}

bool exports::take_standard_output() const {
  return std::ranges::any_of(wanted_, [](const one& each) { return each.file.is_standard_output(); });
}

template <class Write>
std::vector<std::string> exports::write_each(Write&& write) {
  std::vector<std::string> failures;
  for (one& each : wanted_) {
    if (!each.file.is_wanted()) continue;
    try {
      write(each);
      each.is_written = true;
    } catch (const usage_error& failure) {
      failures.emplace_back(failure.what());
    } catch (const std::system_error& failure) {
      // Standard output is command_line()'s.
      if (!each.file.is_standard_output()) failures.push_back(each.file.path + ": " + failure.what());
    }
  }
  return failures;
}

std::vector<std::string> exports::write(const report& found) {
  return write_each([&](const one& each) {
    each.by->write != nullptr ? each.by->write(found, each.file.path) : each.file.write(each.by->contents(found));
  });
}

std::vector<std::string> exports::write(const reproduction& found) {
  return write_each([&](const one& each) { each.file.write(each.by->of_experiment(found)); });
}

void exports::show(const std::string& text) const {
  if (take_standard_output()) return;
  try {
    fmt::print("{}", colored(printable(text)));
  } catch (const std::system_error&) {
    // command_line() finds the error of the stream.
  }
}

std::string exports::path_of(const std::string& option) const {
  for (const one& each : wanted_)
    if (each.by->option == option && each.is_written && !each.file.is_standard_output()) return each.file.path;
  return {};
}

}  // namespace qd1
