// SPDX-License-Identifier: BSL-1.0
// This machine, as Windows reports it. What Windows or Wine does not report is absent.
#include <qio/system/windows/calls.hpp>

#include <fmt/format.h>
#include <qd1/machine/counters.hpp>
#include <qd1/machine/cpuid.hpp>
#include <qd1/machine/direct.hpp>
#include <qd1/machine/find.hpp>
#include <qd1/machine/windows/cpu.hpp>
#include <qd1/machine/windows/device.hpp>
#include <qd1/machine/windows/security.hpp>
#include <qd1/machine/windows/version.hpp>
#include <qd1/machine/windows/volume.hpp>

namespace qd1 {
namespace {

std::uint64_t number(const FILETIME& time) { return std::uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime; }

host_facts find_host() {
  host_facts host;
  if (const auto version = windows_system::find_version()) {
    host.system = windows_system::name_of(*version);
    host.kernel = fmt::format("Windows NT {}.{}.{}", version->major, version->minor, version->build);
  }
  host.virtualization.emulator = windows_system::find_wine();
  host.cpu = windows_system::find_cpu();
  const cpuid_facts cpuid = ask_cpuid();
  host.clock.invariant_tsc = cpuid.invariant_tsc;
  host.virtualization.hypervisor = cpuid.hypervisor;
  host.virtualization.hypervisor_name = cpuid.hypervisor_name;
  host.virtualization.root_partition = cpuid.root_partition;
  host.virtualization.memory_integrity = windows_system::find_memory_integrity();
  host.virus_scanner = windows_system::find_virus_scanner();
  LARGE_INTEGER frequency;
  if (::QueryPerformanceFrequency(&frequency) != 0)
    host.clock.source = fmt::format("QueryPerformanceCounter, {:g} MHz", static_cast<double>(frequency.QuadPart) / 1e6);
  host.memory = find_memory();
  find_priorities(host.limits);
  return host;
}

}  // namespace

machine_facts find_machine(const std::string& path) {
  const windows_system::volume where = windows_system::locate(path);
  machine_facts machine;
  machine.host = find_host();
  machine.filesystem = windows_system::find_filesystem(where);
  // Wine makes up a disk for every volume.
  if (!machine.host.virtualization.emulator) machine.devices = windows_system::find_devices(where);
  for (const device_facts& device : machine.devices)
    static_cast<void>(windows_system::count_operations(device.name));  // turns counting on, for those that follow
  machine.filesystem.direct = where.is_device ? find_direct_of(where.path) : find_direct(where.path);
  return machine;
}

void find_priorities(limit_facts& of) {
  if (::GetPriorityClass(::GetCurrentProcess()) == IDLE_PRIORITY_CLASS) of.scheduling = "idle";
}

memory_facts find_memory() {
  memory_facts facts;
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  if (::GlobalMemoryStatusEx(&status) == 0) return facts;
  facts.total_bytes = status.ullTotalPhys;
  facts.available_bytes = status.ullAvailPhys;
  return facts;
}

std::optional<std::uint64_t> memory_limit_hits() { return std::nullopt; }

std::optional<std::uint64_t> waited_for_cpu_ns() { return std::nullopt; }

std::vector<std::uint64_t> processors_near(const machine_facts&) { return {}; }

machine_counters count(const machine_facts& machine) {
  machine_counters now;
  FILETIME idle, kernel, user;  // idle time is a part of the kernel's
  if (::GetSystemTimes(&idle, &kernel, &user) != 0)
    now.processors =
        processor_time{.total = number(kernel) + number(user), .steal = std::nullopt, .idle = number(idle)};
  for (const device_facts& device : machine.devices)
    if (auto counted = windows_system::count_operations(device.name)) now.devices.push_back(std::move(*counted));
  return now;
}

}  // namespace qd1
