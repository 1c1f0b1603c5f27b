// SPDX-License-Identifier: BSL-1.0
// Asynchronous operations through a pool: reads that are merged or widened, and unaligned writes.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/batch.hpp>
#include <qio/bounce/slots.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/loop/batch.hpp>
#include <qio/loop/loop.hpp>
#include <qio/mode.hpp>
#include <qio/operation_options.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- What reads and writes through a pool share: how they get slots, and how they end early ---

/// An operation on `File`, one of whose requests is free (nobody works on it yet), submitted by itself, served by a
/// slot, or complete. As long as one is free, the operation waits for a slot.
///
/// `Self` has these functions:
/// - submit_singles(): submit_alone() for each request that needs no slot.
/// - assign(slot, request): the slot serves this request, and maybe others: give() for each.
/// - prepare(slot): describes the slot's next transfer. False if its requests are complete.
/// - conclude_transfer(slot): the transfer has ended: finished() for each request that is complete.
/// - must_go_on(slot): whether the slot's requests cannot end early now.
/// - settle(slot): does what must go on, blocking, because the operation or the context is being destroyed.
template <class Self, class File>
class bounce_user : public bounce_work {
 public:
  using is_composed = void;
  using loop_type = loop<typename File::engine_type>;

  // --- for the loop ---

  void begin(loop_type& on) noexcept {
    loop_ = &on;
    pool_->require_same_loop(&on);
    use_file(true);
    next_ = in_order();
    self().submit_singles();
    while (find_next() && take_slot()) {}
    if (find_next()) pool_->wait(*this);
    end_if_finished();
  }

  void cancel(loop_type& on) noexcept {
    if (needs_no_engine || unfinished() == 0) return;
    is_ending_ = true;
    pool_->stop_waiting(*this);
    fail_free();
    for_each_unfinished([&](batch_part& part) {
      if (part.argument == this) on.cancel(static_cast<request&>(part));
    });
    pool_->for_each_of(*this, [&](bounce_slot& slot) {
      if (!self().must_go_on(slot)) on.cancel(static_cast<request&>(*slot.transfer));
    });
    end_if_finished();
  }

  void abandon(loop_type& on) noexcept {
    cancel(on);
    if (needs_no_engine || unfinished() == 0) {
      on.abandon(static_cast<request&>(*this));
    } else {
      for_each_unfinished([&](batch_part& part) {
        if (part.argument == this) on.abandon(static_cast<request&>(part));
      });
      pool_->for_each_of(*this, [&](bounce_slot& slot) {
        on.abandon(static_cast<request&>(*slot.transfer));
        self().conclude_transfer(slot);
        self().settle(slot);
        fail_rest(slot);
        pool_->release(slot);
      });
      pool_->serve();
    }
    static_cast<void>(conclude(false));
  }

  // --- for the operation ---

  /// After it was described: the class of its transfers, if that is not the file's.
  void put_into_class(File& file, const io_class& chosen) noexcept {
    if (!chosen.exists() || needs_no_engine) return;
    if (!file_access::loop_of(file)->class_of_file(chosen)) return refuse(errc::foreign_io_class);
    class_ = chosen;
  }

  result<std::size_t> conclude(bool timed_out) noexcept {
    use_file(false);  // if none of its requests needed a slot
    return batch::conclude(timed_out);
  }

 protected:
  /// A request has been described. If it is misaligned, it needs a slot, unless it has to go to the file as it is.
  static void accept(batch_part& part, bounce_slots& pool, bool needs_no_slot = false) noexcept {
    if (!part.failed()) return;
    if (needs_no_slot || !is_misaligned(part.failure)) {
      part.failure = part.activity->of_transfer(part.failure, part.op);
      return;
    }
    part.failure = error();
    part.needs_no_engine = part.io.total() == 0;
    part.argument = &pool;
  }

  /// All requests have been described. `block_of()` returns the alignment of the file, which is open.
  template <class BlockOf>
  void enter(File& file, bounce_slots& pool, std::uint64_t gap, BlockOf&& block_of) noexcept {
    if (!file.is_open()) return refuse(std::make_error_code(std::errc::bad_file_descriptor));
    file_ = &file;
    pool_ = &pool;
    sizes_ = bounce_sizes(block_of(), pool.slot_bytes(), gap);
    if (sizes_.usable == 0) return refuse(no_room());
    needs_no_engine = unfinished() == 0;
    advance = [](bounce_work& work) noexcept { static_cast<Self&>(work).take_turn(); };
  }

  // A request's `argument` says what it is.
  bool is_free(const batch_part& part) const noexcept {
    return !part.needs_no_engine && (part.argument == nullptr || part.argument == pool_);
  }

  void submit_alone(batch_part& part) noexcept {
    part.argument = this;
    if (try_inline(part))
      finished(part);
    else
      loop_->submit(static_cast<request&>(part));
  }

