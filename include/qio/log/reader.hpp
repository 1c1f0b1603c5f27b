// SPDX-License-Identifier: BSL-1.0
// Reads a log from its beginning to where it ends.
#pragma once

#include <qio/base/bounds.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/log/format.hpp>
#include <qio/result.hpp>
#include <qio/task.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace qio::inline QIO_CONFIGURATION {

/// One record of a log.
struct log_record {
  std::uint64_t number;              ///< 1 for the first record of the log
  std::span<const std::byte> bytes;  ///< borrowed for the call, at an address that is a multiple of 8
};

/// What follows the last record of a log.
enum class log_end : std::uint8_t {
  clean,    ///< nothing
  torn,     ///< a part of a batch that was being written when the system stopped; none of its records was acknowledged
  damaged,  ///< acknowledged records are missing, or the visitor rejected a record
};

/// What read_log() or open_log() has found.
struct log_contents {
  std::uint64_t records = 0;      ///< that were visited and accepted
  std::uint64_t end = 0;          ///< offset in bytes of the end of the last whole batch
  log_end tail = log_end::clean;  ///< what follows it
};

namespace detail {

/// Borrows the file.
template <class File>
class log_reader {
 public:
  explicit log_reader(File& file) noexcept : file_(file) {}

  /// Reads the header. No value if there is none, because the log was not created completely. Fails with
  /// errc::not_a_log if the file has other contents.
  task<result<std::optional<log_format::file_header>>> read_header() {
    if (auto allocated = allocate(2 * greatest_block()); !allocated) co_return allocated.error();
    if (auto filled = co_await fill(0); !filled) co_return filled.error();
    const std::span<const std::byte> found = window();
    if (found.size() >= log_format::file_header::bytes) {
      const auto header = log_format::file_header::load_from(found.data());
      const bool is_valid = header && std::has_single_bit(header->block) && header->block >= log_format::sector &&
                            header->largest % header->block == 0 && header->largest != 0 &&
                            header->largest <= most_largest;
      if (is_valid) co_return header;
    }
    if (is_unfinished(found)) co_return std::optional<log_format::file_header>();
    co_return error(errc::not_a_log);
  }

  /// After read_header() has found no header: fails with errc::not_a_log unless the file has only zeros up to `end`, or
  /// up to its own end.
  task<result<void>> check_is_blank(std::uint64_t end) {
    std::uint64_t offset = 2 * greatest_block();  // what read_header() has seen, or the file is shorter
    if (auto allocated = allocate(lesser_of<std::uint64_t>(end, most_at_once)); !allocated) co_return allocated.error();
    // A short read is the last.
    for (filled_ = memory_->size(); filled_ == memory_->size() && offset < end; offset += filled_) {
      if (auto filled = co_await fill(offset); !filled) co_return filled.error();
      const auto part = window().first(static_cast<std::size_t>(lesser_of<std::uint64_t>(end - offset, filled_)));
      if (!log_format::is_zero(part)) co_return error(errc::not_a_log);
    }
    co_return success();
  }

  /// Visits every record.
  template <class Visit>
  task<result<log_contents>> read(const log_format::file_header& header, Visit& visit) {
    header_ = header;
    end_ = {.records = 0, .end = header.first(), .tail = log_end::clean};
    next_batch_ = 1;
    // A whole batch, and the header of the one behind it.
    if (auto allocated = allocate(header.largest + greatest_block()); !allocated) co_return allocated.error();
    for (;;) {
      if (auto filled = co_await fill_for_batch(); !filled) co_return filled.error();
      const auto batch = whole_batch();
      if (!batch) break;
      if (!visit_records(*batch, visit)) {
        end_.tail = log_end::damaged;
        co_return end_;
      }
      end_.end += batch->size;
      ++next_batch_;
    }
    if (begin_ != end_.end)
      if (auto filled = co_await fill(end_.end); !filled) co_return filled.error();
    end_.tail = judge_tail();
    co_return end_;
  }

  std::uint64_t next_batch() const noexcept { return next_batch_; }

 private:
  static constexpr std::uint64_t most_largest = std::uint64_t(1) << 30;
  static constexpr std::uint64_t most_at_once = std::uint64_t(1) << 20;

