// SPDX-License-Identifier: BSL-1.0
// Files that a ring holds by itself, instead of looking each up in the process's table for each transfer.
#pragma once

#include <qio/detail/linux/ring.hpp>
#include <qio/detail/platform.hpp>
#include <qio/engine/request.hpp>
#include <qio/explanation.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

// What liburing 2.3 does not name. Linux 6.14.
#ifndef IORING_FEAT_RW_ATTR
#define IORING_FEAT_RW_ATTR (1U << 16)
#endif

namespace qio::detail {

/// A table in the ring (io_uring_register(2)). Whether it is worth two system calls to have a file there is for it to
/// show: it gets a slot when it has been busy, and keeps it until it is closed. Where all slots are taken, or there are
/// none, files are looked up as ever.
class registered_files {
 public:
  /// Before the ring is used.
  void set_up(ring& of) {
    // Before Linux 6.13 the kernel lets go of a file some time after it was told to: when other files' operations are
    // over, or after a second. Then closing would not close. (6.14 is the first that can be told by its features.)
    if (!of.offers(IORING_FEAT_RW_ATTR)) {
      refusal_ = "this kernel may keep them open after they are closed; Linux 6.14 does not";
      return;
    }
    io_uring_rsrc_register table{};
    table.nr = slots;
    table.flags = IORING_RSRC_REGISTER_SPARSE;
    const int told = of.configure(IORING_REGISTER_FILES2, &table, sizeof table);
    if (told < 0) {
      // The limit is not on what is open, but on the size of such a table.
      refusal_ = told == -EMFILE ? "its slots are more than the files that may be open (RLIMIT_NOFILE)"
                                 : platform::system_error(-told).message();
      return;
    }
    free_.reserve(slots);
    for (int slot = 0; slot < slots; ++slot) free_.push_back(slot);
  }

  static bool has(const file_activity& file) noexcept { return file.system.slot >= 0; }

  /// Has an entry for `of` name its file: by the slot, if it has one, which it may get now.
  void name(io_uring_sqe& entry, ring& of, file_activity& file, platform::native_handle handle) noexcept {
    entry.fd = handle;
    if (!has(file) && ++file.system.slot == 0) [[unlikely]]
      add(of, file, handle);
    if (!has(file)) return;
    entry.fd = file.system.slot;
    entry.flags = IOSQE_FIXED_FILE;
  }

  /// Takes back the slot of a file that has one, so that nothing but its own descriptor keeps the file open.
  [[gnu::cold, gnu::noinline]] void remove(ring& from, file_activity& file) noexcept {
    put(from, file.system.slot, -1);
    free_.push_back(file.system.slot);
    file.system.slot = platform::activity_state::no_slot;
  }

  /// The same of all files, at the end of the ring, which would otherwise keep them open until it is gone: the kernel
  /// takes a ring apart after it was closed.
  static void remove_all(ring& from) noexcept { from.configure(IORING_UNREGISTER_FILES, nullptr, 0); }

  void explain(explanation& out) const {
    out.add("registered files", refusal_.empty() ? "up to " + std::to_string(slots) : "off", refusal_);
  }

 private:
  static constexpr int slots = 256;

  // Of a file that has shown to be busy: gives it a slot, if there is one.
  [[gnu::cold, gnu::noinline]] void add(ring& to, file_activity& file, platform::native_handle handle) noexcept {
    file.system.slot = platform::activity_state::no_slot;
    if (free_.empty() || !put(to, free_.back(), handle)) return;
    file.system.slot = free_.back();
    free_.pop_back();
  }

  static bool put(ring& into, int slot, int handle) noexcept {
    io_uring_files_update change{};
    change.offset = static_cast<std::uint32_t>(slot);
    change.fds = reinterpret_cast<std::uintptr_t>(&handle);
    return into.configure(IORING_REGISTER_FILES_UPDATE, &change, 1) == 1;
  }

  std::vector<int> free_;  // slots; never more than it has room for
  std::string refusal_;
};

}  // namespace qio::detail
