// SPDX-License-Identifier: BSL-1.0
// GetLogicalProcessorInformationEx, GetSystemPowerStatus, PowerGetActiveScheme. Frequencies and idle states are left
// out: what CallNtPowerInformation tells of them is what the firmware had planned.
#include <qio/system/windows/calls.hpp>

#include <powrprof.h>
#include <qd1/machine/core_kinds.hpp>
#include <qd1/machine/cpuid.hpp>
#include <qd1/machine/windows/cpu.hpp>
#include <qd1/machine/windows/text.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace qd1::windows_system {
namespace {

std::vector<std::byte> topology() {
  DWORD bytes = 0;
  ::GetLogicalProcessorInformationEx(RelationAll, nullptr, &bytes);
  std::vector<std::byte> memory(bytes);
  const auto first = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(memory.data());
  if (bytes == 0 || ::GetLogicalProcessorInformationEx(RelationAll, first, &bytes) == 0) return {};
  memory.resize(bytes);
  return memory;
}

// PROCESSOR_RELATIONSHIP::EfficiencyClass, which older headers lack: a higher one has the greater performance.
std::uint64_t efficiency_class(const PROCESSOR_RELATIONSHIP& core) {
  return static_cast<std::uint64_t>(reinterpret_cast<const unsigned char*>(&core)[1]);
}

// The threads of this process's group on which it may run; none where it has threads in several groups.
std::optional<std::uint64_t> affinity() {
  DWORD_PTR process = 0, system = 0;
  if (::GetProcessAffinityMask(::GetCurrentProcess(), &process, &system) == 0 || process == 0) return std::nullopt;
  return std::uint64_t{process};
}

// Threads are numbered as in `current`: 64 for each group.
void add_threads(const PROCESSOR_RELATIONSHIP& core, std::uint64_t allowed, std::vector<ranked_thread>& to) {
  for (WORD group = 0; group < core.GroupCount; ++group)
    for (unsigned bit = 0; bit < 64; ++bit)
      if ((std::uint64_t{core.GroupMask[group].Mask} >> bit & 1) != 0)
        to.push_back(
            {efficiency_class(core), std::uint64_t{core.GroupMask[group].Group} * 64 + bit, (allowed >> bit & 1) != 0});
}

void find_topology(std::uint64_t allowed, cpu_facts& facts) {
  const std::vector<std::byte> memory = topology();
  if (memory.empty()) return;
  std::uint64_t packages = 0, cores = 0, threads = 0, nodes = 0;
  bool shared = false;
  std::vector<ranked_thread> kinds;
  for (std::size_t at = 0; at < memory.size();) {
    const auto& each = reinterpret_cast<const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX&>(memory[at]);
    packages += each.Relationship == RelationProcessorPackage;
    nodes += each.Relationship == RelationNumaNode;
    if (each.Relationship == RelationProcessorCore) {
      ++cores;
      add_threads(each.Processor, allowed, kinds);
      shared = shared || (each.Processor.Flags & LTP_PC_SMT) != 0;
      for (WORD group = 0; group < each.Processor.GroupCount; ++group)
        threads += static_cast<std::uint64_t>(std::popcount(std::uint64_t{each.Processor.GroupMask[group].Mask}));
    }
    at += each.Size;
  }
  facts.packages = packages;
  facts.cores = cores;
  facts.threads = threads;
  facts.numa_nodes = nodes;
  facts.simultaneous_threads = shared;
  set_core_kinds(std::move(kinds), facts);
}

// Documented values of PROCESSOR_ARCHITECTURE_…
std::optional<std::string> architecture() {
  SYSTEM_INFO found;
  ::GetNativeSystemInfo(&found);
  switch (found.wProcessorArchitecture) {
    case PROCESSOR_ARCHITECTURE_AMD64: return "x86_64";
    case PROCESSOR_ARCHITECTURE_INTEL: return "x86";
    case 12: return "arm64";  // PROCESSOR_ARCHITECTURE_ARM64
    default: return std::nullopt;
  }
}

// The plans that every Windows has ("Power Policy Settings"); another one by the name that it was given.
std::string name_of_plan(const GUID& plan) {
  struct known {
    GUID plan;
    const char* name;
  };
  static constexpr std::array<known, 3> all = {{
      {{0x381b4222, 0xf694, 0x41f0, {0x96, 0x85, 0xff, 0x5b, 0xb2, 0x60, 0xdf, 0x2e}}, "balanced"},
      {{0x8c5e7fda, 0xe8bf, 0x4a96, {0x9a, 0x85, 0xa6, 0xe2, 0x3a, 0x8c, 0x63, 0x5c}}, "high performance"},
      {{0xa1841308, 0x3541, 0x4fab, {0xbc, 0x81, 0xf7, 0x15, 0x56, 0xf2, 0x0b, 0x4a}}, "power saver"},
  }};
  for (const known& each : all)
    if (std::memcmp(&each.plan, &plan, sizeof plan) == 0) return each.name;
  std::array<wchar_t, 256> name{};
  auto bytes = static_cast<DWORD>(sizeof name - sizeof(wchar_t));
  if (::PowerReadFriendlyName(nullptr, &plan, nullptr, nullptr, reinterpret_cast<UCHAR*>(name.data()), &bytes) !=
      ERROR_SUCCESS)
    return "of its own";
  return narrow(name.data());
}

// The power mode of the settings, or of the slider in the task bar, is an overlay over the plan. It is what laptops
// change. powrprof.dll has the function since Windows 10 1709; headers do not name it.
std::string power_mode() {
  using function = DWORD WINAPI(GUID*);
  const HMODULE library = ::GetModuleHandleW(L"powrprof.dll");
  const FARPROC found = library == nullptr ? nullptr : ::GetProcAddress(library, "PowerGetEffectiveOverlayScheme");
  GUID overlay{};
  if (found == nullptr) return {};
  if (reinterpret_cast<function*>(reinterpret_cast<void (*)()>(found))(&overlay) != ERROR_SUCCESS) return {};
  return name_of_power_mode(overlay);
}

std::optional<std::string> power_plan() {
  GUID* plan = nullptr;
  if (::PowerGetActiveScheme(nullptr, &plan) != ERROR_SUCCESS || plan == nullptr) return std::nullopt;
  std::string name = name_of_plan(*plan);
  ::LocalFree(plan);
  if (const std::string mode = power_mode(); !mode.empty()) name += ", power mode " + mode;
  return name;
}

std::optional<bool> on_battery() {
  SYSTEM_POWER_STATUS status;
  if (::GetSystemPowerStatus(&status) == 0 || status.ACLineStatus > 1) return std::nullopt;
  return status.ACLineStatus == 0;
}

}  // namespace

