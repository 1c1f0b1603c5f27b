// SPDX-License-Identifier: BSL-1.0
// Memory whose pages a ring holds for good, instead of looking them up for each transfer.
#pragma once

#include <qio/detail/bounds.hpp>
#include <qio/detail/linux/ring.hpp>
#include <qio/detail/platform.hpp>

#include <sys/mman.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qio::detail {

/// Known to the kernel as pieces of 1 GiB, the most that one may have (io_uring_register(2)). A transfer that lies in
/// one of them names it.
class registered_memory {
 public:
  registered_memory() noexcept = default;
  registered_memory(const registered_memory&) = delete;
  registered_memory& operator=(const registered_memory&) = delete;
  ~registered_memory() {
    if (exists()) ::madvise(begin(), bytes_, MADV_DOFORK);
  }

  /// Tells `to`. 0, or a negated system error.
  static int tell(ring& to, std::span<std::byte> memory) {
    std::vector<iovec> pieces;
    pieces.reserve(memory.size() / piece_bytes + 1);
    for (std::size_t begin = 0; begin < memory.size(); begin += piece_bytes)
      pieces.push_back({memory.data() + begin, lesser_of(piece_bytes, memory.size() - begin)});
    return to.configure(IORING_REGISTER_BUFFERS, pieces.data(), static_cast<unsigned>(pieces.size()));
  }

  /// Takes back what tell() has told. The kernel would let go of the pages some time after the ring is closed, and
  /// count them until then. Before Linux 5.13 it would wait for all that is in flight, what listens for wake() too, and
  /// so for ever.
  static void tell_no_more(ring& from) noexcept {
    if (from.offers(IORING_FEAT_RSRC_TAGS)) from.configure(IORING_UNREGISTER_BUFFERS, nullptr, 0);
  }

  /// From now on name() knows it: for memory that every ring concerned was told of. A child process does not inherit
  /// it: pages that two processes have in common are replaced when one of them writes, and the ring would go on with
  /// the old ones (before Linux 5.9), or they would all be copied at the fork.
  void set(std::span<std::byte> memory) noexcept {
    begin_ = reinterpret_cast<std::uintptr_t>(memory.data());
    bytes_ = memory.size();
    ::madvise(begin(), bytes_, MADV_DONTFORK);
  }
  bool exists() const noexcept { return bytes_ != 0; }

  /// Makes a read or a write of one buffer the kind that names it, if the buffer lies in it.
  void name(io_uring_sqe& entry) const noexcept {
    const std::uint64_t first = entry.addr - begin_;  // very large where it lies before
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

/// Why the kernel did not take it, in words that tell what to change.
inline std::string why_not_registered(int code) {
  const std::string said = platform::system_error(code).message();
  return code == ENOMEM ? "more than may be locked (RLIMIT_MEMLOCK), or than there is: " + said : said;
}

}  // namespace qio::detail
