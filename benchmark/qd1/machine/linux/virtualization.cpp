// SPDX-License-Identifier: BSL-1.0
#include <qd1/machine/linux/text.hpp>
#include <qd1/machine/linux/virtualization.hpp>

#include <filesystem>
#include <string>

namespace qd1::linux_system {
namespace {

const std::filesystem::path device_tree = "proc/device-tree";

// The first of the strings of a property, each of which ends with a zero byte.
std::optional<std::string> device_tree_text(const tree& system, const char* property) {
  const auto text = system.text(device_tree / property);
  if (!text) return std::nullopt;
  return text->substr(0, text->find('\0'));
}

// Documentation/ABI/testing/sysfs-firmware-dmi-tables; /sys/class/dmi/id is drivers/firmware/dmi-id.c. Serial numbers
// and UUIDs lie beside these two, for root; they are none of our business.
std::optional<std::string> product(const tree& system) {
  const auto vendor = system.text("sys/class/dmi/id/sys_vendor");
  const auto name = system.text("sys/class/dmi/id/product_name");
  if (vendor && name) return *vendor + ' ' + *name;
  if (vendor || name) return vendor ? vendor : name;
  return device_tree_text(system, "model");
}

// Machines without ACPI, as many of ARM64: the node "hypervisor" of the device tree, and the "fw-cfg" of QEMU. The same
// signs as systemd's (src/basic/virt.c, detect_vm_device_tree).
std::optional<std::string> hypervisor_in_device_tree(const tree& system) {
  if (const auto compatible = device_tree_text(system, "hypervisor/compatible")) {
    if (*compatible == "linux,kvm") return "KVM";
    if (compatible->find("xen") != std::string::npos) return "Xen";
    if (compatible->find("vmware") != std::string::npos) return "VMware";
    return compatible;
  }
  for (const std::string& name : system.names(device_tree))
    if (name.starts_with("fw-cfg")) return "QEMU";
  return std::nullopt;
}

// The signs that systemd looks for (src/basic/virt.c, detect_container) and that need no privilege.
std::optional<std::string> container(const tree& system) {
  if (system.exists("run/.containerenv")) return "podman";
  if (system.exists(".dockerenv")) return "docker";
  if (auto manager = system.text("run/systemd/container"); manager && !manager->empty()) return manager;
  const std::string lines = system.text("proc/1/cgroup").value_or("");
  for (const char* kind : {"kubepods", "docker", "lxc", "libpod"})
    if (lines.find(kind) != std::string::npos) return kind;
  return std::nullopt;
}

}  // namespace

virtual_facts find_virtualization(const tree& system) {
  virtual_facts facts;
  // /sys/hypervisor/type (Documentation/ABI/stable/sysfs-hypervisor-xen) also where there is no cpuid: Xen on Arm.
  facts.hypervisor_name = system.text("sys/hypervisor/type");
  if (!facts.hypervisor_name) facts.hypervisor_name = hypervisor_in_device_tree(system);
  if (facts.hypervisor_name) facts.hypervisor = true;
  facts.product = product(system);
  facts.container = container(system);
  if (const auto time = parse_processor_time(system.text("proc/stat").value_or("")))
    facts.steal_percent = time->steal_percent();
  return facts;
}

// proc(5): user nice system idle iowait irq softirq steal guest guest_nice. Guests' time is counted in user and nice
// already.
std::optional<processor_time> parse_processor_time(std::string_view stat) {
  const auto line = value_of(stat, "cpu");
  if (!line) return std::nullopt;
  const auto fields = words(*line);
  constexpr std::size_t idle = 3, waiting_for_devices = 4, steal = 7;
  if (fields.size() <= steal) return std::nullopt;
  processor_time time;
  for (std::size_t each = 0; each <= steal; ++each) {
    const auto ticks = to_number(fields[each]);
    if (!ticks) return std::nullopt;
    time.total += *ticks;
    if (each == idle || each == waiting_for_devices) time.idle += *ticks;
    if (each == steal) time.steal = *ticks;
  }
  return time;
}

}  // namespace qd1::linux_system
