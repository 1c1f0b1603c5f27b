// SPDX-License-Identifier: BSL-1.0
// What a ring is set up with: the features that the kernel offers, or why there is no ring; the files and the memory
// that it holds.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/explanation.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/ring.hpp>
#include <qio/system/platform.hpp>

#include <sys/mman.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

// Missing from liburing 2.3. Linux 6.14.
#ifndef IORING_FEAT_RW_ATTR
#define IORING_FEAT_RW_ATTR (1U << 16)
#endif

QIO_BEGIN_NAMESPACE
namespace detail {

// --- features ---

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

// --- files ---

/// A table in the ring (io_uring_register(2)). A slot costs two system calls, so a file gets one only after it has been
/// busy, and keeps it until it is closed. If all slots are taken, or there are none, or the file was opened with
/// open_options::registered = false, it is looked up as usual.
class registered_files {
 public:
  /// Must be called before the ring is used.
  void set_up(ring& of) {
    // Before Linux 6.13, the kernel releases a file some time after the request to do so: when operations of other
    // files are complete, or after a second. Until then, a closed file would stay open. (6.14 is the first version that
    // its features identify.)
    if (!of.offers(IORING_FEAT_RW_ATTR)) {
      refusal_ = "this kernel may keep them open after they are closed; Linux 6.14 does not";
      return;
    }
    io_uring_rsrc_register table{};
    table.nr = slots;
    table.flags = IORING_RSRC_REGISTER_SPARSE;
    const int answer = of.configure(IORING_REGISTER_FILES2, &table, sizeof table);
    if (answer < 0) {
      // The limit applies to the size of the table, not to the number of open files.
      refusal_ = answer == -EMFILE ? "the table has more slots than the process may have open files (RLIMIT_NOFILE)"
                                   : platform::system_error(-answer).message();
      return;
    }
    free_.reserve(slots);
    for (int slot = 0; slot < slots; ++slot) free_.push_back(slot);
  }

  static bool has(const file_activity& file) noexcept { return file.system.slot >= 0; }

  /// Sets the file of an entry for `of`: by its slot, if it has one. The file may get a slot now.
  void name(io_uring_sqe& entry, ring& of, file_activity& file, platform::native_handle handle) noexcept {
    if (file.system.slot < 0 && ++file.system.slot == 0) [[unlikely]]
      add(of, file, handle);
    if (file.system.slot >= 0) {
      entry.fd = file.system.slot;
      entry.flags = IOSQE_FIXED_FILE;
    } else {
      entry.fd = handle;
    }
    if (file.system.waits_in_submission) [[unlikely]]
      entry.flags |= IOSQE_ASYNC;
  }

  /// The flags of entries for a file that has a slot.
  static std::uint8_t flags_of(const file_activity& file) noexcept {
    return static_cast<std::uint8_t>(IOSQE_FIXED_FILE | (file.system.waits_in_submission ? IOSQE_ASYNC : 0u));
  }

  /// Frees the slot of a file that has one, so that only its own descriptor keeps the file open.
  QIO_COLD void remove(ring& from, file_activity& file) noexcept {
    put(from, file.system.slot, -1);
    free_.push_back(file.system.slot);
    file.system.slot = platform::activity_state::no_slot;
  }

  /// Frees all slots, before the ring is closed. Otherwise the files would stay open until the kernel has destroyed the
  /// ring, which happens some time later.
  static void remove_all(ring& from) noexcept { from.configure(IORING_UNREGISTER_FILES, nullptr, 0); }

  void explain(explanation& out) const {
    out.add("registered files", refusal_.empty() ? "up to " + std::to_string(slots) : "off", refusal_);
  }

 private:
  static constexpr int slots = 256;

  // Gives a busy file a slot, if one is free.
  QIO_COLD void add(ring& to, file_activity& file, platform::native_handle handle) noexcept {
    file.system.slot = platform::activity_state::no_slot;
    if (!file.system.may_have_slot || free_.empty() || !put(to, free_.back(), handle)) return;
    file.system.slot = free_.back();
    free_.pop_back();
  }

