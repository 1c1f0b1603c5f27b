// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"
#include "units.hpp"

#include <fmt/format.h>

namespace qd1 {

namespace {

// What is not as at queue depth 1.
std::string load_text(const load& load) {
  if (load == qd1::load()) return {};
  std::string text = fmt::format(", depth {}", load.depth);
  if (load.workers != 1) text += fmt::format(", {} workers", load.workers);
  if (load.targets != 1) text += fmt::format(", {} targets", load.targets);
  if (load.only) text += fmt::format(", target {} alone", *load.only + 1);
  if (load.order == order::sequential) text += ", sequential";
  if (load.share < 1) text += fmt::format(", {:.3g} % of a mix", load.share * 100);
  return text;
}

}  // namespace

std::string title(const work& work) {
  std::string text = fmt::format("{} {}, {}", name(work.mode), name(work.operation), name(work.form));
  const bool reads = work.operation == operation::read;
  if (reads && work.temperature == temperature::cold) text += ", cold";
  if (traits(work.mode).maps && work.advice == advice::random) text += ", MADV_RANDOM";
  if (!reads && work.durability != durability::accepted) text += fmt::format(", {}", name(work.durability));
  text += fmt::format(", {}", size_text(work.working_set));
  if (work.memory) text += fmt::format(", memory {}", size_text(*work.memory));
  text += load_text(work.load);
  if (work.rate) text += fmt::format(", {:g}/s{}", *work.rate, work.poisson ? " Poisson" : "");
  return text;
}

std::string file_title(const work& work) {
  std::string name;
  for (const char each : title(work)) {
    if (each == ',' || each == '%') continue;
    name += each == ' ' || each == '/' ? '-' : each;
  }
  return name;
}

}  // namespace qd1
