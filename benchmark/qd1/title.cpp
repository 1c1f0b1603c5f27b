// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"
#include "units.hpp"

#include <fmt/format.h>

namespace qd1 {

namespace {

// What is not as at queue depth 1.
std::string load_text(const load& load) {
  std::string text = load.is_single() ? "" : fmt::format(", depth {}", load.depth);
  if (load.workers != 1) text += fmt::format(", {} workers", load.workers);
  if (load.targets != 1) text += fmt::format(", {} targets", load.targets);
  if (load.only) text += fmt::format(", target {} alone", *load.only + 1);
  if (load.order != order::random) text += ", " + order_text(load);
  if (load.share < 1) text += fmt::format(", {:.3g} % of a mix", load.share * 100);
  return text;
}

}  // namespace

std::string order_text(const load& load) {
  if (!load.theta) return std::string(name(load.order));
  return fmt::format("{} {:g}", name(load.order), *load.theta);
}

std::string order_heading(const load& load) {
  switch (load.order) {
    case order::sequential: return "Sequential";
    case order::zipf: return fmt::format("Zipf (theta {:g})", load.theta.value_or(0));
    case order::random: break;
  }
  return "Random";
}

std::string advice_text(const work& work) {
  return work.advice == advice::normal ? "" : fmt::format("advised {}", name(work.advice));
}

std::string mode_text(const work& work) {
  const std::string advised = advice_text(work);
  return fmt::format("{}{}", name(work.mode), advised.empty() ? "" : " (" + advised + ')');
}

std::string title(const work& work) {
  std::string text = fmt::format("{} {}, {}", name(work.mode), name(work.operation), name(work.form));
  const bool reads = work.operation == operation::read;
  if (reads && work.temperature == temperature::cold) text += ", cold";
  if (reads && work.advice != advice::normal) text += ", " + advice_text(work);
  if (!reads && work.durability != durability::accepted) text += fmt::format(", {}", name(work.durability));
  if (work.block != qd1::work().block) text += fmt::format(", {} blocks", size_text(work.block));
  text += fmt::format(", {}", size_text(work.working_set));
  if (work.memory) text += fmt::format(", memory {}", size_text(*work.memory));
  text += load_text(work.load);
  if (work.rate) text += fmt::format(", {:g}/s{}", *work.rate, work.poisson ? " Poisson" : "");
  return text;
}

std::string mark_name(const work& work) {
  const std::string_view order = work.load.order == order::sequential ? "SEQ"
                                 : work.load.order == order::zipf     ? "ZIPF"
                                                                      : "RND";
  const std::string block = work.block % (1 << 20) == 0 ? fmt::format("{}M", work.block >> 20)
                            : work.block % 1024 == 0    ? fmt::format("{}K", work.block / 1024)
                                                        : fmt::format("{}B", work.block);
  return fmt::format("{}{} Q{}T{}", order, block, work.load.depth, work.load.workers);
}

std::string name_among(const report& all, const work& work) {
  if (all.settings.profile.empty()) return title(work);
  return fmt::format("{}{} {}", mark_name(work), work.load.share < 1 ? " mix," : "", name(work.operation));
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
