// SPDX-License-Identifier: BSL-1.0
// Reads a log from its beginning to where it ends, and finds out why it ends there.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/log/format.hpp>
#include <qio/result.hpp>
#include <qio/task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

QIO_BEGIN_NAMESPACE

/// One record of a log.
struct log_record {
  std::uint64_t number;              ///< 1 for the first record of the log
  std::span<const std::byte> bytes;  ///< borrowed for the call, at an address that is a multiple of 8
};

/// What follows the last record of a log.
enum class log_end : std::uint8_t {
  clean,    ///< nothing
  torn,     ///< a part of a batch that was being written when the system stopped; none of its records was acknowledged
  damaged,  ///< acknowledged records are missing or have changed, or the visitor rejected a record
};

/// What read_log() or open_log() has found.
struct log_contents {
  std::uint64_t records = 0;      ///< that were visited and accepted
  std::uint64_t first = 1;        ///< the number of the first record that has not been trimmed
  std::uint64_t end = 0;          ///< offset in bytes of the end of the last whole batch
  log_end tail = log_end::clean;  ///< what follows it
  /// If the log is damaged: how many records were appended behind that, as far as what is left of them shows.
  std::uint64_t unreachable = 0;
};

namespace detail {

/// Borrows the file.
template <class File>
class log_reader {
 public:
  /// `is_locked`: nobody appends to the log meanwhile. `positions` gets those of its batches.
  log_reader(File& file, bool is_locked, log_format::known_positions* positions = nullptr) noexcept
      : file_(file), is_locked_(is_locked), positions_(positions) {}

  /// Reads the newer copy of the header. No value if there is none, because the log was not created completely. Fails
  /// with errc::not_a_log if the file has other contents, and with errc::log_version if the log has another format.
  task<result<std::optional<log_format::file_header>>> read_header() {
    using log_format::file_header;
    if (auto allocated = allocate(2 * greatest_block()); !allocated) co_return allocated.error();
    auto first = co_await read_copy(0);
    auto found = first ? first.value() : std::nullopt;
    newest_ = 0;
    // If one is lost, where the other one is depends on the block.
    const std::uint64_t begin = found ? found->copy_bytes() : file_header::smallest_copy;
    const std::uint64_t end = found ? found->copy_bytes() : file_header::largest_copy;
    for (std::uint64_t at = begin; at <= end; at *= 2) {
      const auto second = co_await read_copy(at);
      if (!second || !second.value()) continue;
      if (found && !second.value()->is_newer_than(*found)) continue;
      found = second.value();
      newest_ = 1;
      break;
    }
    if (!found && !first) co_return first.error();
    if (!found) co_return co_await judge_no_header();
    if ((found->flags & ~file_header::has_checksums) != 0) co_return error(errc::log_version, version, version);
    co_return found;
  }
  /// The index of the copy that read_header() has returned.
  unsigned newest_copy() const noexcept { return newest_; }

  /// After read_header() has found no header: fails with errc::not_a_log unless the rest of the file has only zeros.
  task<result<void>> check_is_blank() {
    std::uint64_t offset = 2 * greatest_block();
    if (auto allocated = allocate(most_at_once); !allocated) co_return allocated.error();
    do {  // a short read is the last
      if (auto filled = co_await fill(offset); !filled) co_return filled.error();
      if (!log_format::is_zero(window())) co_return error(errc::not_a_log);
      offset += filled_;
    } while (filled_ == memory_->size());
    co_return success();
  }

