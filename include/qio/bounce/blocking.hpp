// SPDX-License-Identifier: BSL-1.0
// Blocking transfers through a slot of a pool.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/batch.hpp>
#include <qio/bounce/operations.hpp>
#include <qio/bounce/slots.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/file/batch.hpp>
#include <qio/mode.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

QIO_BEGIN_NAMESPACE
namespace detail {

inline void count_transfer(bounce_slots& pool, const result<std::size_t>& answer) noexcept {
  ++pool.statistics.transfers;
  pool.statistics.transferred += answer ? answer.value() : answer.error().transferred();
}

/// Whether a transfer of an open file is misaligned.
template <class File>
bool needs_slot(const File& file, opcode op, std::uint64_t offset, mutable_buffer buffer) noexcept {
  if (!file.is_open()) return false;
  const auto& state = *file_access::opened(file);
  const std::uint32_t block = op == opcode::read ? state.mode.alignment.read : state.mode.alignment.write;
  const transfer io(offset, buffer);
  return !state.fits(io, buffer, block) && is_misaligned(state.misfit(io, buffer, block));
}

/// Reads the rest of `io` through `slot`, piece by piece.
template <class File>
result<std::size_t> read_rest(const File& file, bounce_slots& pool, const bounce_sizes& sizes,
                              const borrowed_slot& slot, transfer& io) {
  while (io.transferred() < io.total()) {
    const std::uint64_t start = sizes.down(io.next_offset());
    const auto memory =
        slot.memory(static_cast<std::size_t>(lesser_of(sizes.usable, sizes.up(io.offset() + io.total()) - start)));
    const auto answer = file.read_at(start, memory);
    count_transfer(pool, answer);
    const std::uint64_t bytes = answer ? answer.value() : answer.error().transferred();
    pool.statistics.copied += copy_out(io, memory.data(), start, static_cast<std::size_t>(bytes));
    if (io.transferred() == io.total()) break;
    if (!answer) return answer.error().after(io.transferred());
    if (bytes < memory.size()) break;
  }
  return io.transferred();
}

template <class File>
result<std::size_t> bounced_read_at(const File& file, bounce_slots& pool, std::uint64_t offset,
                                    std::span<std::byte> buffer) {
  if (!needs_slot(file, opcode::read, offset, mutable_buffer(buffer))) return file.read_at(offset, buffer);
  if (buffer.empty()) return std::size_t(0);
  const bounce_sizes sizes(file.alignment().read, pool.slot_bytes());
  const borrowed_slot slot(pool);
  if (!slot.exists() || sizes.usable == 0) return no_room();
  ++pool.statistics.requests;
  transfer io(offset, mutable_buffer(buffer));
  return read_rest(file, pool, sizes, slot, io);
}

/// Carries out reads of a batch through one slot, in the order of their offsets.
template <class File>
class bounced_read_each {
 public:
  bounced_read_each(const File& file, bounce_slots& pool, std::uint64_t gap) noexcept
      : file_(file), pool_(pool), sizes_(file.alignment().read, pool.slot_bytes(), gap) {}

  result<std::size_t> read(std::span<read_request> requests) {
    if (sizes_.usable == 0) return refuse_each(requests, no_room());
    batch parts;
    parts.take(requests, [](batch_part& part, const read_request& each) {
      part.io = transfer(each.offset, mutable_buffer(each.buffer));
      part.needs_no_engine = each.buffer.empty();
    });
    for (batch_part* each = parts.in_order(); each != nullptr;) {
      batch_part& first = *each;
      if (!may_join(first)) {
        *first.answer = bounced_read_at(file_, pool_, first.io.offset(), buffer_of(first));
        each = first.following;
        continue;
      }
      const bounce_group group = group_from(first, sizes_, may_join);
      if (group.count == 1)
        *first.answer = bounced_read_at(file_, pool_, first.io.offset(), buffer_of(first));
      else
        read_group(first, group);
      for (each = first.following; each != group.end; each = each->following)
        if (!may_join(*each)) *each->answer = bounced_read_at(file_, pool_, each->io.offset(), buffer_of(*each));
    }
    return count_failures(requests);
  }

