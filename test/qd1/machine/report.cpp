// SPDX-License-Identifier: BSL-1.0
// What leaves the program: text, JSON, differences.
#include "catch.hpp"
#include "machines.hpp"

#include <nlohmann/json.hpp>
#include <qd1/failure.hpp>
#include <qd1/machine/describe.hpp>
#include <qd1/machine/differences.hpp>
#include <qd1/machine/fields.hpp>
#include <qd1/machine/find.hpp>
#include <qd1/machine/json.hpp>

#include <algorithm>
#include <sstream>
#include <tuple>

using nlohmann::json;
using qd1::differences;
using qd1::machine_difference;
using qd1::machine_facts;
using qd1_test::fake_tree;

namespace {

std::vector<machine_facts> all_machines() {
  std::vector<machine_facts> found;
  for (void (*make)(fake_tree&) :
       {qd1_test::make_nvme_desktop, qd1_test::make_encrypted_laptop, qd1_test::make_mirrored_server,
        qd1_test::make_virtual_machine, qd1_test::make_loop, qd1_test::make_container, qd1_test::make_btrfs_pair,
        qd1_test::make_multipath_drive}) {
    fake_tree tree;
    make(tree);
    for (const char* path : {"/", "/srv", "/mnt", "/home/alice/My Server/file", "/data"})
      found.push_back(tree.find(path));
  }
  found.push_back(qd1::find_machine("."));
  return found;
}

// Every byte of the struct belongs to a listed member, or pads to the next.
template <class Struct>
bool lists_all_members() {
  const Struct object{};
  const auto* const start = reinterpret_cast<const char*>(&object);
  std::size_t end = 0;
  bool whole = true;
  const auto follows = [&]<class Type>(Type Struct::*pointer) {
    const auto at = static_cast<std::size_t>(reinterpret_cast<const char*>(&(object.*pointer)) - start);
    whole = whole && at == (end + alignof(Type) - 1) / alignof(Type) * alignof(Type);
    end = at + sizeof(Type);
  };
  std::apply([&](const auto&... each) { (follows(each.pointer), ...); }, qd1::fields<Struct>::list);
  return whole && sizeof(Struct) == (end + alignof(Struct) - 1) / alignof(Struct) * alignof(Struct);
}

const machine_difference* find(const std::vector<machine_difference>& all, const std::string& subject) {
  const auto found = std::ranges::find(all, subject, &machine_difference::subject);
  return found == all.end() ? nullptr : &*found;
}

std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

TEST_CASE("JSON has every member") {
  CHECK(lists_all_members<qd1::idle_state>());
  CHECK(lists_all_members<qd1::cpu_facts>());
  CHECK(lists_all_members<qd1::clock_facts>());
  CHECK(lists_all_members<qd1::virtual_facts>());
  CHECK(lists_all_members<qd1::memory_facts>());
  CHECK(lists_all_members<qd1::limit_facts>());
  CHECK(lists_all_members<qd1::host_facts>());
  CHECK(lists_all_members<qd1::direct_facts>());
  CHECK(lists_all_members<qd1::filesystem_facts>());
  CHECK(lists_all_members<qd1::pcie_facts>());
  CHECK(lists_all_members<qd1::device_facts>());
  CHECK(lists_all_members<qd1::machine_facts>());
  CHECK(lists_all_members<qd1::device_counters>());
  CHECK(lists_all_members<qd1::processor_time>());
  CHECK(lists_all_members<qd1::machine_counters>());
}

TEST_CASE("JSON goes there and back") {
  for (const machine_facts& machine : all_machines()) {
    const json written = machine;
    const auto read = json::parse(written.dump()).get<machine_facts>();
    CHECK(json(read) == written);
    CHECK(describe(read) == describe(machine));
    CHECK(differences(machine, read).empty());
  }
  const qd1::machine_counters counters = qd1::count(qd1::find_machine("."));
  CHECK(json(json(counters).get<qd1::machine_counters>()) == json(counters));
}

TEST_CASE("an absent fact has no key, and unknown keys are refused") {
  CHECK_FALSE(json(machine_facts{})["host"]["cpu"].contains("model"));
  const auto machine = json::parse(R"({"host": {"kernel": "Linux 9"}})").get<machine_facts>();
  CHECK(machine.host.kernel == "Linux 9");
  CHECK_FALSE(machine.host.system);
  CHECK_THROWS_AS(json::parse(R"({"host": {"kernel": 6}})").get<machine_facts>(), json::exception);
  CHECK_THROWS_AS(json::parse(R"({"host": {"kernel": "Linux 9", "later": 1}})").get<machine_facts>(), qd1::usage_error);
}

TEST_CASE("nothing that is published names anybody") {
  for (const machine_facts& machine : all_machines()) {
    const std::string published = describe(machine) + json(machine).dump();
    for (const char* secret :
         {"secret", "SECRET", "alice", "10.1.2", "S5GXNX0R123456", "eui.", "8a3f7c1e", "0123456789abcdef", "/0123/"})
      CHECK(published.find(secret) == std::string::npos);
  }
}

TEST_CASE("the description is readable in 96 columns") {
  for (const machine_facts& machine : all_machines()) {
    std::istringstream lines(describe(machine));
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      const bool is_command = line.find("$ ") != std::string::npos;  // those are copied, not wrapped
      CHECK((is_command || columns(line) <= 96));
      CHECK_FALSE(line.ends_with(' '));
    }
  }
}

