// Marks in the log of device-mapper's log-writes target, which show how far a program had come.
#pragma once

#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

/// Adds marks as `dmsetup message DRIVE 0 mark TEXT` does, without a process for each.
class marks_in_log {
 public:
  explicit marks_in_log(std::string drive)
      : drive_(std::move(drive)), control_(::open("/dev/mapper/control", O_RDWR | O_CLOEXEC)) {
    if (control_ < 0) throw std::system_error(errno, std::system_category(), "/dev/mapper/control");
  }
  marks_in_log(const marks_in_log&) = delete;
  marks_in_log& operator=(const marks_in_log&) = delete;
  ~marks_in_log() { ::close(control_); }

  /// The mark follows everything that has been flushed.
  void add(const std::string& text) {
    std::string message = "mark ";
    for (const char each : text) message += each == ' ' ? std::string("\\ ") : std::string(1, each);

    alignas(dm_ioctl) std::array<char, 1024> memory{};
    dm_ioctl head{};
    head.version[0] = DM_VERSION_MAJOR;
    head.data_size = memory.size();
    head.data_start = sizeof head;
    drive_.copy(head.name, sizeof head.name - 1);
    std::memcpy(memory.data(), &head, sizeof head);
    message.copy(memory.data() + sizeof head + offsetof(dm_target_msg, message), 512);
    if (::ioctl(control_, DM_TARGET_MSG, memory.data()) != 0)
      throw std::system_error(errno, std::system_category(), message);
  }

 private:
  std::string drive_;
  int control_;
};
