// Marks in the log of device-mapper's log-writes target, which show how far a program had come.
#pragma once

#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

/// Adds marks as `dmsetup message DRIVE 0 mark TEXT` does, without a process for each.
///
/// When several flushes are in flight, the target logs the writes behind all of them where the first to begin ends. The
/// program may have waited for another one, which ended earlier; its mark would then precede writes that are durable.
/// So the drive is suspended while a mark is added, which waits for all transfers. (Seen on Linux 6.12 with all of the
/// host's processors busy: in one of five runs, a state lacked what the next flush in the log had.)
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

    request suspension(drive_, DM_SUSPEND_FLAG | DM_SKIP_LOCKFS_FLAG), resumption(drive_, 0), marking(drive_, 0);
    message.copy(marking.text(), 512);
    perform(DM_DEV_SUSPEND, suspension);
    perform(DM_TARGET_MSG, marking);
    perform(DM_DEV_SUSPEND, resumption);
  }

 private:
  class request {
   public:
    request(const std::string& drive, std::uint32_t flags) {
      dm_ioctl head{};
      head.version[0] = DM_VERSION_MAJOR;
      head.data_size = sizeof memory_;
      head.data_start = sizeof head;
      head.flags = flags;
      drive.copy(head.name, sizeof head.name - 1);
      std::memcpy(memory_.data(), &head, sizeof head);
    }
    char* data() { return memory_.data(); }
    char* text() { return memory_.data() + sizeof(dm_ioctl) + offsetof(dm_target_msg, message); }

   private:
    alignas(dm_ioctl) std::array<char, 1024> memory_{};
  };

  void perform(unsigned long command, request& which) {
    if (::ioctl(control_, command, which.data()) != 0)
      throw std::system_error(errno, std::system_category(), which.text());
  }

  std::string drive_;
  int control_;
};
