// SPDX-License-Identifier: BSL-1.0
// Intel SDM volume 2A and AMD APM volume 3, CPUID: leaf 1 ECX[31], reserved for hypervisors, says that there is one;
// leaf 0x80000007 EDX[8] that the time stamp counter is invariant. Leaf 0x40000000 holds the hypervisor's signature
// in EBX, ECX, EDX (Linux, Documentation/virt/kvm/x86/cpuid.rst).
#include <qd1/machine/cpuid.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace qd1 {

#if defined(__x86_64__) || defined(__i386__)

cpuid_facts ask_cpuid() {
  cpuid_facts facts;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) != 0) facts.invariant_tsc = (d & (1U << 8)) != 0;
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) facts.hypervisor = (c & (1U << 31)) != 0;
  if (facts.hypervisor == true) {
    __cpuid(0x40000000, a, b, c, d);
    std::array<char, 12> signature;
    std::memcpy(signature.data(), &b, 4);
    std::memcpy(signature.data() + 4, &c, 4);
    std::memcpy(signature.data() + 8, &d, 4);
    facts.hypervisor_name = hypervisor_name({signature.data(), signature.size()});
  }
  return facts;
}

#else

cpuid_facts ask_cpuid() { return {}; }

#endif

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
