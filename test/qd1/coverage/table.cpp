// SPDX-License-Identifier: BSL-1.0
// qd1_coverage [REPETITIONS]: prints the tables of docs/trust.md. How often intervals hold the true value, and how
// often comparisons are right, by simulation of the code that qd1 runs. 2,000 repetitions take a minute of processor
// time.
#include "coverage.hpp"
#include "pairs.hpp"
#include "power.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string per_cent(double part) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 100 * part);
  return text;
}

std::string in_words(const qd1_test::cell& cell) {
  if (cell.given == 0) return "withheld";
  char width[16];
  std::snprintf(width, sizeof width, "%.1f", cell.width);
  std::string text = per_cent(cell.coverage()) + " × " + width;
  if (cell.given != cell.repetitions) text += " (given " + per_cent(cell.share_given()) + ")";
  return text;
}

void print_coverage(std::size_t repetitions) {
  std::puts("| | figure | 8 rounds | 20 rounds | 50 rounds |\n| --- | --- | --- | --- | --- |");
  for (const qd1_test::process_kind& kind : qd1_test::process_kinds()) {
    const auto cells = qd1_test::cells_of(kind, repetitions);
    for (const char* const figure : {"p50", "p99", "p99.9", "mean"}) {
      std::string row;
      for (const std::size_t rounds : {8u, 20u, 50u}) {
        std::string text;
        for (const qd1_test::cell& each : cells)
          if (each.figure == figure && each.rounds == rounds) text = in_words(each);
        row += " " + text + " |";
      }
      if (row.find_first_not_of(" |") != std::string::npos)
        std::printf("| %s | %s |%s\n", kind.name.c_str(), figure, row.c_str());
    }
    std::fflush(stdout);
  }
}

void print_power(std::size_t pairs) {
  std::puts("\n| | | different | no difference | inconclusive |\n| --- | --- | --- | --- | --- |");
  for (const qd1_test::verdicts& each : qd1_test::compare_simulated(pairs))
    std::printf("| %s | %s, %s | %s | %s | %s |\n", each.host.c_str(), each.slower == 1 ? "the same" : "10 % slower",
                each.repeated ? "5 runs" : "1 run", per_cent(each.part(each.different)).c_str(),
                per_cent(each.part(each.none)).c_str(), per_cent(each.part(each.inconclusive)).c_str());
}

void print_repeated(std::size_t repetitions) {
  std::puts("\n| | holds | overlap |\n| --- | --- | --- |");
  for (const qd1_test::repeat_cell& each : qd1_test::repeat_simulated(repetitions))
    std::printf("| %s | %s | %s |\n", each.host.c_str(), per_cent(each.part(each.covered)).c_str(),
                per_cent(each.part(each.overlapping)).c_str());
}

// Different / no difference (pairs): a row for each host, a column for each factor.
void print_detections(std::size_t tries) {
  std::puts("\n| | the same | 1 % slower | 2 % | 4 % | 5 % | 10 % |\n| --- | --- | --- | --- | --- | --- | --- |");
  std::string host;
  for (const qd1_test::detections& each : qd1_test::detect_simulated(tries)) {
    if (each.host != host) std::printf("%s| %s |", host.empty() ? "" : "\n", each.host.c_str());
    host = each.host;
    std::printf(" %s / %s (%.0f) |", per_cent(each.part(each.right + each.wrong)).c_str(),
                per_cent(each.part(each.none)).c_str(),
                static_cast<double>(each.pairs) / static_cast<double>(each.tries));
  }
  std::puts("");
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t repetitions = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 2'000;
  if (repetitions == 0) {
    std::fputs("qd1_coverage [REPETITIONS]: REPETITIONS must be at least 1\n", stderr);
    return 2;
  }
  print_coverage(repetitions);
  print_repeated(repetitions);
  print_power(repetitions);
  print_detections(repetitions);
  return 0;
}
