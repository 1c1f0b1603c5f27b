// SPDX-License-Identifier: BSL-1.0
// The fields of MIDR_EL1, by name in Linux's arch/arm64/include/asm/cputype.h (6.12).
#include <qd1/machine/linux/arm_models.hpp>
#include <qd1/machine/linux/text.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace qd1::linux_system {
namespace {

struct implementer {
  std::string_view number, name;
};
constexpr std::array<implementer, 14> implementers = {{{"0x41", "Arm"},
                                                       {"0x42", "Broadcom"},
                                                       {"0x43", "Cavium"},
                                                       {"0x46", "Fujitsu"},
                                                       {"0x48", "HiSilicon"},
                                                       {"0x4e", "NVIDIA"},
                                                       {"0x50", "APM"},
                                                       {"0x51", "Qualcomm"},
                                                       {"0x53", "Samsung"},
                                                       {"0x56", "Marvell"},
                                                       {"0x61", "Apple"},
                                                       {"0x6d", "Microsoft"},
                                                       {"0x70", "Phytium"},
                                                       {"0xc0", "Ampere"}}};

struct core {
  std::string_view implementer, part, name;
};
constexpr std::array<core, 29> cores = {
    {{"0x41", "0xd03", "Cortex-A53"},   {"0x41", "0xd04", "Cortex-A35"},   {"0x41", "0xd05", "Cortex-A55"},
     {"0x41", "0xd07", "Cortex-A57"},   {"0x41", "0xd08", "Cortex-A72"},   {"0x41", "0xd09", "Cortex-A73"},
     {"0x41", "0xd0a", "Cortex-A75"},   {"0x41", "0xd0b", "Cortex-A76"},   {"0x41", "0xd0c", "Neoverse-N1"},
     {"0x41", "0xd0d", "Cortex-A77"},   {"0x41", "0xd40", "Neoverse-V1"},  {"0x41", "0xd41", "Cortex-A78"},
     {"0x41", "0xd44", "Cortex-X1"},    {"0x41", "0xd46", "Cortex-A510"},  {"0x41", "0xd47", "Cortex-A710"},
     {"0x41", "0xd48", "Cortex-X2"},    {"0x41", "0xd49", "Neoverse-N2"},  {"0x41", "0xd4b", "Cortex-A78C"},
     {"0x41", "0xd4e", "Cortex-X3"},    {"0x41", "0xd4f", "Neoverse-V2"},  {"0x41", "0xd80", "Cortex-A520"},
     {"0x41", "0xd81", "Cortex-A720"},  {"0x41", "0xd82", "Cortex-X4"},    {"0x41", "0xd84", "Neoverse-V3"},
     {"0x61", "0x022", "M1 Icestorm"},  {"0x61", "0x023", "M1 Firestorm"}, {"0x61", "0x032", "M2 Blizzard"},
     {"0x61", "0x033", "M2 Avalanche"}, {"0xc0", "0xac3", "Ampere-1"}}};

std::string name_of(std::string_view number, std::string_view part) {
  const auto* const maker = std::ranges::find(implementers, number, &implementer::number);
  const std::string by = maker != implementers.end() ? std::string(maker->name) : "implementer " + std::string(number);
  const auto* const known =
      std::ranges::find_if(cores, [&](const core& each) { return each.implementer == number && each.part == part; });
  return known != cores.end() ? by + ' ' + std::string(known->name) : by + ", part " + std::string(part);
}

}  // namespace

std::optional<std::string> arm_models(std::string_view cpuinfo) {
  std::string number;
  std::vector<std::string> found;
  for (const std::string_view line : lines(cpuinfo)) {
    if (const auto value = value_of(line, "CPU implementer")) number = *value;
    if (const auto part = value_of(line, "CPU part"); part && !number.empty())
      if (std::string name = name_of(number, *part); std::ranges::find(found, name) == found.end())
        found.push_back(std::move(name));
  }
  if (found.empty()) return std::nullopt;
  std::string all;
  for (const std::string& each : found) all += (all.empty() ? "" : ", ") + each;
  return all;
}

}  // namespace qd1::linux_system
