// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
#include "machines.hpp"

#include <qd1/machine/counters.hpp>
#include <qd1/machine/find.hpp>
#include <qd1/machine/linux/device.hpp>
#include <qd1/machine/linux/limits.hpp>
#include <qd1/machine/linux/machine.hpp>
#include <qd1/machine/linux/virtualization.hpp>

using qd1_test::fake_tree;

TEST_CASE("device counters of new and old kernels") {
  const auto recent = qd1::linux_system::parse_device_counters(
      "  109999    11771  5789082    53843   539405    75449 17065256    60088        3    36172   125404   133772     "
      "  "
      "33 11099448     7536   125343     3936");
  REQUIRE(recent);
  CHECK(recent->reads == 109999);
  CHECK(recent->read_merges == 11771);
  CHECK(recent->read_bytes == 5789082ULL * 512);
  CHECK(recent->writes == 539405);
  CHECK(recent->write_merges == 75449);
  CHECK(recent->write_bytes == 17065256ULL * 512);
  CHECK(recent->in_flight == 3);
  CHECK(recent->discards == 133772);
  CHECK(recent->flushes == 125343);

  const auto old = qd1::linux_system::parse_device_counters("1 2 3 4 5 6 7 8 9 10 11");
  REQUIRE(old);
  CHECK(old->writes == 5);
  CHECK(old->flushes == 0);
  CHECK_FALSE(qd1::linux_system::parse_device_counters("1 2 3"));
  CHECK_FALSE(qd1::linux_system::parse_device_counters("1 2 3 4 5 6 7 8 9 10 x"));
}

TEST_CASE("processor time leaves guests out, which are counted already") {
  const auto time =
      qd1::linux_system::parse_processor_time("cpu  100 0 100 700 50 0 0 50 90 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  REQUIRE(time);
  CHECK(time->total == 1000);
  CHECK(time->steal == 50);
  CHECK(time->steal_percent() == 5.0);
  CHECK_FALSE(qd1::linux_system::parse_processor_time("cpu  1 2 3 4"));
  CHECK_FALSE(qd1::processor_time{}.steal_percent());
}

TEST_CASE("the difference is what happened in between") {
  fake_tree tree;
  make_virtual_machine(tree);
  tree.file("proc/thread-self/schedstat", "900 100 7");
  const qd1::machine_facts machine = tree.find("/");
  const qd1::machine_counters before = qd1::linux_system::count(tree.system(), machine);
  tree.file("sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda/stat",
            "110099 11771 5789882 0 539405 75449 17065256 0 1 0 0 133772 0 0 0 125344 0");
  tree.file("proc/stat", "cpu  110 0 110 770 55 0 0 55 0 0");
  tree.file("proc/thread-self/schedstat", "950 130 8");
  const qd1::machine_counters between = qd1::linux_system::count(tree.system(), machine) - before;
  REQUIRE(between.find("vda") != nullptr);
  CHECK(between.find("vda")->reads == 100);
  CHECK(between.find("vda")->read_bytes == 409600);
  CHECK(between.find("vda")->writes == 0);
  CHECK(between.find("vda")->flushes == 1);
  CHECK(between.find("vda")->in_flight == 1);
  CHECK(between.find("vdb") == nullptr);
  REQUIRE(between.processors);
  CHECK(between.processors->total == 100);
  CHECK(between.processors->steal_percent() == 5.0);
  CHECK(between.processors->idle == 75);
  CHECK(between.waited_ns == 30U);
  CHECK_FALSE(between.throttled);
  CHECK_FALSE(between.frequency_mhz);
}

TEST_CASE("a counter that goes back counts nothing, a device that is gone is left out") {
  qd1::machine_counters before, after;
  before.devices = {{.name = "a", .reads = 10}, {.name = "gone", .reads = 1}};
  after.devices = {{.name = "a", .reads = 3}, {.name = "new", .reads = 5}};
  before.processors = qd1::processor_time{.total = 100, .steal = 5};
  const qd1::machine_counters between = after - before;
  REQUIRE(between.devices.size() == 1);
  CHECK(between.devices[0].reads == 0);
  CHECK_FALSE(between.processors);
}

TEST_CASE("this machine counts") {
  const qd1::machine_facts here = qd1::find_machine(".");
  const qd1::machine_counters now = qd1::count(here);
  CHECK(now.devices.size() == here.devices.size());
  REQUIRE(now.processors);
  CHECK(now.processors->total > 0);
}

TEST_CASE("frequency and heat are counted where the machine tells") {
  fake_tree tree;
  make_nvme_desktop(tree);
  const qd1::machine_facts machine = tree.find("/");
  CHECK(qd1::linux_system::count(tree.system(), machine).frequency_mhz == 800U);
  tree.file("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
  tree.file("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4");
  const qd1::machine_counters before = qd1::linux_system::count(tree.system(), machine);
  CHECK(before.throttled == 7U);
  tree.file("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "4799998");
  tree.file("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "9");
  const qd1::machine_counters between = qd1::linux_system::count(tree.system(), machine) - before;
  CHECK(between.frequency_mhz == 4800U);
  CHECK(between.throttled == 5U);
}

TEST_CASE("how often a group met its limit of memory, in both versions of control groups") {
  fake_tree one;
  one.file("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  one.file("proc/self/cgroup", "4:memory:/app\n");
  CHECK_FALSE(qd1::linux_system::memory_limit_hits(one.system()));
  one.file("sys/fs/cgroup/memory/app/memory.failcnt", "12");
  one.file("sys/fs/cgroup/memory/memory.failcnt", "0");
  CHECK(qd1::linux_system::memory_limit_hits(one.system()) == 12U);

  fake_tree two;
  two.file("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  two.file("proc/self/cgroup", "0::/app\n");
  two.file("sys/fs/cgroup/app/memory.events", "low 0\nhigh 3\nmax 4\noom 0\n");
  CHECK(qd1::linux_system::memory_limit_hits(two.system()) == 7U);
}
