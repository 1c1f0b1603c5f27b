// SPDX-License-Identifier: BSL-1.0
// A write through a slot of a pool, as one operation.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/batch.hpp>
#include <qio/bounce/groups.hpp>
#include <qio/bounce/slots.hpp>
#include <qio/bounce/work.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/mode.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>

namespace qio::inline QIO_CONFIGURATION::detail {

/// One slot's worth of an unaligned write: whole blocks, of which the first and the last may hold other bytes as well.
struct bounce_piece {
  bounce_piece() noexcept = default;
  /// From `from` on, for a write that ends at `end`.
  bounce_piece(const bounce_sizes& sizes, std::uint64_t from_byte, std::uint64_t end)
      : start(sizes.down(from_byte)),
        bytes(static_cast<std::size_t>(lesser_of(sizes.usable, sizes.up(end) - start))),
        block(static_cast<std::size_t>(sizes.block)),
        from(from_byte),
        to(lesser_of(end, start + bytes)) {}

  bool keeps_head() const noexcept { return from != start; }
  bool keeps_tail() const noexcept { return to != start + bytes; }
  std::uint64_t last_block() const noexcept { return start + (bytes - block); }
  /// How many bytes of the caller's it has.
  std::size_t size() const noexcept { return static_cast<std::size_t>(to - from); }

  /// The block at `offset` was read: `found` bytes of it exist.
  void take(std::byte* memory, std::uint64_t offset, std::size_t found) noexcept {
    std::memset(memory + (offset - start) + found, 0, block - found);
    // Only where the file ends in its last block does the write move the end too far.
    if (offset == last_block() && keeps_tail() && found < block) end_of_file = greater_of(offset + found, to);
  }

  std::uint64_t start = 0;  ///< a multiple of the block
  std::size_t bytes = 0;    ///< a multiple of the block
  std::size_t block = 1;
  std::uint64_t from = 0, to = 0;  ///< what the caller writes
  std::uint64_t end_of_file = 0;   ///< where the file is to end after the write; 0 if that leaves it where it belongs
};

struct single_write {
  write_request single;
};

/// A write. Blocks that it covers in part are read before, and a file that it makes too long is cut afterwards. If the
/// write is durable, the file is synced after the cut.
/// (The order of its bases matters: the second refers to the first.)
template <class File>
class bounced_write : single_write, public bounce_user<bounced_write<File>, File> {
  using base = bounce_user<bounced_write<File>, File>;
  friend base;
  using base::sizes_;

 public:
  void describe(File& file, bounce_slots& pool, std::uint64_t offset, std::span<const std::byte> buffer,
                const blocking_write_options& options) noexcept {
    single.offset = offset;
    single.buffer = buffer;
    if (file.is_open()) {
      more_ = file_access::flags_of(file, options);
      is_durable_ = file_access::is_durable(file, options);
    }
    this->take(std::span(&single, 1), [&](batch_part& part, const write_request& each) {
      part.argument = nullptr;
      if (!file.is_open()) return;
      auto* const data = const_cast<std::byte*>(each.buffer.data());
      file_access::describe_write(file, part, each.offset, mutable_buffer(data, each.buffer.size()), more_);
      if (!options.untorn) this->accept(part, pool);
    });
    this->enter(file, pool, 0, [&] { return greater_of(file.alignment().read, file.alignment().write); });
  }
  result<std::size_t> conclude(bool timed_out) noexcept {
    static_cast<void>(base::conclude(timed_out));
    return single.answer;
  }

 private:
  enum class stage : std::uint8_t { reads_head, reads_tail, writes, cuts, syncs, complete };

  void submit_singles() noexcept {
    batch_part* const only = this->in_order();
    if (only->argument == nullptr) this->submit_alone(*only);
  }

  void assign(bounce_slot& slot, batch_part& part) noexcept {
    slot.first = &part;
    slot.end = part.following;
    this->give(part, slot);
    begin_piece(part);
  }

  void begin_piece(const batch_part& part) noexcept {
    piece_ = bounce_piece(sizes_, part.io.next_offset(), end_of(part.io));
    stage_ = piece_.keeps_head() ? stage::reads_head : piece_.keeps_tail() ? stage::reads_tail : stage::writes;
  }

