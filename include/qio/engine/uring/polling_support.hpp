// SPDX-License-Identifier: BSL-1.0
// Whether the device of a direct file can be polled.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/polling.hpp>
#include <qio/mode.hpp>
#include <qio/request/request.hpp>
#include <qio/system/linux/direct.hpp>
#include <qio/system/linux/ring.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Reads from the beginning of the file by polling, with a ring of its own, because this thread may not be the
/// context's. Returns the bytes (0 if the file is empty), or a negated system error.
inline int read_polled(platform::native_handle handle, const alignment& needed) {
  const std::uint32_t bytes = greater_of(needed.read, needed.memory);
  auto memory = aligned_buffer::allocate(bytes, bytes);
  if (!memory) return -ENOMEM;
  ring asking;
  io_uring_params parameters{};
  parameters.flags = IORING_SETUP_IOPOLL;
  if (const int made = asking.open(1, parameters); made < 0) return made;
  io_uring_sqe& entry = *asking.next_entry();
  entry.opcode = IORING_OP_READ;
  entry.fd = handle;
  entry.addr = reinterpret_cast<std::uintptr_t>(memory.value().data());
  entry.len = needed.read;
  int answer = -EINTR;
  for (bool completed = false; !completed;) {
    const int entered = asking.enter(1);
    // Once the kernel has taken the entry, it uses the memory until the read completes.
    if (entered < 0 && entered != -EINTR && asking.pending() != 0) return entered;
    asking.take_completions([&](const io_uring_cqe& completion) {
      answer = completion.res;
      completed = true;
    });
  }
  return answer;
}

/// Two checks. The sysfs attribute of the device, because before Linux 6.12 or so a polled read of a device that cannot
/// be polled succeeds anyway, by an interrupt. And a polled read, because only that involves everything between the
/// file and the device; it is left out for files opened for writing only, where it would fail for another reason.
inline polling_support find_polling_support(platform::native_handle handle, const alignment& needed) {
  struct stat status;
  if (::fstat(handle, &status) != 0) return {false, false, platform::last_error().message()};
  const bool is_device = S_ISBLK(status.st_mode);
  const dev_t device = is_device ? status.st_rdev : status.st_dev;
  const auto polls = platform::queue_attribute(device, "io_poll");
  if (!polls) return {false, false, "the device that holds the file is unknown"};
  if (*polls == 0) return {false, false, "the device has no queue that can be polled (io_poll in sysfs)"};
  if (platform::queue_attribute(device, "max_sectors_kb").value_or(0) < most_polled_bytes / 1024)
    return {false, false, "the device accepts less than " + std::to_string(most_polled_bytes) + " bytes per request"};
  const bool reads = (::fcntl(handle, F_GETFL) & O_ACCMODE) != O_WRONLY;
  if (reads)
    if (const int answer = read_polled(handle, needed); answer < 0)
      return {false, false, "a polled read failed: " + platform::system_error(-answer).message()};
  return {reads, is_device, is_device ? "" : "a kernel worker thread completes writes to a file system"};
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
