// SPDX-License-Identifier: BSL-1.0
// Files that a ring holds, so that the kernel need not look up their descriptors for each transfer.
#pragma once

#include <qio/configuration.hpp>
#include <qio/explanation.hpp>
#include <qio/request/request.hpp>
#include <qio/system/linux/ring.hpp>
#include <qio/system/platform.hpp>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

// Missing from liburing 2.3. Linux 6.14.
#ifndef IORING_FEAT_RW_ATTR
#define IORING_FEAT_RW_ATTR (1U << 16)
#endif

namespace qio::inline QIO_CONFIGURATION::detail {

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
    if (!has(file) && ++file.system.slot == 0) [[unlikely]]
      add(of, file, handle);
    if (has(file)) {
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

}  // namespace qio::inline QIO_CONFIGURATION::detail
