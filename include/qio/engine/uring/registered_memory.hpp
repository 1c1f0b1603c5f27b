// SPDX-License-Identifier: BSL-1.0
// Memory whose pages a ring holds, so that the kernel need not look them up for each transfer.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/system/linux/ring.hpp>
#include <qio/system/platform.hpp>

#include <sys/mman.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qio::inline QIO_CONFIGURATION::detail {

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

}  // namespace qio::inline QIO_CONFIGURATION::detail
