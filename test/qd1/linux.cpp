// SPDX-License-Identifier: BSL-1.0
// Files and devices that only Linux has.
#include "program.hpp"

#include <fstream>
#include <string>

namespace {

using Catch::Matchers::Contains;
using namespace qd1_test;
using os::shell;

TEST_CASE("direct in memory is not available, the other modes are") {
  if (!fs::is_directory("/dev/shm")) QIO_SKIP("no /dev/shm");
  const directory here;
  const outcome found = run_qd1(here, "run /dev/shm" + small);
  CHECK(found.status == 0);
  CHECK_THAT(found.out, Contains("direct: not available: ") && Contains("memory"));
  CHECK_THAT(found.out, Contains("p50"));
}

// A file system on a device made of a file. Needs root.
struct mounted_device {
  fs::path base;
  std::string name;

  explicit mounted_device(const directory& in) : base(in.path) {
    const std::string image = (base / "image").string();
    if (!shell("truncate -s 16M " + image + " && mkfs.ext4 -q " + image)) return;
    if (!shell("losetup -f --show --direct-io=on " + image + " | tee " + (base / "name").string() + " | grep ."))
      return;
    std::ifstream(base / "name") >> name;
    fs::create_directory(base / "mount");
    if (!shell("mount " + name + " " + (base / "mount").string())) release();
  }
  mounted_device(const mounted_device&) = delete;
  mounted_device& operator=(const mounted_device&) = delete;
  ~mounted_device() { release(); }

  void release() {
    if (name.empty()) return;
    shell("umount " + (base / "mount").string());
    shell("losetup -d " + name);
    name.clear();
  }
};

TEST_CASE("a mounted device is not written to") {
  const directory here;
  mounted_device device(here);
  if (device.name.empty()) QIO_SKIP("no loop device can be mounted");
  const outcome refused = run_qd1(here, "run " + device.name + " --overwrite" + small);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("not overwritten") && Contains("mounted"));
  const outcome reads = run_qd1(here, "run " + device.name + small);
  CHECK(reads.status == 0);
  CHECK_THAT(reads.out, Contains("reads only"));
}

}  // namespace