TEST_CASE("the description groups what is known, then advises") {
  fake_tree tree;
  make_nvme_desktop(tree);
  const std::string text = describe(tree.find("/"));
  for (const char* part :
       {"System\n  system            Fedora Linux 40 (Workstation Edition)\n", "\nProcessor\n", "\nMemory\n",
        "\nFile system\n", "  governor          powersave, by intel_pstate, prefers balance_performance\n",
        "\nDevice nvme0n1p2: partition over nvme0n1\n", "\nDevice nvme0n1: disk\n", "  link now          16 GT/s x4\n",
        "  warning  the governor of CPU 0 is powersave\n", "           $ cpupower frequency-set -g performance\n"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(text.find("What spoils") > text.find("Device nvme0n1:"));
}

TEST_CASE("two machines differ in words") {
  fake_tree tree;
  make_nvme_desktop(tree);
  const machine_facts a = tree.find("/");
  machine_facts b = a;
  CHECK(differences(a, b).empty());

  b.host.memory.available_bytes = 1;
  b.devices[1].temperature_c = 80;
  CHECK(differences(a, b).empty());

  b.host.cpu.governor = "performance";
  b.devices[1].scheduler = "mq-deadline";
  b.devices[1].firmware.reset();
  b.devices[1].model.reset();
  const auto found = differences(a, b);
  CHECK(found.size() == 3);
  REQUIRE(find(found, "Processor, governor") != nullptr);
  CHECK(find(found, "Processor, governor")->in_words() ==
        "Processor, governor: powersave, by intel_pstate, prefers balance_performance against performance, by "
        "intel_pstate, prefers "
        "balance_performance");
  CHECK(find(found, "Device 2, model")->b == "not known");
  CHECK(std::ranges::none_of(found, &machine_difference::forbids));
  CHECK(find(differences(b, a), "Device 2, model")->a == "not known");
}

TEST_CASE("whether a drive saves power is described, and differs between machines") {
  fake_tree tree;
  make_nvme_desktop(tree);
  const machine_facts a = tree.find("/");
  CHECK(describe(a).find("  power saving      on, wakes up within 100000 µs\n") != std::string::npos);
  CHECK(json(a).at("devices").at(1).at("wake_up_limit") == "100000");
  machine_facts b = a;
  b.devices[1].wake_up_limit = "0";
  const auto found = differences(a, b);
  REQUIRE(found.size() == 1);
  CHECK(found[0].in_words() == "Device 2, power saving: on, wakes up within 100000 µs against off");
  b.devices[1].wake_up_limit = "any";
  CHECK(describe(b).find("on, wakes up within any time") != std::string::npos);
  b.devices[1].wake_up_limit.reset();
  CHECK(differences(a, b)[0].b == "not known");
}

TEST_CASE("some differences forbid a comparison") {
  fake_tree tree;
  make_nvme_desktop(tree);
  machine_facts drive = tree.find("/");
  const machine_facts memory = tree.find("/dev/shm/x");
  const auto found = differences(drive, memory);
  REQUIRE_FALSE(found.empty());
  CHECK(found.front() == machine_difference{"Where the data lie", "a device", "memory", true});

  machine_facts other = drive;
  drive.filesystem.direct.possible = true;
  other.filesystem.direct.possible = false;
  CHECK(differences(drive, other).front().in_words() == "Direct I/O: possible against not possible");
  CHECK(differences(drive, other).front().forbids);
  other.filesystem.direct.possible.reset();
  CHECK_FALSE(differences(drive, other).front().forbids);

  other = drive;
  other.host.limits.io = {"io.max 8:16 riops=3000"};
  CHECK(differences(drive, other).front().forbids);
}

TEST_CASE("advice is JSON for readers") {
  CHECK(json(qd1::recommendation{qd1::severity::severe, "f", "w", "c"}) ==
        json{{"severity", "severe"}, {"finding", "f"}, {"why", "w"}, {"command", "c"}});
  CHECK_FALSE(json(qd1::recommendation{}).contains("command"));
}