  /// Visits every record.
  template <class Visit>
  task<result<log_contents>> read(const log_format::file_header& header, Visit& visit) {
    header_ = header;
    end_ = {};
    generation_ = 0;
    begin_at_start();
    end_.first = next_.record;
    settled_ = header.known.offset;
    is_rejected_ = has_all_ = false;
    // What was acknowledged before is in front of it, and what is appended meanwhile need not be followed.
    owed_until_ = is_locked_ ? max_offset : header.owned;
    if (auto ready = allocate_window(); !ready) co_return ready.error();
    unsigned renewals = 0;
    log_format::position owed;
    for (;;) {
      if (auto visited = co_await visit_batches(visit); !visited) co_return visited.error();
      if (has_all_) {
        header_.known = next_;
        end_.tail = log_end::clean;
        break;
      }
      if (auto judged = co_await judge_tail(); !judged) co_return judged.error();
      if (is_rejected_ || (is_locked_ && end_.tail == log_end::clean)) break;
      // Another program may be appending, and have been writing what was no whole batch; it may even have opened the
      // log meanwhile, or trimmed it. (A batch is written when the one before it is durable: what is there now is what
      // had to be there.)
      auto again = co_await read_header();
      if (!again) co_return again.error();
      // Not that of a log which has replaced this one, nor a forged one: its batches may exceed the limit.
      const bool is_renewed =
          again.value() && again.value()->is_of_same_log(header_) && again.value()->is_newer_than(header_);
      const bool is_trimmed = is_renewed && again.value()->start.offset > next_.offset;
      if (end_.tail == log_end::clean && !is_trimmed) break;
      if (is_renewed) header_ = *again.value();
      if (is_trimmed) begin_at_start();
      // A writer that continues to trim need not be followed. The second renewal has begun after this read: what it
      // knows, everything that was acknowledged before, was visited or has been trimmed.
      if (is_renewed && ++renewals == 2) owed = header_.known;
      if (is_trimmed && renewals >= 2 && next_.is_behind(owed)) {
        header_.known = next_;
        end_.tail = log_end::clean;
        break;
      }
      if (auto ready = allocate_window(); !ready) co_return ready.error();
      if (auto filled = co_await fill(next_.offset); !filled) co_return filled.error();
      if (!is_renewed && !whole_batch()) break;
    }
    const auto size = file_.size();
    if (!size) co_return size.error();
    // Records that must be there are not; or the file was cut off, and so, perhaps, were records.
    if (!next_.is_behind(header_.known) || size.value() < header_.owned) end_.tail = log_end::damaged;
    if (end_.tail == log_end::damaged)
      note_unreachable(header_.known.record);
    else
      end_.unreachable = 0;
    co_return end_;
  }

  /// The place behind the last batch.
  const log_format::position& next() const noexcept { return next_; }

 private:
  static constexpr std::uint64_t most_at_once = std::uint64_t(1) << 20;
  static constexpr std::uint64_t version = log_format::file_header::version - '0';

  std::size_t greatest_block() const noexcept {
    const qio::alignment needed = file_.alignment();
    return greater_of<std::size_t>(greater_of(needed.read, needed.write), log_format::file_header::smallest_copy);
  }

  result<void> allocate(std::uint64_t bytes) {
    const std::size_t aligned = greater_of<std::size_t>(file_.alignment().memory, default_buffer_alignment);
    auto memory =
        aligned_buffer::allocate(static_cast<std::size_t>(log_format::round_up(bytes, greatest_block())), aligned);
    if (!memory) return memory.error();
    memory_.emplace(std::move(memory).value());
    begin_ = filled_ = 0;
    return success();
  }
  // For a whole batch, and the header of the one behind it.
  result<void> allocate_window() {
    const std::uint64_t rest =
        log_format::round_up(header_.owned - lesser_of(next_.offset, header_.owned), header_.block);
    return allocate(greater_of(header_.largest + header_.copy_bytes(), lesser_of(rest, most_at_once)));
  }

  // Reads from `offset` on, at most `bytes`, as much as fits, or up to the end of the file.
  task<result<void>> fill(std::uint64_t offset, std::size_t bytes = ~std::size_t(0)) {
    begin_ = offset;
    filled_ = 0;
    std::span<std::byte> into = memory_->view(0, lesser_of(bytes, memory_->size()));
    auto read = co_await file_.async_read_at(offset, into);
    if (!read) co_return read.error();
    filled_ = read.value();
    co_return success();
  }

  std::span<std::byte> window() noexcept { return memory_->view(0, filled_); }
  // What is in memory from `offset` of the file on.
  std::span<std::byte> from(std::uint64_t offset) noexcept {
    return window().subspan(static_cast<std::size_t>(lesser_of<std::uint64_t>(offset - begin_, filled_)));
  }
  // ... from the end of the last whole batch on.
  std::span<std::byte> rest() noexcept { return from(next_.offset); }

  // --- the header ---

  // The copy at `offset`, if it is whole. By a read of its own: if a sector of one copy is bad, the other one is read.
  task<result<std::optional<log_format::file_header>>> read_copy(std::uint64_t offset) {
    const std::uint64_t begin = offset / greatest_block() * greatest_block();
    if (auto filled = co_await fill(begin, greatest_block()); !filled) co_return filled.error();
    const auto found = window().subspan(static_cast<std::size_t>(lesser_of<std::uint64_t>(offset - begin, filled_)));
    if (found.size() < log_format::file_header::bytes) co_return std::optional<log_format::file_header>();
    co_return log_format::file_header::load_from(found.data(), offset);
  }

