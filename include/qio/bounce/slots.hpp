// SPDX-License-Identifier: BSL-1.0
// What transfers through a pool have in common: the slots of the pool, and which parts of a batch one transfer serves.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/batch.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/statistics.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- The slots of a bounce_pool, and the operations that use them ---

class bounce_work;

/// The transfer in flight between a file and a slot.
struct bounce_transfer : request {
  struct bounce_slot* slot;
};

/// Memory for one transfer at a time.
struct bounce_slot {
  std::byte* memory = nullptr;
  bounce_work* user = nullptr;  // null while it is free
  std::optional<bounce_transfer> transfer = {};
  std::uint64_t start = 0;      // of the transfer, in the file
  std::size_t bytes = 0;        // of the transfer
  batch_part* first = nullptr;  // the first request that is served
  batch_part* end = nullptr;    // the part behind the last one
  bool is_whole = false;        // one transfer serves all the requests
  bounce_slot* next = nullptr;  // in the list of free slots
};

/// An operation that uses slots. Its own request never goes to an engine; it is in a queue while it waits for a slot.
class bounce_work : public batch {
 public:
  /// There is a free slot: takes one, unless nothing needs it any more.
  void (*advance)(bounce_work&) noexcept = nullptr;
  bool is_waiting = false;
};

/// The slots of a pool, at an address that does not change. For one thread.
class bounce_slots {
 public:
  /// `memory` has room for `count` slots of `slot_bytes` each.
  bounce_slots(std::optional<aligned_buffer>&& own, std::span<std::byte> memory, std::size_t slot_bytes,
               std::size_t count)
      : own_(std::move(own)), slots_(new bounce_slot[count]), count_(count), slot_bytes_(slot_bytes) {
    for (std::size_t index = count; index != 0; --index) {
      slots_[index - 1].memory = memory.data() + (index - 1) * slot_bytes;
      put_back(slots_[index - 1]);
    }
  }
  bounce_slots(const bounce_slots&) = delete;
  bounce_slots& operator=(const bounce_slots&) = delete;
  ~bounce_slots() { QIO_CHECK(in_use_ == 0, "a bounce_pool was destroyed while operations used it"); }

  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  std::size_t count() const noexcept { return count_; }
  std::size_t in_use() const noexcept { return in_use_; }

  /// A free slot for `user`; null if there is none.
  bounce_slot* take(bounce_work* user) noexcept {
    bounce_slot* const taken = free_;
    if (taken == nullptr) return nullptr;
    free_ = taken->next;
    taken->user = user;
    ++in_use_;
    return taken;
  }
  /// It has no transfer in flight. Whoever waits gets it from serve().
  void release(bounce_slot& slot) noexcept {
    slot.transfer.reset();
    slot.user = nullptr;
    --in_use_;
    put_back(slot);
  }

  /// `work` gets a slot after all that wait already.
  void wait(bounce_work& work) noexcept {
    work.is_waiting = true;
    waiting_.push(work);
    ++statistics.waits;
  }
  void stop_waiting(bounce_work& work) noexcept {
    if (!std::exchange(work.is_waiting, false)) return;
    waiting_.remove(work);
  }

  bool has_waiting() const noexcept { return !waiting_.empty(); }

  /// Lets those that wait take the free slots, one each.
  void serve() noexcept {
    if (std::exchange(is_serving_, true)) return;
    while (free_ != nullptr && !waiting_.empty()) {
      auto& work = static_cast<bounce_work&>(*waiting_.pop());
      work.is_waiting = false;
      work.advance(work);
    }
    is_serving_ = false;
  }

  template <class Action>
  void for_each_of(const bounce_work& user, Action&& action) noexcept {
    for (std::size_t index = 0; index < count_; ++index)
      if (slots_[index].user == &user) action(slots_[index]);
  }

  /// All operations that use a pool belong to one loop, because another thread would not be safe.
  void require_same_loop(const void* loop) noexcept {
    QIO_CHECK(in_use_ == 0 || loop_ == loop, "a bounce_pool was used by the files of two contexts at the same time");
    loop_ = loop;
  }

  bounce_statistics statistics;

 private:
  void put_back(bounce_slot& slot) noexcept {
    slot.next = free_;
    free_ = &slot;
  }

