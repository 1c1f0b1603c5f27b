// SPDX-License-Identifier: BSL-1.0
// Reads through the slots of a pool, as one operation.
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
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace qio::inline QIO_CONFIGURATION::detail {

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
      if (!is_complete && done.failed() && decides_all)
        part.failure = error_of_part(done.failure, part.io.transferred());
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

}  // namespace qio::inline QIO_CONFIGURATION::detail
