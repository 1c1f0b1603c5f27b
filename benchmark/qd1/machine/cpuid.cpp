// SPDX-License-Identifier: BSL-1.0
// Intel SDM volume 2A and AMD APM volume 3, CPUID: leaf 1 ECX[31], reserved for hypervisors, reports that there is one;
// leaf 0x80000007 EDX[8] that the time stamp counter is invariant; leaves 0x80000002 to 4 hold the processor's name.
// Leaf 0x40000000 holds the hypervisor's signature in EBX, ECX, EDX (Linux, Documentation/virt/kvm/x86/cpuid.rst);
// Hyper-V's leaf 0x40000003 EBX[12] that this partition manages the processors, by which Linux tells the root partition
// (arch/x86/kernel/cpu/mshyperv.c).
#include <qd1/machine/cpuid.hpp>
#include <qd1/platform/cpuid.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace qd1 {
namespace {

using platform::cpuid;

std::string text_in(std::initializer_list<unsigned> registers) {
  std::string text;
  for (const unsigned each : registers) {
    std::array<char, sizeof each> characters;
    std::memcpy(characters.data(), &each, sizeof each);
    text.append(characters.data(), characters.size());
  }
  return text;
}

std::optional<std::string> model() {
  std::string name;
  for (const unsigned leaf : {0x80000002, 0x80000003, 0x80000004}) {
    const auto part = cpuid(leaf);
    if (!part) return std::nullopt;
    name += text_in({part->a, part->b, part->c, part->d});
  }
  name.resize(std::strlen(name.c_str()));  // the rest is zeros
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return std::nullopt;
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

}  // namespace

cpuid_facts ask_cpuid() {
  cpuid_facts facts;
  facts.model = model();
  if (const auto power = cpuid(0x80000007)) facts.invariant_tsc = (power->d & (1U << 8)) != 0;
  if (const auto features = cpuid(1)) facts.hypervisor = (features->c & (1U << 31)) != 0;
  if (facts.hypervisor == true)
    if (const auto signature = cpuid(0x40000000))
      facts.hypervisor_name = hypervisor_name(text_in({signature->b, signature->c, signature->d}));
  if (facts.hypervisor_name == "Hyper-V")
    if (const auto privileges = cpuid(0x40000003)) facts.root_partition = (privileges->b & (1U << 12)) != 0;
  return facts;
}

// The signatures are those that systemd knows (src/basic/virt.c, detect_vm_cpuid).
std::string hypervisor_name(std::string_view signature) {
  struct known {
    std::string_view signature, name;
  };
  static constexpr std::array<known, 10> all = {{{"KVMKVMKVM", "KVM"},
                                                 {"Linux KVM Hv", "KVM"},
                                                 {"Microsoft Hv", "Hyper-V"},
                                                 {"VMwareVMware", "VMware"},
                                                 {"XenVMMXenVMM", "Xen"},
                                                 {"TCGTCGTCGTCG", "QEMU without acceleration"},
                                                 {"bhyve bhyve ", "bhyve"},
                                                 {"VBoxVBoxVBox", "VirtualBox"},
                                                 {"ACRNACRNACRN", "ACRN"},
                                                 {" lrpepyh  vr", "Parallels"}}};
  for (const known& each : all)
    if (signature.starts_with(each.signature)) return std::string(each.name);
  std::string printable(signature);
  std::erase_if(printable, [](char c) { return c < ' ' || c > '~'; });
  return printable;
}

}  // namespace qd1