  static bool put(ring& into, int slot, int handle) noexcept {
    io_uring_files_update change{};
    change.offset = static_cast<std::uint32_t>(slot);
    change.fds = reinterpret_cast<std::uintptr_t>(&handle);
    return into.configure(IORING_REGISTER_FILES_UPDATE, &change, 1) == 1;
  }

  std::vector<int> free_;  // slots; never more than its capacity, so it does not allocate
  std::string refusal_;
};

// --- memory ---

/// The memory is registered in pieces of 1 GiB, the largest size possible (io_uring_register(2)). The entry of a
/// transfer that lies within one piece names that piece.
class registered_memory {
 public:
  registered_memory() noexcept = default;
  registered_memory(const registered_memory&) = delete;
  registered_memory& operator=(const registered_memory&) = delete;
  ~registered_memory() {
    if (exists()) ::madvise(begin(), bytes_, MADV_DOFORK);
  }

  /// Registers `memory` with `to`. Returns 0, or a negated system error.
  static int register_with(ring& to, std::span<std::byte> memory) {
    std::vector<iovec> pieces;
    pieces.reserve(memory.size() / piece_bytes + 1);
    for (std::size_t begin = 0; begin < memory.size(); begin += piece_bytes)
      pieces.push_back({memory.data() + begin, lesser_of(piece_bytes, memory.size() - begin)});
    return to.configure(IORING_REGISTER_BUFFERS, pieces.data(), static_cast<unsigned>(pieces.size()));
  }

  /// Unregisters the memory. Otherwise the kernel would release the pages some time after the ring is closed, and count
  /// them as locked until then. Before Linux 5.13, this does nothing: the kernel would wait for everything in flight,
  /// including the entry that listens for wake(), and so forever.
  static void unregister_from(ring& from) noexcept {
    if (from.offers(IORING_FEAT_RSRC_TAGS)) from.configure(IORING_UNREGISTER_BUFFERS, nullptr, 0);
  }

  /// From now on name() uses this memory: whole pages, registered with every ring concerned. A child process does not
  /// inherit them: pages that two processes share are replaced when one of them writes, and the ring would keep the old
  /// ones (before Linux 5.9), or fork() would copy them all. Returns 0, or a negated system error if the kernel refuses
  /// that; then name() does not use the memory.
  int set(std::span<std::byte> memory) noexcept {
    if (::madvise(memory.data(), memory.size(), MADV_DONTFORK) != 0) return -errno;
    begin_ = reinterpret_cast<std::uintptr_t>(memory.data());
    bytes_ = memory.size();
    return 0;
  }
  bool exists() const noexcept { return bytes_ != 0; }

  /// Makes the entry of a read or a write of one buffer use the piece that contains the buffer, if there is one.
  void name(io_uring_sqe& entry) const noexcept {
    const std::uint64_t first = entry.addr - begin_;  // wraps around if the buffer lies before it
    if (first >= bytes_) [[likely]]
      return;
    const std::uint64_t last = first + entry.len - 1;
    if (last >= bytes_ || first / piece_bytes != last / piece_bytes) return;
    entry.buf_index = static_cast<std::uint16_t>(first / piece_bytes);
    static_assert(IORING_OP_READ - IORING_OP_READ_FIXED == IORING_OP_WRITE - IORING_OP_WRITE_FIXED);
    entry.opcode -= IORING_OP_READ - IORING_OP_READ_FIXED;
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t(1) << 30;

  void* begin() const noexcept { return reinterpret_cast<void*>(begin_); }

  std::uintptr_t begin_ = 0;
  std::size_t bytes_ = 0;
};

/// Why the kernel refused the memory, in terms of what can be changed.
inline std::string why_not_registered(int code) {
  const std::string said = platform::system_error(code).message();
  return code == ENOMEM ? "it exceeds the memory that may be locked (RLIMIT_MEMLOCK) or is available: " + said : said;
}

}  // namespace detail
QIO_END_NAMESPACE
