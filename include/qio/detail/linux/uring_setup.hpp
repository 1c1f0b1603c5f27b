// SPDX-License-Identifier: BSL-1.0
// Setting up a ring with the best the kernel offers, and finding out why there can be none.
#pragma once

#include <qio/detail/transfer.hpp>
#include <qio/engine/request.hpp>
#include <qio/result.hpp>

#include <liburing.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace qio::detail {

struct ring_features {
  bool single_issuer = false;  ///< IORING_SETUP_SINGLE_ISSUER, Linux 6.0
  bool defer_taskrun = false;  ///< IORING_SETUP_DEFER_TASKRUN, Linux 6.1
  unsigned opcodes = 0;        ///< a bit for each qio::opcode that the ring can do
  std::string reduced;         ///< why the ring is smaller than was asked for; else empty

  bool has(opcode op) const noexcept { return ((opcodes >> static_cast<unsigned>(op)) & 1) != 0; }
  void add(opcode op) noexcept { opcodes |= 1u << static_cast<unsigned>(op); }
};

/// Each opcode by itself: a kernel, or an administrator's restriction, may lack any.
inline bool find_opcodes(io_uring& ring, ring_features& features) noexcept {
  // 256: as many as the kernel may know, whatever this header does.
  constexpr unsigned count = 256;
  alignas(io_uring_probe) std::array<std::byte, sizeof(io_uring_probe) + count * sizeof(io_uring_probe_op)> memory{};
  auto* const probe = reinterpret_cast<io_uring_probe*>(memory.data());
  if (io_uring_register_probe(&ring, probe, count) < 0) return false;
  const auto has = [&](int code) { return io_uring_opcode_supported(probe, code) != 0; };
  if (has(IORING_OP_READ) && has(IORING_OP_READV)) features.add(opcode::read);
  if (has(IORING_OP_WRITE) && has(IORING_OP_WRITEV)) features.add(opcode::write);
  if (has(IORING_OP_FSYNC)) features.add(opcode::sync);
  return has(IORING_OP_POLL_ADD) && has(IORING_OP_ASYNC_CANCEL);
}

/// `ring` is usable where this succeeds, and needs no clean-up where it does not.
inline result<ring_features> set_up_ring(io_uring& ring, unsigned entries) {
  struct attempt {
    unsigned flags;
    bool single_issuer, defer_taskrun;
  };
  // The best first. R_DISABLED, so that the ring is bound to the thread that uses it, not to the one that makes it.
  constexpr attempt attempts[] = {
      {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED |
           IORING_SETUP_SUBMIT_ALL,
       true, true},
      {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED |
           IORING_SETUP_SUBMIT_ALL,
       true, false},
      {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SUBMIT_ALL, false, false},
      {0, false, false},
  };
  int answer = -ENOSYS;
  ring_features features;
  // No kernel takes more (IORING_MAX_ENTRIES), and four times as many completions would overflow.
  constexpr unsigned most = 32768;
  for (unsigned size = std::clamp(entries, 1u, most); size != 0; size /= 2) {
    for (const attempt& each : attempts) {
      io_uring_params parameters{};
      parameters.flags = each.flags | IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE;
      parameters.cq_entries = 4 * size;
      answer = io_uring_queue_init_params(size, &ring, &parameters);
      if (answer == -EINVAL) continue;  // the kernel does not know one of the flags
      features.single_issuer = each.single_issuer;
      features.defer_taskrun = each.defer_taskrun;
      break;
    }
    if (answer != -ENOMEM) break;
    // Before Linux 5.12 a ring counts against RLIMIT_MEMLOCK: a smaller one may fit.
    features.reduced = "not enough lockable memory for " + std::to_string(entries) + " (RLIMIT_MEMLOCK)";
  }
  if (answer < 0) {
    ring.ring_fd = -1;
    return system_error(-answer);
  }

  // A sandbox may allow the making of a ring and forbid its use. A disabled ring answers EBADFD, a usable one 0.
  const long entered = ::syscall(__NR_io_uring_enter, ring.ring_fd, 0, 0, 0, nullptr, 0);
  const bool usable = entered >= 0 || errno == EBADFD;
  const int refusal = usable ? ENOSYS : errno;
  if (usable && find_opcodes(ring, features)) {
    io_uring_ring_dontfork(&ring);  // a child that wrote to the shared queues would submit for its parent
    return features;
  }
  io_uring_queue_exit(&ring);
  ring.ring_fd = -1;
  return system_error(refusal);
}

/// Binds a disabled ring to the calling thread. By the system call, since liburing 2.3 declares io_uring_enable_rings()
/// and does not export it.
inline void enable_ring(io_uring& ring) noexcept {
  ::syscall(__NR_io_uring_register, ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
}

/// Why there is no ring, in words that tell an administrator what to change.
inline std::string why_no_ring(const error& refusal) {
  const auto first_line_with = [](const char* file, const char* key) {
    std::string value;
    if (std::FILE* const opened = std::fopen(file, "re")) {
      char line[256];
      while (value.empty() && std::fgets(line, sizeof line, opened) != nullptr)
        if (std::strncmp(line, key, std::strlen(key)) == 0) value = line + std::strlen(key);
      std::fclose(opened);
    }
    while (!value.empty() && (value.back() == '\n' || value.back() == ' ')) value.pop_back();
    while (!value.empty() && (value.front() == '\t' || value.front() == ' ')) value.erase(0, 1);
    return value;
  };
  const std::string said = refusal.message();
  const std::string disabled = first_line_with("/proc/sys/kernel/io_uring_disabled", "");
  const bool filtered = first_line_with("/proc/self/status", "Seccomp:") == "2";
  const int code = refusal.code().value();
  if (code == EPERM && (disabled == "1" || disabled == "2"))
    return "sysctl kernel.io_uring_disabled is " + disabled + ": " + said;
  if ((code == EPERM || code == ENOSYS || code == EACCES) && filtered)
    return "a seccomp filter forbids io_uring, as containers' default profiles do: " + said;
  if (code == ENOSYS) return "this kernel has no io_uring, or lacks operations that qio needs (Linux 5.6): " + said;
  if (code == ENOMEM) return "not enough lockable memory for a ring (RLIMIT_MEMLOCK): " + said;
  return "io_uring cannot be set up: " + said;
}

}  // namespace qio::detail
