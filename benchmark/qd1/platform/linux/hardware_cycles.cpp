// SPDX-License-Identifier: BSL-1.0
// perf_event_open(2)
#include "platform/hardware_cycles.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace qd1::platform {
namespace {

// Documentation/admin-guide/sysctl/kernel.rst: from 2 on only privileged users may count the kernel's cycles.
std::string who_may() {
  std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
  std::string level;
  if (!(file >> level)) return "";
  return fmt::format(
      "; perf_event_paranoid is {}: it must be at most 1, except for root, and a container may forbid it", level);
}

std::string reason_of(int error) {
  std::string text = "perf_event_open: " + std::generic_category().message(error);
  if (error == EACCES || error == EPERM) text += who_may();
  if (error == ENOENT || error == EOPNOTSUPP) text += ": there is no such counter; virtual machines rarely have it";
  return text;
}

}  // namespace

hardware_cycles::hardware_cycles() {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.config = PERF_COUNT_HW_CPU_CYCLES;
  wanted.inherit = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  counter_ = static_cast<int>(::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (counter_ < 0) why_not_ = reason_of(errno);
}

hardware_cycles::~hardware_cycles() {
  if (counter_ >= 0) ::close(counter_);
}

std::optional<std::uint64_t> hardware_cycles::counted() const noexcept {
  struct {
    std::uint64_t cycles, enabled_ns, running_ns;
  } told;
  if (counter_ < 0 || ::read(counter_, &told, sizeof told) != sizeof told || told.running_ns == 0) return std::nullopt;
  return told.running_ns == told.enabled_ns ? std::optional(told.cycles) : std::nullopt;
}

}  // namespace qd1::platform
