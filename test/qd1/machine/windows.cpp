// SPDX-License-Identifier: BSL-1.0
// What Windows, or Wine in its name, tells of this machine.
#include "catch.hpp"
#include <qio/qio.hpp>

#include <qd1/machine/counters.hpp>
#include <qd1/machine/find.hpp>
#include <qd1/machine/windows/bitlocker.hpp>
#include <qd1/machine/windows/cpu.hpp>
#include <qd1/machine/windows/device.hpp>
#include <qd1/machine/windows/driver.hpp>
#include <qd1/machine/windows/security.hpp>
#include <qd1/machine/windows/text.hpp>
#include <qd1/machine/windows/version.hpp>
#include <winioctl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

using Catch::Matchers::StartsWith;
using namespace qd1::windows_system;

namespace {

bool is_wine() { return ::GetProcAddress(::GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr; }

}  // namespace

TEST_CASE("Windows is called by its version and build") {
  CHECK(name_of({10, 0, 19045, false}) == "Windows 10, build 19045");
  CHECK(name_of({10, 0, 22000, false}) == "Windows 11, build 22000");
  CHECK(name_of({10, 0, 20348, true}) == "Windows Server 10.0, build 20348");
  CHECK(name_of({6, 3, 9600, false}) == "Windows 6.3, build 9600");
}

TEST_CASE("buses have the names that Linux has for them, too") {
  CHECK(name_of_bus(BusTypeNvme) == "nvme");
  CHECK(name_of_bus(BusTypeSata) == "sata");
  CHECK_FALSE(name_of_bus(0));
}

TEST_CASE("a device whose counters are all zero counts nothing") {
  CHECK_FALSE(counters_of("C:", {0, 0, 0, 0, 1}));
  const auto counted = counters_of("C:", {3, 0, 12288, 0, 1});
  REQUIRE(counted);
  CHECK(counted->name == "C:");
  CHECK(counted->reads == 3);
  CHECK(counted->read_bytes == 12288);
  CHECK(counted->in_flight == 1);
}

TEST_CASE("the temperature of a drive is that of its hottest sensor") {
  const auto answer = [](std::uint16_t claimed, std::vector<std::int16_t> sensors) {
    std::vector<std::byte> bytes(24 + 16 * sensors.size());
    std::memcpy(bytes.data() + 12, &claimed, sizeof claimed);
    for (std::size_t i = 0; i < sensors.size(); ++i) std::memcpy(bytes.data() + 24 + 16 * i + 2, &sensors[i], 2);
    return temperature_in(bytes);
  };
  CHECK(answer(2, {41, 57}) == 57);
  CHECK(answer(1, {-5}) == -5);
  CHECK(answer(2, {-32768, 30}) == 30);
  CHECK_FALSE(answer(1, {-32768}));
  CHECK_FALSE(answer(0, {}));
  CHECK(answer(9, {33}) == 33);  // more than there are
  CHECK_FALSE(temperature_in({}));
}

TEST_CASE("a cache that Windows passes no flushes on to is called that") {
  CHECK(name_of_cache(true, true, false, true, false) == "write back");
  CHECK(name_of_cache(true, true, false, true, true) == "write back, and Windows passes no flushes on to it");
  CHECK(name_of_cache(true, true, true, false, true) == "write through");
  CHECK(name_of_cache(false, true, false, true, true) == "none");
  CHECK_FALSE(name_of_cache(false, false, false, true, false));
}

TEST_CASE("power modes have the names of the settings") {
  CHECK(name_of_power_mode({0xded574b5, 0x45a0, 0x4f42, {0x87, 0x37, 0x46, 0x34, 0x5c, 0x09, 0xc2, 0x38}}) ==
        "best performance");
  CHECK(name_of_power_mode({}).empty());  // balanced: no overlay
}

TEST_CASE("Defender is named if its service runs and nothing turns its scans off") {
  CHECK(name_of_scanner(true, 0, 0) == "Microsoft Defender");
  CHECK_FALSE(name_of_scanner(false, 0, 0));
  CHECK_FALSE(name_of_scanner(true, 1, 0));
  CHECK_FALSE(name_of_scanner(true, 0, 1));
}

TEST_CASE("the states of BitLocker have names") {
  CHECK(name_of_protection(1) == "BitLocker");
  CHECK(name_of_protection(2) == "none");
  CHECK(name_of_protection(5) == "BitLocker, suspended");
  CHECK_FALSE(name_of_protection(0));
  CHECK_FALSE(name_of_protection(99));
}

TEST_CASE("what Wine does not have is unknown: BitLocker, Defender, memory integrity, drivers of disks") {
  if (!is_wine()) QIO_SKIP("this is Windows");
  CHECK_FALSE(find_encryption(L"C:\\"));
  CHECK_FALSE(find_encryption(L""));
  CHECK_FALSE(find_virus_scanner());
  CHECK_FALSE(find_memory_integrity());
  CHECK_FALSE(find_driver(4711));
}

TEST_CASE("the names of volumes and disks are not those of files") {
  CHECK_FALSE(locate_device("C:\\data"));
  CHECK_FALSE(locate_device("data"));
  const auto disk = locate_device(R"(\\.\PhysicalDrive12)");
  REQUIRE(disk);
  CHECK(disk->is_device);
  CHECK(disk->disk == 12U);
  CHECK(disk->root.empty());
  const auto volume = locate_device(R"(\\.\d:)");
  REQUIRE(volume);
  CHECK(volume->root == L"d:\\");
  CHECK_FALSE(volume->disk);
  CHECK_FALSE(locate_device(R"(\\.\PhysicalDrive1x)")->disk);
  CHECK_FALSE(locate_device(R"(\\.\PhysicalDrive)")->disk);
  CHECK_FALSE(find_filesystem(*disk).type);
}

TEST_CASE("texts of Windows become UTF-8") {
  CHECK(narrow(L"Höchstleistung") ==
        "H\xc3\xb6"
        "chstleistung");
  CHECK(narrow(L"").empty());
}

TEST_CASE("Wine is not taken for Windows, and no device is named that it makes up") {
  const qd1::machine_facts machine = qd1::find_machine(".");
  CHECK(machine.host.virtualization.emulator.has_value() == is_wine());
  if (!is_wine()) QIO_SKIP("this is Windows");
  CHECK_THAT(*machine.host.virtualization.emulator, StartsWith("Wine ") && !StartsWith("Wine  "));
  CHECK(machine.devices.empty());
}

TEST_CASE("the machine is found") {
  const qd1::machine_facts machine = qd1::find_machine(".");
  const qd1::host_facts& host = machine.host;
  REQUIRE(host.kernel);
  CHECK_THAT(*host.kernel, StartsWith("Windows NT "));
  CHECK(host.cpu.threads.value_or(0) >= host.cpu.cores.value_or(1));
  CHECK(host.cpu.cores.value_or(0) >= 1);
  CHECK(host.cpu.threads_allowed.value_or(0) <= host.cpu.threads.value_or(0));
  CHECK(host.memory.available_bytes.value_or(1) < host.memory.total_bytes.value_or(0));
  CHECK(machine.filesystem.type);
  CHECK(machine.filesystem.free_bytes.value_or(1) < machine.filesystem.size_bytes.value_or(0));
  CHECK(machine.filesystem.block_bytes.value_or(0) % 512 == 0);
}

TEST_CASE("of a path that is yet to be made the directory above it counts") {
  CHECK(qd1::find_machine("not/yet/there").filesystem.type == qd1::find_machine(".").filesystem.type);
  CHECK_FALSE(qd1::find_machine("1:\\nowhere").filesystem.type);
}

TEST_CASE("processor time is counted, but not what other guests took") {
  const qd1::machine_counters counted = qd1::count({});
  REQUIRE(counted.processors);
  CHECK(counted.processors->total >= counted.processors->idle);
  CHECK_FALSE(counted.processors->steal);
  CHECK_FALSE(counted.processors->steal_percent());
}

TEST_CASE("a device that does not exist counts nothing") { CHECK_FALSE(count_operations("PhysicalDrive4711")); }
