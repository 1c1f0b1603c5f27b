// SPDX-License-Identifier: BSL-1.0
// What about this machine spoils a measurement, and the command that would change it. qd1 itself changes nothing.
#pragma once

#include <qd1/enumerators.hpp>
#include <qd1/machine/facts.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

enum class severity : std::uint8_t {
  note,     ///< good to know when the figures are read
  warning,  ///< the figures would be different, or the tail cannot be trusted
  severe,   ///< the run measures something else than intended
};

template <>
struct enumerators<severity> {
  static constexpr std::string_view names[] = {"note", "warning", "severe"};
};

struct recommendation {
  qd1::severity severity = severity::note;
  std::string finding;                 ///< "the governor is powersave"
  std::string why;                     ///< one sentence
  std::optional<std::string> command;  ///< absent where no command helps

  friend bool operator==(const recommendation&, const recommendation&) = default;
};

/// The severe ones first.
std::vector<recommendation> advise(const machine_facts& machine);

// The parts of it, in files of their own.
void advise_on_host(const host_facts& host, std::vector<recommendation>& out);
void advise_on_storage(const machine_facts& machine, std::vector<recommendation>& out);

}  // namespace qd1