  std::optional<aligned_buffer> own_;
  std::unique_ptr<bounce_slot[]> slots_;
  std::size_t count_;
  std::size_t slot_bytes_;
  bounce_slot* free_ = nullptr;
  std::size_t in_use_ = 0;
  queue<request> waiting_;
  const void* loop_ = nullptr;
  bool is_serving_ = false;
};

/// A slot for a blocking transfer.
class borrowed_slot {
 public:
  explicit borrowed_slot(bounce_slots& pool) noexcept : pool_(pool), slot_(pool.take(nullptr)) {}
  borrowed_slot(const borrowed_slot&) = delete;
  borrowed_slot& operator=(const borrowed_slot&) = delete;
  ~borrowed_slot() {
    if (slot_ != nullptr) pool_.release(*slot_);
  }

  bool exists() const noexcept { return slot_ != nullptr; }
  std::span<std::byte> memory(std::size_t bytes) const noexcept { return {slot_->memory, bytes}; }

 private:
  bounce_slots& pool_;
  bounce_slot* slot_;
};

// --- Which reads of a batch one transfer serves ---

inline bool is_misaligned(const error& failure) noexcept {
  return failure == errc::misaligned_offset || failure == errc::misaligned_length || failure == errc::misaligned_buffer;
}

/// A file's blocks and the slots of a pool, in bytes.
struct bounce_sizes {
  std::uint64_t block = 1;   ///< what transfers are widened to multiples of; a power of two
  std::uint64_t usable = 0;  ///< of a slot: a multiple of the block; 0 if no block fits
  std::uint64_t gap = 0;     ///< between reads that are merged

  bounce_sizes() noexcept = default;
  bounce_sizes(std::uint32_t block_of_file, std::size_t slot_bytes, std::uint64_t most_between = 0) noexcept
      : block(block_of_file), usable(slot_bytes & ~(block - 1)), gap(most_between) {}

  std::uint64_t down(std::uint64_t offset) const noexcept { return offset & ~(block - 1); }
  std::uint64_t up(std::uint64_t offset) const noexcept { return down(offset + (block - 1)); }
};

inline error no_room() noexcept { return std::make_error_code(std::errc::no_buffer_space); }

inline std::uint64_t end_of(const transfer& io) noexcept { return io.offset() + io.total(); }

/// Reads that one transfer serves: those from `first` to before `end` that `may_join`.
struct bounce_group {
  std::uint64_t start;  ///< widened to blocks
  std::uint64_t bytes;
  std::size_t count;
  batch_part* end;
};

/// The longest group that begins with `first` and fits into a slot. A single read may be longer than a slot. Parts are
/// in the order of their offsets.
template <class MayJoin>
bounce_group group_from(const batch_part& first, const bounce_sizes& sizes, MayJoin&& may_join) noexcept {
  const std::uint64_t start = sizes.down(first.io.offset());
  std::uint64_t end = sizes.up(end_of(first.io));
  std::size_t count = 1;
  batch_part* behind = first.following;
  for (batch_part* each = behind; each != nullptr; each = each->following) {
    const std::uint64_t begins = sizes.down(each->io.offset());
    if (begins > end && begins - end > sizes.gap) break;
    if (!may_join(*each)) continue;
    const std::uint64_t joined = greater_of(end, sizes.up(end_of(each->io)));
    if (joined - start > sizes.usable) break;
    end = joined;
    behind = each->following;
    ++count;
  }
  return {start, end - start, count, behind};
}

/// Copies what `io` still lacks from a transfer that has read `bytes` bytes from `start` on into `memory`. Returns how
/// much that was.
inline std::size_t copy_out(transfer& io, const std::byte* memory, std::uint64_t start, std::size_t bytes) noexcept {
  const std::uint64_t from = io.next_offset(), end = start + bytes;
  if (io.transferred() == io.total() || from < start || from >= end) return 0;
  const mutable_buffer into = io.rest_of_buffer();
  const auto count = static_cast<std::size_t>(lesser_of<std::uint64_t>(end - from, into.size));
  std::memcpy(into.data, memory + (from - start), count);
  error none;
  static_cast<void>(io.after_read(static_cast<raw_result>(count), 1, none));
  return count;
}

}  // namespace detail
QIO_END_NAMESPACE
