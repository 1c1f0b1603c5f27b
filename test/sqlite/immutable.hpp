// A file that nobody may change, root included.
#pragma once

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace qio_test {

class immutable {
 public:
  explicit immutable(const std::string& path) : handle_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    is_set_ = change(FS_IMMUTABLE_FL);
  }
  immutable(const immutable&) = delete;
  immutable& operator=(const immutable&) = delete;
  ~immutable() {
    if (is_set_) change(0);
    ::close(handle_);
  }

  bool is_set() const { return is_set_; }

 private:
  bool change(int to) const {
    int flags = 0;
    if (::ioctl(handle_, FS_IOC_GETFLAGS, &flags) != 0) return false;
    flags = (flags & ~FS_IMMUTABLE_FL) | to;
    return ::ioctl(handle_, FS_IOC_SETFLAGS, &flags) == 0;
  }

  int handle_;
  bool is_set_ = false;
};

}  // namespace qio_test