  void give(batch_part& part, bounce_slot& slot) noexcept {
    part.argument = &slot;
    ++pool_->statistics.requests;
    ++file_access::activity_of(*file_).statistics.bounced;
  }

  /// `action(part)` for each request of the slot that is not complete, until it returns false.
  template <class Action>
  void for_each_in(const bounce_slot& slot, Action&& action) noexcept {
    for (batch_part* each = slot.first; each != slot.end; each = each->following)
      if (!each->needs_no_engine && each->argument == &slot && !action(*each)) return;
  }
  batch_part* first_unfinished(const bounce_slot& slot) noexcept {
    batch_part* found = nullptr;
    for_each_in(slot, [&](batch_part& part) {
      found = &part;
      return false;
    });
    return found;
  }

  /// A new request for the slot's next transfer.
  request& renew(bounce_slot& slot) noexcept {
    bounce_transfer& made = slot.transfer.emplace();
    made.slot = &slot;
    made.completed = &transfer_ended;
    return made;
  }

  File* file_ = nullptr;
  bounce_slots* pool_ = nullptr;
  bounce_sizes sizes_;

 private:
  Self& self() noexcept { return static_cast<Self&>(*this); }

  void refuse(const error& why) noexcept {
    failure = why;
    needs_no_engine = true;
  }

  // The background writes nothing inline.
  bool try_inline(request& r) noexcept {
    r.class_number = class_.number();
    if (!class_.is_foreground() && r.op == opcode::write) r.attempt = nullptr;
    return loop_->try_inline(r);
  }

  bool may_go_on() const noexcept { return !is_ending_ && file_->is_open() && !loop_->closed(); }

  // From the start to the end of the operation, the file must not move. If it was closed, its count is gone.
  void use_file(bool does) noexcept {
    if (!QIO_CHECKS || std::exchange(is_using_, does) == does || !file_->is_open()) return;
    file_activity& used = file_access::activity_of(*file_);
    if (does) activity_ = &used;
    if (&used == activity_) does ? used.bounced_users.add() : used.bounced_users.remove();
  }

  // False if no request is free.
  bool find_next() noexcept {
    while (next_ != nullptr && !is_free(*next_)) next_ = next_->following;
    return next_ != nullptr;
  }

  // There is a free request. False if there is no slot for it.
  bool take_slot() noexcept {
    bounce_slot* const slot = pool_->has_waiting() ? nullptr : pool_->take(this);
    if (slot == nullptr) return false;
    self().assign(*slot, *next_);
    carry_on(*slot);
    return true;
  }

  // It was the first of those that wait, and a slot is free. It takes one, and if it needs more, waits again.
  void take_turn() noexcept {
    if (!may_go_on()) fail_free();
    if (find_next())
      if (bounce_slot* const slot = pool_->take(this)) {
        self().assign(*slot, *next_);
        carry_on(*slot);
      }
    if (find_next()) pool_->wait(*this);
    end_if_finished();
  }

  // Carries out transfers until the engine has one, or the requests of the slot are complete.
  void carry_on(bounce_slot& slot) noexcept {
    for (;;) {
      if (!may_go_on()) end_early(slot);
      if (!self().prepare(slot)) return pool_->release(slot);
      ++pool_->statistics.transfers;
      if (!slot.transfer->needs_no_engine && !try_inline(*slot.transfer))
        return loop_->submit(static_cast<request&>(*slot.transfer));
      self().conclude_transfer(slot);
    }
  }

  void end_early(bounce_slot& slot) noexcept {
    if (self().must_go_on(slot)) {
      if (!loop_->closed()) return;
      self().settle(slot);
    }
    fail_rest(slot);
  }

  static void transfer_ended(request& r) noexcept {
    bounce_slot& slot = *static_cast<bounce_transfer&>(r).slot;
    auto& work = static_cast<Self&>(*slot.user);
    bounce_slots& pool = *work.pool_;
    work.conclude_transfer(slot);
    work.carry_on(slot);
    work.end_if_finished();
    pool.serve();
  }

  void end_if_finished() noexcept {
    if (unfinished() != 0) return;
    use_file(false);
    loop_->complete_later(*this);
  }

  void fail_free() noexcept {
    for_each_unfinished([this](batch_part& part) {
      if (!is_free(part)) return;
      part.fail_as_canceled();
      finished(part);
    });
  }
  void fail_rest(bounce_slot& slot) noexcept {
    for_each_in(slot, [this](batch_part& part) {
      part.fail_as_canceled();
      finished(part);
      return true;
    });
  }

  loop_type* loop_ = nullptr;
  const file_activity* activity_ = nullptr;  // that it uses, only for checks
  io_class class_;                           // of its transfers; none: that of the file
  batch_part* next_ = nullptr;               // where to look for the next free request
  bool is_ending_ = false;
  bool is_using_ = false;  // the file, only for checks
};

