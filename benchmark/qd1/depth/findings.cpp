// SPDX-License-Identifier: BSL-1.0
#include "depth/findings.hpp"

#include "units.hpp"

#include <fmt/format.h>

#include <cmath>

namespace qd1 {

std::string split(const series& of, const machine_facts& machine) {
  const verification& facts = of.verification;
  if (!facts.device_operations || facts.application_operations == 0) return {};
  const double each = static_cast<double>(*facts.device_operations) / static_cast<double>(facts.application_operations);
  for (const device_facts& device : machine.devices)
    if (device.largest_transfer_kib && *device.largest_transfer_kib * 1024 < of.work.block && each > 1.05)
      return fmt::format(
          "{} is more than {}, the most that the kernel sends {} at once (max_sectors_kb): {:.3g} device "
          "operations for each",
          size_text(of.work.block), size_text(*device.largest_transfer_kib * 1024), device.name, each);
  return {};
}

std::string contradiction(const std::vector<series>& kinds) {
  double in_flight = 0;
  for (const series& each : kinds) {
    if (each.latency.bins.empty()) return {};
    in_flight += mean_of_all(each) * 1e-9 * each.iops;
  }
  const auto expected = static_cast<double>(kinds.front().work.load.in_flight());
  constexpr double enough = 1000;  // times as many transfers: those at the ends of the time do not matter then
  if (static_cast<double>(kinds.front().latency.samples) < enough * expected ||
      std::abs(in_flight / expected - 1) < 0.1)
    return {};
  return fmt::format("by mean latency x IOPS, {:.3g} transfers were in flight, not {:.3g}", in_flight, expected);
}

}  // namespace qd1
