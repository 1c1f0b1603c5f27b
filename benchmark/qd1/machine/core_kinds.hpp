// SPDX-License-Identifier: BSL-1.0
// Processors whose cores are of several kinds: performance and efficiency.
#pragma once

#include <qd1/machine/facts.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qd1 {

struct ranked_thread {
  std::uint64_t rank = 0;  ///< of the kind of its core: the higher, the faster
  std::uint64_t number = 0;
  bool allowed = true;  ///< to this process
};

/// "0-3,8": an ascending list of threads as Linux writes it.
std::string cpu_list(std::span<const std::uint64_t> threads);

/// Sets the facts about kinds of cores, if there are several.
void set_core_kinds(std::vector<ranked_thread> threads, cpu_facts& facts);

}  // namespace qd1
