// SPDX-License-Identifier: BSL-1.0
// Documentation/ABI/testing/sysfs-block-loop
#include "platform/loop.hpp"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace qd1::platform {
namespace {

std::string line_of(const std::string& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// The name may be another file's here, or nobody's. The device knows the file itself; only root may ask.
bool is_another(const std::string& device, const struct stat& named) {
  const int handle = ::open(("/dev/" + device).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct loop_info64 facts {};
  const bool known = handle >= 0 && ::ioctl(handle, LOOP_GET_STATUS64, &facts) == 0;
  if (handle >= 0) ::close(handle);
  return known && facts.lo_inode != named.st_ino;
}

}  // namespace

loop_file file_behind(const std::string& device) {
  const std::string facts = "/sys/block/" + device + "/loop/";
  loop_file found;
  found.is_direct = line_of(facts + "dio") == "1";
  const std::string offset = line_of(facts + "offset");
  found.offset = offset.empty() ? 0 : std::stoull(offset);
  const std::string name = line_of(facts + "backing_file");
  struct stat named;
  if (::stat(name.c_str(), &named) != 0 || is_another(device, named)) return found;
  found.path = name;
  found.is_device = S_ISBLK(named.st_mode);
  return found;
}

// loop(4). The device is free again when the last who has it open closes it (LO_FLAGS_AUTOCLEAR).
buffered_loop::buffered_loop(const std::string& path) {
  const auto fail = [this](const std::string& what) {
    why_not_ = what + ": " + std::error_code(errno, std::system_category()).message();
  };
  const int control = ::open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) {
    fail("/dev/loop-control");
    return;
  }
  const int number = ::ioctl(control, LOOP_CTL_GET_FREE);
  ::close(control);
  if (number < 0) {
    fail("no loop device is free");
    return;
  }
  path_ = "/dev/loop" + std::to_string(number);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  handle_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct loop_info64 facts {};
  facts.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
  if (file < 0 || handle_ < 0 || ::ioctl(handle_, LOOP_SET_FD, file) != 0 ||
      ::ioctl(handle_, LOOP_SET_STATUS64, &facts) != 0)
    fail(path_);
  if (file >= 0) ::close(file);
}

buffered_loop::~buffered_loop() {
  if (handle_ < 0) return;
  if (why_not_.empty()) ::ioctl(handle_, LOOP_CLR_FD);
  ::close(handle_);
}

}  // namespace qd1::platform
