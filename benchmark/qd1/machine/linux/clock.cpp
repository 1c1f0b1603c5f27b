// SPDX-License-Identifier: BSL-1.0
// The files are those that the kernel names at clocksource= in Documentation/admin-guide/kernel-parameters.txt.
#include <qd1/machine/linux/clock.hpp>
#include <qd1/machine/linux/text.hpp>

namespace qd1::linux_system {

clock_facts find_clock(const tree& system) {
  const std::filesystem::path directory = "sys/devices/system/clocksource/clocksource0";
  clock_facts facts;
  facts.source = system.text(directory / "current_clocksource");
  facts.available = split(system.text(directory / "available_clocksource").value_or(""), ' ');
  return facts;
}

}  // namespace qd1::linux_system
