// SPDX-License-Identifier: BSL-1.0
// What an x86 processor reports about itself, on any system.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace qd1 {

struct cpuid_facts {
  std::optional<std::string> model;  ///< "AMD EPYC 7763 64-Core Processor"
  std::optional<bool> invariant_tsc;
  std::optional<bool> hypervisor;
  std::optional<std::string> hypervisor_name;
  std::optional<bool> root_partition;  ///< of Hyper-V: this system has started it, and is not one of its guests
};

/// All absent on another architecture.
cpuid_facts ask_cpuid();

/// "KVM" for "KVMKVMKVM", the signature of cpuid leaf 0x40000000; the signature itself if it is not a known one.
std::string hypervisor_name(std::string_view signature);

}  // namespace qd1