  bool prepare(bounce_slot& slot) noexcept {
    const batch_part* const part = this->first_unfinished(slot);
    if (part == nullptr) return false;
    request& r = this->renew(slot);
    switch (stage_) {
      case stage::reads_head: read_block(slot, r, piece_.start); break;
      case stage::reads_tail: read_block(slot, r, piece_.last_block()); break;
      case stage::writes:
        std::memcpy(slot.memory + (piece_.from - piece_.start), single.buffer.data() + part->io.transferred(),
                    piece_.size());
        this->pool_->statistics.copied += piece_.size();
        file_access::describe_write(*this->file_, r, piece_.start, {slot.memory, piece_.bytes}, more_);
        break;
      case stage::complete: return false;
      case stage::cuts: file_access::describe_resize(*this->file_, r, piece_.end_of_file); break;
      case stage::syncs: file_access::describe_sync(*this->file_, r, sync_kind::data_and_size); break;
    }
    return true;
  }
  void read_block(bounce_slot& slot, request& r, std::uint64_t offset) noexcept {
    file_access::describe_read(*this->file_, r, offset, {slot.memory + (offset - piece_.start), piece_.block});
  }

  void conclude_transfer(bounce_slot& slot) noexcept {
    const bounce_transfer& done = *slot.transfer;
    batch_part* const part = this->first_unfinished(slot);
    if (part == nullptr) return;
    const std::size_t bytes = done.io.transferred();
    this->pool_->statistics.transferred += bytes;
    const stage ended = stage_;
    if (ended == stage::cuts && done.failure == std::errc::operation_canceled && must_go_on(slot)) return;
    if (ended == stage::writes) note_written(*part, bytes);
    if (ended == stage::cuts) stage_ = is_durable_ ? stage::syncs : stage::complete;
    if (done.failed())
      part->failure =
          done.failure.is_qio() ? done.failure : error::of_transfer(done.failure.code(), part->io.transferred());
    else if (ended == stage::reads_head || ended == stage::reads_tail)
      note_read(slot, done.io.offset(), bytes);
    const bool is_too_long = ended == stage::writes && stage_ == stage::cuts;  // even if a sync has failed after it
    const bool is_done = part->failed() || stage_ == stage::complete || ended == stage::syncs;
    if (is_done && !is_too_long) this->finished(*part);
  }
  void note_read(bounce_slot& slot, std::uint64_t offset, std::size_t found) noexcept {
    piece_.take(slot.memory, offset, found);
    const bool needs_tail = stage_ == stage::reads_head && piece_.keeps_tail() && piece_.bytes > piece_.block;
    stage_ = needs_tail ? stage::reads_tail : stage::writes;
  }
  // `bytes` of the piece were written.
  void note_written(batch_part& part, std::size_t bytes) noexcept {
    const std::uint64_t end = lesser_of(piece_.start + bytes, piece_.to);
    if (end > piece_.from) {
      error none;
      static_cast<void>(part.io.after_write(static_cast<raw_result>(end - piece_.from), none));
    }
    if (bytes < piece_.bytes) return;  // it has failed
    if (part.io.transferred() < part.io.total()) return begin_piece(part);
    stage_ = piece_.end_of_file != 0 ? stage::cuts : stage::complete;
  }

  // The file would stay too long.
  bool must_go_on(const bounce_slot&) const noexcept { return stage_ == stage::cuts && this->file_->is_open(); }
  void settle(bounce_slot& slot) noexcept {
    batch_part* const part = this->first_unfinished(slot);
    if (part == nullptr || !must_go_on(slot)) return;
    if (const auto cut = this->file_->resize(piece_.end_of_file); !cut)
      part->failure = error::of_transfer(cut.error().code(), part->io.transferred());
    else if (is_durable_ && !part->failed())
      part->fail_as_canceled();
    this->finished(*part);
  }

  bounce_piece piece_;
  stage stage_ = stage::writes;
  platform::transfer_flags more_ = 0;  // of each write
  bool is_durable_ = false;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