std::string name_of_power_mode(const GUID& overlay) {
  struct known {
    GUID overlay;
    const char* name;
  };
  static constexpr std::array<known, 3> all = {{
      {{0x961cc777, 0x2547, 0x4f9d, {0x81, 0x74, 0x7d, 0x86, 0x18, 0x1b, 0x8a, 0x7a}}, "best power efficiency"},
      {{0x3af9b8d9, 0x7c97, 0x431d, {0xad, 0x78, 0x34, 0xa8, 0xbf, 0xea, 0x43, 0x9f}}, "better performance"},
      {{0xded574b5, 0x45a0, 0x4f42, {0x87, 0x37, 0x46, 0x34, 0x5c, 0x09, 0xc2, 0x38}}, "best performance"},
  }};
  for (const known& each : all)
    if (std::memcmp(&each.overlay, &overlay, sizeof overlay) == 0) return each.name;
  return {};
}

cpu_facts find_cpu() {
  cpu_facts facts;
  facts.model = ask_cpuid().model;
  facts.architecture = architecture();
  const auto allowed = affinity();
  find_topology(allowed.value_or(~std::uint64_t{0}), facts);
  if (allowed) facts.threads_allowed = static_cast<std::uint64_t>(std::popcount(*allowed));
  PROCESSOR_NUMBER here;
  ::GetCurrentProcessorNumberEx(&here);
  facts.current = std::uint64_t{here.Group} * 64 + here.Number;
  facts.power_plan = power_plan();
  facts.on_battery = on_battery();
  return facts;
}

}  // namespace qd1::windows_system