 private:
  // Empty reads, and those that are out of range, are no part of a group.
  static bool may_join(const batch_part& part) noexcept {
    return !part.needs_no_engine && part.io.total() <= max_offset && part.io.offset() <= max_offset - part.io.total();
  }
  static std::span<std::byte> buffer_of(const batch_part& part) noexcept {
    return {static_cast<std::byte*>(part.io.rest_of_buffer().data), part.io.total()};
  }

  void read_group(batch_part& first, const bounce_group& group) {
    const borrowed_slot slot(pool_);
    result<std::size_t> answer = no_room();
    if (slot.exists()) {
      answer = file_.read_at(group.start, slot.memory(static_cast<std::size_t>(group.bytes)));
      count_transfer(pool_, answer);
    }
    const std::uint64_t bytes = answer ? answer.value() : answer.error().transferred();
    for (batch_part* each = &first; each != group.end; each = each->following) {
      if (!may_join(*each)) continue;
      if (!slot.exists()) {
        *each->answer = answer.error();
        continue;
      }
      ++pool_.statistics.requests;
      pool_.statistics.copied +=
          copy_out(each->io, slot.memory(0).data(), group.start, static_cast<std::size_t>(bytes));
      *each->answer = answer ? result<std::size_t>(each->io.transferred()) : answer_alone(*each, slot);
    }
  }
  // The transfer has failed somewhere: the answer of each read is what it gets by itself.
  result<std::size_t> answer_alone(batch_part& part, const borrowed_slot& slot) {
    return read_rest(file_, pool_, sizes_, slot, part.io);
  }

  const File& file_;
  bounce_slots& pool_;
  bounce_sizes sizes_;
};

/// Writes the blocks that a write covers in part after reading them.
template <class File>
result<std::size_t> bounced_write_at(File& file, bounce_slots& pool, std::uint64_t offset,
                                     std::span<const std::byte> buffer, const blocking_write_options& options) {
  const mutable_buffer memory_to_write(const_cast<std::byte*>(buffer.data()), buffer.size());
  if (options.untorn || !needs_slot(file, opcode::write, offset, memory_to_write))
    return file.write_at(offset, buffer, options);
  if (buffer.empty()) return std::size_t(0);
  const bounce_sizes sizes(greater_of(file.alignment().read, file.alignment().write), pool.slot_bytes());
  const borrowed_slot slot(pool);
  if (!slot.exists() || sizes.usable == 0) return no_room();
  ++pool.statistics.requests;
  std::size_t written = 0;
  while (written < buffer.size()) {
    bounce_piece piece(sizes, offset + written, offset + buffer.size());
    const auto memory = slot.memory(piece.bytes);
    const auto keep = [&](bool is_kept, std::uint64_t block) -> error {
      if (!is_kept) return {};
      const auto found =
          file.read_at(block, memory.subspan(static_cast<std::size_t>(block - piece.start), piece.block));
      count_transfer(pool, found);
      if (found) piece.take(memory.data(), block, found.value());
      return found ? error() : found.error();
    };
    error failure = keep(piece.keeps_head(), piece.start);
    const bool has_tail = piece.keeps_tail() && !(piece.keeps_head() && piece.bytes == piece.block);
    if (!failure.exists()) failure = keep(has_tail, piece.last_block());
    if (failure.exists()) return failure.after(written);
    std::memcpy(memory.data() + (piece.from - piece.start), buffer.data() + written, piece.size());
    pool.statistics.copied += piece.size();
    const auto answer = file.write_at(piece.start, memory, options);
    count_transfer(pool, answer);
    const std::uint64_t end = piece.start + (answer ? answer.value() : answer.error().transferred());
    if (end > piece.from) written += static_cast<std::size_t>(lesser_of(end, piece.to) - piece.from);
    const bool is_to_cut = end == piece.start + piece.bytes && piece.end_of_file != 0;
    result<void> cut = success();
    if (is_to_cut) cut = file.resize(piece.end_of_file);
    // The size that the cut has set belongs to a durable write.
    if (is_to_cut && answer && cut && file_access::is_durable(file, options)) cut = file.sync(sync_kind::data_and_size);
    if (!answer) return answer.error().after(written);
    if (!cut) return cut.error().after(written);
  }
  return written;
}

}  // namespace detail
QIO_END_NAMESPACE