// --- Reads through the slots of a pool, as one operation ---

/// The reads of a batch. Those that need no slot are submitted as they are, the others as groups that a slot serves.
///
/// One transfer reads a group. If it fails, or if a single read is longer than a slot, the reads of the group are
/// carried out one after the other through the same slot, piece by piece: then each has the answer that it would have
/// alone.
template <class File>
class bounced_reads : public bounce_user<bounced_reads<File>, File> {
  using base = bounce_user<bounced_reads<File>, File>;
  friend base;

 public:
  void describe(File& file, bounce_slots& pool, std::uint64_t gap, std::span<read_request> requests) noexcept {
    this->take(requests, [&](batch_part& part, const read_request& each) {
      part.argument = nullptr;
      if (!file.is_open()) return;
      file_access::describe_read(file, part, each.offset, mutable_buffer(each.buffer));
      this->accept(part, pool);
    });
    this->enter(file, pool, gap, [&] { return file.alignment().read; });
  }

 private:
  using base::is_free, base::sizes_;

  // Each read that neither needs a slot nor has neighbors.
  void submit_singles() noexcept {
    for (batch_part* each = this->in_order(); each != nullptr;) {
      batch_part& first = *each;
      each = first.following;
      if (!is_free(first)) continue;
      const bounce_group group = group_of(first);
      if (group.count == 1 && first.argument == nullptr) this->submit_alone(first);
      each = group.end;
    }
  }

  bounce_group group_of(const batch_part& first) const noexcept {
    return group_from(first, sizes_, [this](const batch_part& each) { return is_free(each); });
  }

  void assign(bounce_slot& slot, batch_part& first) noexcept {
    const bounce_group group = group_of(first);
    slot.first = &first;
    slot.end = group.end;
    slot.start = group.start;
    slot.is_whole = group.count > 1;
    slot.bytes = static_cast<std::size_t>(group.bytes);
    for (batch_part* each = &first; each != group.end; each = each->following)
      if (is_free(*each)) this->give(*each, slot);
  }

  // Describes the next transfer of a slot. False if all its reads are complete.
  bool prepare(bounce_slot& slot) noexcept {
    const batch_part* const part = this->first_unfinished(slot);
    if (part == nullptr) return false;
    if (!slot.is_whole) {
      slot.start = sizes_.down(part->io.next_offset());
      slot.bytes = static_cast<std::size_t>(lesser_of(sizes_.usable, sizes_.up(end_of(part->io)) - slot.start));
    }
    file_access::describe_read(*this->file_, this->renew(slot), slot.start, {slot.memory, slot.bytes});
    return true;
  }

  // A transfer has ended: copies what it has read, and completes the reads that it decides.
  void conclude_transfer(bounce_slot& slot) noexcept {
    const bounce_transfer& done = *slot.transfer;
    const std::size_t bytes = done.io.transferred();
    this->pool_->statistics.transferred += bytes;
    const bool decides_all = !slot.is_whole || !done.failed() || done.failure == std::errc::operation_canceled;
    this->for_each_in(slot, [&](batch_part& part) {
      this->pool_->statistics.copied += copy_out(part.io, slot.memory, slot.start, bytes);
      const bool is_complete = part.io.transferred() == part.io.total();
      if (!is_complete && done.failed() && decides_all) part.failure = done.failure.after(part.io.transferred());
      const bool at_end = !done.failed() && bytes < done.io.total();
      if (is_complete || part.failed() || at_end) this->finished(part);
      return slot.is_whole;
    });
    slot.is_whole = false;  // what is left is read one by one
  }

  static constexpr bool must_go_on(const bounce_slot&) noexcept { return false; }
  static void settle(bounce_slot&) noexcept {}
};

struct single_read {
  read_request single;
};

/// A single read. (The order of its bases matters: the second refers to the first.)
template <class File>
class bounced_read : single_read, public bounced_reads<File> {
 public:
  void describe_one(File& file, bounce_slots& pool, std::uint64_t offset, std::span<std::byte> buffer) noexcept {
    single.offset = offset;
    single.buffer = buffer;
    this->describe(file, pool, 0, {&single, 1});
  }
  result<std::size_t> conclude(bool timed_out) noexcept {
    static_cast<void>(bounced_reads<File>::conclude(timed_out));
    return single.answer;
  }
};

// --- A write through a slot of a pool, as one operation ---

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
      this->accept(part, pool, options.untorn);
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
      part->failure = done.failure.after(part->io.transferred());
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
      part->failure = cut.error().after(part->io.transferred());
    else if (is_durable_ && !part->failed())
      part->fail_as_canceled();
    this->finished(*part);
  }

  bounce_piece piece_;
  stage stage_ = stage::writes;
  platform::transfer_flags more_ = 0;  // of each write
  bool is_durable_ = false;
};

}  // namespace detail
QIO_END_NAMESPACE
