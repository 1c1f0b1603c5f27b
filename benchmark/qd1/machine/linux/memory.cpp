// SPDX-License-Identifier: BSL-1.0
// proc(5) for meminfo and vmstat, Documentation/admin-guide/sysctl/vm.rst for the dirty settings.
#include <qd1/machine/linux/memory.hpp>
#include <qd1/machine/linux/text.hpp>

#include <string_view>

namespace qd1::linux_system {
namespace {

// "MemTotal:       24684092 kB": the kernel's kB are 1024 bytes.
std::optional<std::uint64_t> kib_line(std::string_view meminfo, std::string_view key) {
  const auto rest = value_of(meminfo, key);
  if (!rest || !rest->ends_with(" kB")) return std::nullopt;
  const auto kib = to_number(trimmed(rest->substr(0, rest->size() - 3)));
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

// vm.rst: of the setting in bytes and the one in percent only one is in force; the other reads as 0.
std::optional<std::string> dirty_setting(const tree& system, const std::string& name) {
  const std::filesystem::path settings = "proc/sys/vm";
  if (const auto bytes = system.number(settings / (name + "_bytes")); bytes && *bytes != 0)
    return std::to_string(*bytes) + " bytes";
  if (const auto percent = system.number(settings / (name + "_ratio"))) return std::to_string(*percent) + '%';
  return std::nullopt;
}

}  // namespace

memory_facts find_memory(const tree& system, std::uint64_t page_bytes) {
  memory_facts facts;
  const std::string meminfo = system.text("proc/meminfo").value_or("");
  facts.total_bytes = kib_line(meminfo, "MemTotal");
  facts.available_bytes = kib_line(meminfo, "MemAvailable");
  facts.dirty_bytes = kib_line(meminfo, "Dirty");
  facts.writeback_bytes = kib_line(meminfo, "Writeback");
  facts.swap_total_bytes = kib_line(meminfo, "SwapTotal");
  facts.swap_free_bytes = kib_line(meminfo, "SwapFree");

  // The percentages are of memory that could be made available, which only the kernel knows: it tells the limits that
  // result.
  const std::string vmstat = system.text("proc/vmstat").value_or("");
  const auto pages = [&](std::string_view key) -> std::optional<std::uint64_t> {
    const auto number = to_number(value_of(vmstat, key).value_or(""));
    return number ? std::optional(*number * page_bytes) : std::nullopt;
  };
  facts.dirty_limit_bytes = pages("nr_dirty_threshold");
  facts.dirty_background_limit_bytes = pages("nr_dirty_background_threshold");
  facts.dirty_setting = dirty_setting(system, "dirty");
  facts.dirty_background_setting = dirty_setting(system, "dirty_background");
  facts.huge_pages = to_choice(system.text("sys/kernel/mm/transparent_hugepage/enabled").value_or("")).current;
  return facts;
}

}  // namespace qd1::linux_system
