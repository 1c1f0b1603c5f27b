// SPDX-License-Identifier: BSL-1.0
// Sets up the best ring that the kernel offers, and finds out why there is none.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/ring.hpp>
#include <qio/system/platform.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

namespace qio::inline QIO_CONFIGURATION::detail {

/// A feature that makes a ring faster, and that the kernel may lack.
struct ring_feature {
  unsigned flags;
  const char* name;
  const char* since;
};

/// Newest first: a kernel that lacks one lacks those before it.
inline constexpr ring_feature ring_features[] = {
    {IORING_SETUP_NO_SQARRAY, "no submission array", "6.6"},
    {IORING_SETUP_DEFER_TASKRUN, "deferred task run", "6.1"},
    // Disabled at first, so that the ring is bound to the thread that uses it, not to the one that creates it.
    {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED, "single issuer", "6.0"},
    {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, "cooperative task run", "5.19"},
    {IORING_SETUP_SUBMIT_ALL, "submit all", "5.18"},
};

/// What is known about a ring after its setup.
struct ring_setup {
  unsigned opcodes = 0;  ///< a bit for each qio::opcode that the ring carries out
  std::string reduced;   ///< why the ring is smaller than requested; else empty

  bool has(opcode op) const noexcept { return ((opcodes >> static_cast<unsigned>(op)) & 1) != 0; }
  void add(opcode op) noexcept { opcodes |= 1u << static_cast<unsigned>(op); }
};

/// Probes each opcode, because the kernel may lack it or an administrator may forbid it. False if the ring is useless.
inline bool find_opcodes(ring& made, ring_setup& setup) noexcept {
  // As many as a kernel can have, whatever the number in this header.
  constexpr unsigned count = 256;
  alignas(io_uring_probe) std::array<std::byte, sizeof(io_uring_probe) + count * sizeof(io_uring_probe_op)> memory{};
  auto* const probe = reinterpret_cast<io_uring_probe*>(memory.data());
  if (made.configure(IORING_REGISTER_PROBE, probe, count) < 0) return false;
  const auto has = [&](int code) { return (probe->ops[code].flags & IO_URING_OP_SUPPORTED) != 0; };
  if (has(IORING_OP_READ) && has(IORING_OP_READV)) setup.add(opcode::read);
  if (has(IORING_OP_WRITE) && has(IORING_OP_WRITEV)) setup.add(opcode::write);
  if (has(IORING_OP_FSYNC)) setup.add(opcode::sync);
  if (has(IORING_OP_SYNC_FILE_RANGE)) setup.add(opcode::writeback);
  return has(IORING_OP_POLL_ADD) && has(IORING_OP_ASYNC_CANCEL);
}

/// Opens `made` with all the features that the kernel has, and with the flags `demanded`. Returns 0, or a negated
/// system error.
inline int open_ring(ring& made, unsigned entries, unsigned demanded) noexcept {
  io_uring_params parameters{};
  parameters.cq_entries = 4 * entries;
  parameters.flags = IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE | demanded;
  for (const ring_feature& each : ring_features) parameters.flags |= each.flags;
  int answer = made.open(entries, parameters);
  for (const ring_feature& each : ring_features) {
    if (answer != -EINVAL) break;  // the kernel does not know one of the flags
    parameters.flags &= ~each.flags;
    answer = made.open(entries, parameters);
  }
  return answer;
}

/// Sets up `made` with `entries` entries, or with fewer if lockable memory is short. On failure `made` is unchanged.
/// `demanded`: flags of io_uring_setup(2) without which the ring is useless.
inline result<ring_setup> set_up_ring(ring& made, unsigned entries, unsigned demanded = 0) {
  ring_setup setup;
  // The most that a kernel accepts (IORING_MAX_ENTRIES). With more, four times as many completions would overflow.
  constexpr unsigned most = 32768;
  int answer = -ENOMEM;
  for (unsigned size = lesser_of(detail::greater_of(entries, 1u), most); answer == -ENOMEM && size != 0; size /= 2) {
    answer = open_ring(made, size, demanded);
    // Before Linux 5.12, and in 6.18 again, a ring counts against RLIMIT_MEMLOCK: a smaller one may fit.
    if (answer == -ENOMEM)
      setup.reduced = "not enough lockable memory for " + std::to_string(entries) + " (RLIMIT_MEMLOCK)";
  }
  if (answer < 0) return platform::system_error(-answer);

  // A sandbox may permit creating a ring but forbid its use. A disabled ring returns EBADFD, a usable one 0.
  const int entered = made.enter(0);
  const bool usable = entered >= 0 || entered == -EBADFD;
  if (usable && find_opcodes(made, setup)) return setup;
  made.close();
  return platform::system_error(usable ? ENOSYS : -entered);
}

/// Binds a disabled ring to the calling thread.
inline void enable_ring(ring& disabled) noexcept { disabled.configure(IORING_REGISTER_ENABLE_RINGS, nullptr, 0); }

/// Why there is no ring, in terms of what an administrator can change.
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
  return "io_uring could not be set up: " + said;
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
