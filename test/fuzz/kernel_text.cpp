// The text formats of /proc and /sys.
#include "fuzz.hpp"

#include <qd1/machine/linux/device.hpp>
#include <qd1/machine/linux/limits.hpp>
#include <qd1/machine/linux/mounts.hpp>
#include <qd1/machine/linux/text.hpp>
#include <qd1/machine/linux/virtualization.hpp>

#include <string>

using namespace qd1::linux_system;

namespace {

void try_mounts(const std::string& text) {
  const auto mounts = parse_mounts(text);
  for (const mount& each : mounts) {
    fuzz::require(mount_by_id(mounts, each.id) != nullptr, "a mount is found by its ID");
    if (each.point == "/") fuzz::require(mount_of(mounts, "/etc/fstab") != nullptr, "every path is on some mount");
    static_cast<void>(each.option("size"));
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input from(data, size);
  const std::size_t form = from.below(9);
  const std::string text = from.rest();
  switch (form) {
    case 0: return try_mounts(text), 0;
    case 1: return fuzz::require(to_cpu_list(text).size() <= 1 << 20, "the list has at most 2^20 CPUs"), 0;
    case 2: return static_cast<void>(to_choice(text)), 0;
    case 3: return static_cast<void>(value_of(text, "MemTotal")), 0;
    case 4: return static_cast<void>(parse_processor_time(text)), 0;
    case 5: return static_cast<void>(parse_device_counters(text)), 0;
    case 6: return static_cast<void>(parse_group(text, "memory")), 0;
    case 7: return static_cast<void>(to_decimal(text)), 0;
    default: return static_cast<void>(split(text, ',')), 0;
  }
}
