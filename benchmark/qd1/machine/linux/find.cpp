// SPDX-License-Identifier: BSL-1.0
// Facts about this machine: from its files, and from system calls where no file has them.
#include <qd1/machine/counters.hpp>
#include <qd1/machine/cpuid.hpp>
#include <qd1/machine/direct.hpp>
#include <qd1/machine/find.hpp>
#include <qd1/machine/linux/limits.hpp>
#include <qd1/machine/linux/location.hpp>
#include <qd1/machine/linux/machine.hpp>
#include <qd1/machine/linux/memory.hpp>
#include <qd1/machine/linux/text.hpp>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

namespace qd1 {
namespace {

std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

void ask_processor(host_facts& host) {
  const cpuid_facts cpuid = ask_cpuid();
  host.clock.invariant_tsc = cpuid.invariant_tsc;
  if (cpuid.hypervisor) host.virtualization.hypervisor = cpuid.hypervisor;
  if (cpuid.hypervisor_name) host.virtualization.hypervisor_name = cpuid.hypervisor_name;
  host.virtualization.root_partition = cpuid.root_partition;
}

// getrlimit(2). Who may lock memory at will (CAP_IPC_LOCK) is not held to it, but that is not looked into.
std::optional<std::uint64_t> locked_memory_limit() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

// sched(7), nice(2): "other" and 0 are usual.
std::optional<std::string> scheduling() {
  switch (::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) {
    case SCHED_IDLE: return "idle";
    case SCHED_BATCH: return "batch";
    case SCHED_FIFO:
    case SCHED_RR: return "real time";
    default: break;
  }
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  return nice == 0 ? std::nullopt : std::optional("nice " + std::to_string(nice));
}

// ioprio_get(2), which the C library does not have: the class is in the upper bits. "Best effort" and none are usual.
std::optional<std::string> io_priority() {
  constexpr int of_process = 1, class_shift = 13, real_time = 1, idle = 3;
  const long found = ::syscall(SYS_ioprio_get, of_process, 0);
  if (found < 0) return std::nullopt;
  if (found >> class_shift == idle) return "idle";
  return found >> class_shift == real_time ? std::optional<std::string>("real time") : std::nullopt;
}

}  // namespace

machine_facts find_machine(const std::string& path) {
  const linux_system::tree system;
  const linux_system::location where = linux_system::locate(path);
  const int current_cpu = std::max(::sched_getcpu(), 0);
  machine_facts machine =
      linux_system::find_machine(system, where, static_cast<std::uint64_t>(current_cpu), page_bytes());
  ask_processor(machine.host);
  machine.host.limits.locked_memory_bytes = locked_memory_limit();
  find_priorities(machine.host.limits);
  if (struct utsname names; ::uname(&names) == 0) machine.host.cpu.architecture = names.machine;
  machine.filesystem.direct = find_direct(where.path);
  return machine;
}

void find_priorities(limit_facts& of) {
  of.scheduling = scheduling();
  of.io_priority = io_priority();
}

memory_facts find_memory() { return linux_system::find_memory(linux_system::tree(), page_bytes()); }

std::optional<std::uint64_t> memory_limit_hits() { return linux_system::memory_limit_hits(linux_system::tree()); }

std::optional<std::uint64_t> waited_for_cpu_ns() { return linux_system::waited_ns(linux_system::tree()); }

std::vector<std::uint64_t> processors_near(const machine_facts& machine) {
  for (const device_facts& device : machine.devices)
    if (device.pcie && device.pcie->local_cpus) return linux_system::to_cpu_list(*device.pcie->local_cpus);
  return {};
}

machine_counters count(const machine_facts& machine) { return linux_system::count(linux_system::tree(), machine); }

}  // namespace qd1