  // The log has another version, or was being created, or the file is no log.
  task<result<std::optional<log_format::file_header>>> judge_no_header() {
    if (auto filled = co_await fill(0); !filled) co_return filled.error();
    if (filled_ >= 8)
      if (const auto other = log_format::file_header::other_version(window().data()))
        co_return error(errc::log_version, *other, version);
    if (is_unfinished(window())) co_return std::optional<log_format::file_header>();
    co_return error(errc::not_a_log);
  }

  // Whether a log was being created: its header was written last, or partly, and nothing is behind it. The file had its
  // size by then, so a shorter one that is not blank was cut off.
  static bool is_unfinished(std::span<const std::byte> found) noexcept {
    if (log_format::is_zero(found)) return true;
    if (found.size() < 2 * log_format::file_header::smallest_copy) return false;
    std::byte magic[8];
    log_format::store(magic, log_format::file_header::magic, sizeof magic);
    std::size_t matching = 0;
    while (matching != sizeof magic && found[matching] == magic[matching]) ++matching;
    return log_format::is_zero(found.subspan(matching != sizeof magic ? matching : log_format::file_header::bytes));
  }

  // --- batches ---

  void begin_at_start() noexcept {
    next_ = header_.start;
    visited_ = next_.record;
    end_.end = next_.offset;
  }

  template <class Visit>
  task<result<void>> visit_batches(Visit& visit) {
    for (;;) {
      if (next_.offset >= owed_until_) has_all_ = true;
      if (has_all_) co_return success();
      if (auto filled = co_await fill_for_batch(); !filled) co_return filled.error();
      const auto batch = whole_batch();
      if (!batch) co_return success();
      if (!is_locked_ && batch->offset + batch->size > settled_) {
        if (auto settled = co_await settle(); !settled) co_return settled.error();
        continue;
      }
      if (!visit_records(*batch, visit)) {
        is_rejected_ = true;
        co_return success();
      }
      pass(*batch);
    }
  }

  // Reads the window again. A read beside a write may return some of each, even within a sector: its end may be new
  // where its middle is old. Batches that look whole before the second read begins are whole in what it returns.
  task<result<void>> settle() {
    log_format::position place = next_;
    std::uint64_t generation = generation_;
    while (const auto batch = whole_batch(place, generation)) {
      place = behind(*batch);
      generation = batch->generation;
    }
    QIO_CHECK(place.offset > settled_, "bug in qio: a log was read again although no batch was whole");
    settled_ = place.offset;
    co_return co_await fill(next_.offset);
  }

  static log_format::position behind(const log_format::batch_header& batch) noexcept {
    return {batch.offset + batch.size, batch.number + 1, batch.first_record + batch.records};
  }

  void pass(const log_format::batch_header& batch) noexcept {
    QIO_CHECK(batch.offset == next_.offset && batch.number == next_.batch && batch.generation >= generation_,
              "bug in qio: a batch of a log was read out of order");
    if (positions_ != nullptr) positions_->add(next_);
    next_ = behind(batch);
    generation_ = batch.generation;
    end_.end = next_.offset;
  }

  // Reads again unless the next batch is in the window.
  task<result<void>> fill_for_batch() {
    if (filled_ != 0 && rest().size() >= log_format::sector) {
      const auto header = log_format::batch_header::load_from(rest().data());
      if (header && header->size <= rest().size()) co_return success();
    }
    co_return co_await fill(next_.offset);
  }

  std::optional<log_format::batch_header> whole_batch() noexcept { return whole_batch(next_, generation_); }

  // The header of the batch at `place`, behind one of this generation, if all of it is in the window. What an earlier
  // generation has left is none.
  std::optional<log_format::batch_header> whole_batch(const log_format::position& place,
                                                      std::uint64_t generation) noexcept {
    const std::span<std::byte> found = from(place.offset);
    if (found.size() < log_format::sector) return std::nullopt;
    const auto header = log_format::batch_header::load_from(found.data());
    if (!header || header->log != header_.id || header->generation < generation || header->number != place.batch ||
        header->offset != place.offset || header->first_record != place.record || header->records == 0 ||
        header->size == 0 || header->size % header_.block != 0 || header->size > header_.largest ||
        header->size > found.size() || header->records > header->size)
      return std::nullopt;
    const auto batch = found.first(static_cast<std::size_t>(header->size));
    return log_format::is_stamped(batch, header->stamps_of()) ? header : std::nullopt;
  }

