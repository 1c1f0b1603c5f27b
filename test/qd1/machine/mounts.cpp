// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <qd1/machine/linux/limits.hpp>
#include <qd1/machine/linux/mounts.hpp>

using namespace qd1::linux_system;

namespace {

const char* const mountinfo =
    "36 35 98:0 /mnt1 / rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n"
    "37 36 0:40 / /mnt/with\\040space rw - tmpfs tmpfs rw,size=4k\n"
    "38 36 8:1 / /mnt rw - xfs /dev/sda1 rw,logbufs=8\n"
    "39 38 8:2 / /mnt rw - ext4 /dev/sda2 rw\n"
    "not a mount\n";

}  // namespace

TEST_CASE("mounts are read, optional fields and escapes among them") {
  const auto mounts = parse_mounts(mountinfo);
  REQUIRE(mounts.size() == 4);
  CHECK(mounts[0].device == "98:0");
  CHECK(mounts[0].root == "/mnt1");
  CHECK(mounts[0].type == "ext3");
  CHECK(mounts[0].source == "/dev/root");
  CHECK(mounts[0].options == std::vector<std::string>{"rw", "noatime", "errors=continue"});
  CHECK(mounts[1].point == "/mnt/with space");
  CHECK(mounts[2].option("logbufs") == "8");
  CHECK_FALSE(mounts[2].option("log"));
}

TEST_CASE("a path lies on the nearest mount, and on the last of several there") {
  const auto mounts = parse_mounts(mountinfo);
  CHECK(mount_of(mounts, "/mnt/file")->id == 39);
  CHECK(mount_of(mounts, "/mntx")->id == 36);
  CHECK(mount_of(mounts, "/")->id == 36);
  CHECK(mount_of(mounts, "/mnt/with space/a")->id == 37);
  CHECK(mount_of({}, "/mnt") == nullptr);
  CHECK(mount_by_id(mounts, 38)->type == "xfs");
  CHECK(mount_by_id(mounts, 1) == nullptr);
}

TEST_CASE("a control group is found for each version") {
  const char* const groups = "12:cpu,cpuacct:/user.slice\n4:memory:/a:b\n0::/system.slice/x.service\n";
  CHECK(parse_group(groups, "memory") == "/a:b");
  CHECK(parse_group(groups, "cpuacct") == "/user.slice");
  CHECK(parse_group(groups, "") == "/system.slice/x.service");
  CHECK_FALSE(parse_group(groups, "blkio"));
}
