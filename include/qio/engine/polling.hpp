// SPDX-License-Identifier: BSL-1.0
// Polling: learning that a device has answered by asking it, instead of by its interrupt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace qio {

/// How the transfers of direct files are waited for. An interrupt costs a few microseconds and lets the processor do
/// something else meanwhile; polling saves them, and keeps the context's thread busy while such a transfer is in
/// flight. Worth it for devices that answer in some 10 µs (NVMe), and only those with polled queues can be asked at all
/// (NVMe: module parameter nvme.poll_queues). A file whose device cannot, and every other operation, is waited for as
/// without; file.explain() says so.
///
/// Reads are polled; writes only of block devices themselves. In a file system a direct write is completed by a kernel
/// worker (fs/iomap/direct-io.c; Linux 6.12 does not poll for it at all), which a poller would keep from running.
///
/// A polled transfer cannot be ended early: a deadline or a cancellation takes effect when the device has answered, as
/// does schedule() where nothing else is in flight.
enum class polling : std::uint8_t {
  off,
  busy,    ///< asks without a pause: the shortest latency
  hybrid,  ///< sleeps for half of the usual time, and asks then (Linux 6.13; as `busy` before)
};

/// Bytes of the largest transfer that is polled, and that in one buffer. Linux 6.1 submits a polled transfer again and
/// again, from its beginning, if it needs more of the device's requests than are free (seen there with large reads,
/// which never ended); one so small needs one.
inline constexpr std::size_t most_polled_bytes = 64 * 1024;

/// Which transfers of a file can be polled.
struct polling_support {
  bool reads = false;
  bool writes = false;
  std::string reason;  ///< why not all of them
};

}  // namespace qio