  std::size_t greatest_block() const noexcept {
    const qio::alignment needed = file_.alignment();
    return greater_of<std::size_t>(greater_of(needed.read, needed.write), log_format::smallest_first);
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

  // Reads from `offset` on as much as fits, or up to the end of the file.
  task<result<void>> fill(std::uint64_t offset) {
    std::span<std::byte> into = memory_->view(0, memory_->size());
    auto read = co_await file_.async_read_at(offset, into);
    if (!read) co_return read.error();
    begin_ = offset;
    filled_ = read.value();
    co_return success();
  }

  std::span<std::byte> window() noexcept { return memory_->view(0, filled_); }
  std::span<std::byte> rest() noexcept {
    return window().subspan(static_cast<std::size_t>(lesser_of<std::uint64_t>(end_.end - begin_, filled_)));
  }

  // Reads again unless the next batch is in the window.
  task<result<void>> fill_for_batch() {
    if (filled_ != 0 && rest().size() >= log_format::sector) {
      const auto header = log_format::batch_header::load_from(rest().data());
      if (header && header->size <= rest().size()) co_return success();
    }
    co_return co_await fill(end_.end);
  }

  // The header of the next batch, if all of it is there.
  std::optional<log_format::batch_header> whole_batch() noexcept {
    if (rest().size() < log_format::sector) return std::nullopt;
    const auto header = log_format::batch_header::load_from(rest().data());
    if (!header || header->log != header_.id || header->number != next_batch_ || header->offset != end_.end ||
        header->size == 0 || header->size % header_.block != 0 || header->size > header_.largest ||
        header->size > rest().size())
      return std::nullopt;
    const auto batch = rest().first(static_cast<std::size_t>(header->size));
    return log_format::is_stamped(batch, header_.id, next_batch_) ? header : std::nullopt;
  }

  template <class Visit>
  bool visit_records(const log_format::batch_header& batch, Visit& visit) {
    std::span<const std::byte> left = log_format::join(rest().first(static_cast<std::size_t>(batch.size)));
    left = left.subspan(log_format::batch_header::bytes);
    for (std::uint64_t i = 0; i != batch.records; ++i) {
      if (left.size() < log_format::frame_bytes) return false;
      const std::uint64_t bytes = log_format::load(left.data(), log_format::frame_bytes);
      if (bytes > left.size() - log_format::frame_bytes) return false;
      const auto record = left.subspan(log_format::frame_bytes, static_cast<std::size_t>(bytes));
      if (!visit(log_record{batch.first_record + i, record})) return false;
      ++end_.records;
      left = left.subspan(static_cast<std::size_t>(lesser_of<std::uint64_t>(log_format::framed(bytes), left.size())));
    }
    return true;
  }

  // A batch is written after the one before it was acknowledged. So a later one proves that the next was.
  log_end judge_tail() noexcept {
    if (log_format::is_zero(rest())) return log_end::clean;
    for (std::size_t at = 0; at + log_format::sector <= rest().size(); at += static_cast<std::size_t>(header_.block)) {
      const auto later = log_format::batch_header::load_from(rest().data() + at);
      if (later && later->log == header_.id && later->offset == end_.end + at && later->number > next_batch_)
        return log_end::damaged;
    }
    return log_end::torn;
  }

  // Whether a log was being created: its header was written last, or partly, and nothing is behind it.
  static bool is_unfinished(std::span<const std::byte> found) noexcept {
    std::byte magic[8];
    log_format::store(magic, log_format::file_header::magic, sizeof magic);
    const auto head = found.first(lesser_of(found.size(), sizeof magic));
    std::size_t matching = 0;
    while (matching != head.size() && head[matching] == magic[matching]) ++matching;
    if (!log_format::is_zero(head.subspan(matching))) return false;
    return log_format::is_zero(found.subspan(lesser_of(found.size(), log_format::file_header::bytes)));
  }

  File& file_;
  std::optional<aligned_buffer> memory_;
  std::uint64_t begin_ = 0;  // of what is in memory: its offset in the file
  std::size_t filled_ = 0;
  log_format::file_header header_{};
  log_contents end_;
  std::uint64_t next_batch_ = 1;
};

}  // namespace detail
}  // namespace qio::inline QIO_CONFIGURATION
