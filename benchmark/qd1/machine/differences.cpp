// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <qd1/machine/differences.hpp>
#include <qd1/machine/medium.hpp>
#include <qd1/machine/present.hpp>

#include <algorithm>

namespace qd1 {
namespace {

using all_differences = std::vector<machine_difference>;

std::string text_or_unknown(const std::string* text) { return text == nullptr ? "not known" : *text; }

void compare(const std::string& subject, const section& a, const section& b, all_differences& out) {
  const auto differ = [&](const line& each) {
    const std::string* const in_a = a.find(each.label);
    const std::string* const in_b = b.find(each.label);
    if (in_a != nullptr && in_b != nullptr && *in_a == *in_b) return;
    out.push_back({fmt::format("{}, {}", subject, each.label), text_or_unknown(in_a), text_or_unknown(in_b)});
  };
  for (const line& each : a.lines)
    if (each.nature == nature::setting) differ(each);
  for (const line& each : b.lines)
    if (each.nature == nature::setting && a.find(each.label) == nullptr) differ(each);
}

std::string in_words(medium value) {
  switch (value) {
    case medium::memory: return "memory";
    case medium::device: return "a device";
    case medium::network: return "another machine";
    case medium::unknown: break;
  }
  return "not known";
}

// What makes figures measure different things. Another processor or drive does not: that is what one compares.
void find_forbidding(const machine_facts& a, const machine_facts& b, all_differences& out) {
  const auto emulator = [](const machine_facts& of) { return of.host.virtualization.emulator.value_or("none"); };
  if (emulator(a) != emulator(b)) out.push_back({"Emulator of the system", emulator(a), emulator(b), true});
  const medium in_a = medium_of(a), in_b = medium_of(b);
  if (in_a != in_b && in_a != medium::unknown && in_b != medium::unknown)
    out.push_back({"Where the data lie", in_words(in_a), in_words(in_b), true});
  const auto &direct_a = a.filesystem.direct.possible, &direct_b = b.filesystem.direct.possible;
  if (direct_a && direct_b && *direct_a != *direct_b)
    out.push_back(
        {"Direct I/O", *direct_a ? "possible" : "not possible", *direct_b ? "possible" : "not possible", true});
  if (a.host.limits.io.empty() != b.host.limits.io.empty())
    out.push_back({"I/O limited by a control group", a.host.limits.io.empty() ? "no" : "yes",
                   b.host.limits.io.empty() ? "no" : "yes", true});
}

std::string stack(const machine_facts& machine) {
  std::vector<std::string> kinds;
  kinds.reserve(machine.devices.size());
  for (const device_facts& device : machine.devices) kinds.push_back(device.kind);
  return kinds.empty() ? "not known" : fmt::format("{}", fmt::join(kinds, ", "));
}

}  // namespace

std::string machine_difference::in_words() const { return fmt::format("{}: {} against {}", subject, a, b); }

std::vector<machine_difference> differences(const machine_facts& a, const machine_facts& b) {
  all_differences all;
  find_forbidding(a, b, all);
  if (stack(a) != stack(b)) all.push_back({"Devices under the file", stack(a), stack(b)});

  const std::vector<section> in_a = present(a), in_b = present(b);
  const std::size_t both = std::min(in_a.size(), in_b.size());
  const std::size_t without_devices = in_a.size() - a.devices.size();
  for (std::size_t each = 0; each < both; ++each) {
    const std::string subject =
        each < without_devices ? in_a[each].title : fmt::format("Device {}", each - without_devices + 1);
    compare(subject, in_a[each], in_b[each], all);
  }
  return all;
}

}  // namespace qd1
