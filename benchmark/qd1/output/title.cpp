// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"
#include "units.hpp"

#include <fmt/format.h>

namespace qd1 {

std::string title(const work& work) {
  std::string text = fmt::format("{} {}, {}", name(work.mode), name(work.operation), name(work.form));
  const bool reads = work.operation == operation::read;
  if (reads && work.temperature == temperature::cold) text += ", cold";
  if (work.mode == mode::mapped && work.advice == advice::random) text += ", MADV_RANDOM";
  if (!reads && work.durability != durability::accepted) text += fmt::format(", {}", name(work.durability));
  text += fmt::format(", {}", size_text(work.working_set));
  if (work.rate) text += fmt::format(", {:g}/s{}", *work.rate, work.poisson ? " Poisson" : "");
  return text;
}

std::string file_title(const work& work) {
  std::string name;
  for (const char each : title(work)) {
    if (each == ',') continue;
    name += each == ' ' || each == '/' ? '-' : each;
  }
  return name;
}

}  // namespace qd1