  // False if they are not what was appended, as far as the log or the visitor knows.
  template <class Visit>
  bool visit_records(const log_format::batch_header& batch, Visit& visit) {
    const std::span<std::byte> sectors = rest().first(static_cast<std::size_t>(batch.size));
    if ((header_.flags & log_format::file_header::has_checksums) != 0 &&
        log_format::checksum_of(sectors, batch.stamps_of()) != batch.checksum)
      return false;
    std::span<const std::byte> left = log_format::join(sectors);
    left = left.subspan(log_format::batch_header::bytes);
    for (std::uint64_t i = 0; i != batch.records; ++i) {
      if (left.size() < log_format::frame_bytes) return false;
      const std::uint64_t bytes = log_format::load(left.data(), log_format::frame_bytes);
      if (bytes > left.size() - log_format::frame_bytes) return false;
      const auto record = left.subspan(log_format::frame_bytes, static_cast<std::size_t>(bytes));
      if (!visit(log_record{batch.first_record + i, record})) return false;
      ++end_.records;
      ++visited_;
      left = left.subspan(static_cast<std::size_t>(lesser_of<std::uint64_t>(log_format::framed(bytes), left.size())));
    }
    return true;
  }

  // --- what follows the last batch ---

  // Looks for anything that is left of later batches, in all that the log owns.
  task<result<void>> judge_tail() {
    end_.tail = is_rejected_ ? log_end::damaged : log_end::clean;
    end_.unreachable = 0;
    filled_ = 0;  // the window may have been joined
    for (std::uint64_t offset = next_.offset; offset < header_.owned; offset = begin_ + filled_) {
      if (auto filled = co_await fill(offset); !filled) co_return filled.error();
      const auto part = window().first(static_cast<std::size_t>(
          lesser_of<std::uint64_t>(header_.owned - offset, filled_ / log_format::sector * log_format::sector)));
      if (!log_format::is_zero(part))
        for (std::size_t at = 0; at != part.size(); at += log_format::sector)
          judge_sector(offset + at, part.subspan(at, log_format::sector));
      if (filled_ != memory_->size()) break;  // the end of the file
    }
    co_return success();
  }

  // One batch is written at a time, when the one before it is durable. So what is there of a batch is torn if it is the
  // next one; a later one proves that the next was acknowledged. Its first sector is there whole or not at all, so a
  // header with its stamp, but without its seal, has changed later.
  void judge_sector(std::uint64_t offset, std::span<const std::byte> found) noexcept {
    if (log_format::is_zero(found)) return;
    const std::uint64_t index = (offset - next_.offset) / log_format::sector;
    const std::uint32_t stamp = log_format::stamp_at(found.data());
    const log_format::stamps torn(header_.id, header_.generation, next_.batch);
    const bool is_torn = offset - next_.offset < header_.largest && log_format::may_be_torn(stamp, torn.of(index));
    if (end_.tail == log_end::clean) end_.tail = log_end::torn;
    if (!is_torn) end_.tail = log_end::damaged;
    if (index == 0 && stamp == torn.of(0) && log_format::batch_header::has_changed(found.data()))
      end_.tail = log_end::damaged;
    const auto batch = log_format::batch_header::load_from(found.data());
    if (!batch || batch->log != header_.id || batch->offset != offset || batch->number < next_.batch ||
        stamp != batch->stamps_of().of(0) || batch->records > batch->size || batch->size > header_.largest)
      return;
    if (batch->number != next_.batch) end_.tail = log_end::damaged;
    note_unreachable(batch->first_record + batch->records);
  }

  // Records up to the one in front of `end` were appended.
  void note_unreachable(std::uint64_t end) noexcept {
    if (end > visited_) end_.unreachable = greater_of(end_.unreachable, end - visited_);
  }

  File& file_;
  const bool is_locked_;
  log_format::known_positions* const positions_;
  std::optional<aligned_buffer> memory_;
  std::uint64_t begin_ = 0;  // of what is in memory: its offset in the file
  std::size_t filled_ = 0;
  unsigned newest_ = 0;
  log_format::file_header header_{};
  log_format::position next_;     // behind the last whole batch
  std::uint64_t generation_ = 0;  // of that batch
  std::uint64_t visited_ = 0;     // the number of the record behind those that were visited
  std::uint64_t settled_ = 0;     // batches that end in front of this offset are not being written any more
  bool is_rejected_ = false;
  std::uint64_t owed_until_ = 0;  // no record is owed from this offset on
  bool has_all_ = false;          // that are owed
  log_contents end_;
};

}  // namespace detail
QIO_END_NAMESPACE
