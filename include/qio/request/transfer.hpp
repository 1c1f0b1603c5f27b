// SPDX-License-Identifier: BSL-1.0
// A transfer in progress: what to request from the system next, and what the result means. Only this class handles
// short transfers, end of file and the system's limits; blocking calls, workers and rings all use it.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/piece.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace qio::inline QIO_CONFIGURATION::detail {

class transfer {
 public:
  enum class progress : std::uint8_t { finished, unfinished };

  transfer() noexcept = default;

  transfer(std::uint64_t offset, mutable_buffer buffer) noexcept
      : offset_(offset), total_(buffer.size), start_(buffer.data) {}

  /// `buffers` is borrowed until the transfer is finished.
  transfer(std::uint64_t offset, buffer_list buffers) noexcept
      : offset_(offset), vector_(buffers.first), count_(buffers.count) {
    // A sum beyond the largest file saturates, and is rejected later.
    constexpr std::size_t too_large = max_offset + 1;
    for (const mutable_buffer each : buffers) total_ = each.size < too_large - total_ ? total_ + each.size : too_large;
    if (total_ != 0) skip_finished_buffers();
  }

  std::uint64_t offset() const noexcept { return offset_; }
  std::size_t total() const noexcept { return total_; }
  std::size_t transferred() const noexcept { return transferred_; }

  /// The next piece to transfer. Something must be left.
  QIO_ALWAYS_INLINE piece next() const noexcept {
    QIO_CHECK(transferred_ < total_, "the next piece of a transfer was requested, but nothing is left to move");
    if (!has_one_buffer()) [[unlikely]]
      return next_of_several(next_offset());
    return {next_offset(), nullptr, 0, rest_of_buffer()};
  }

  /// What one call covers that names a range, and moves nothing: from next_offset() on.
  std::size_t next_range() const noexcept { return lesser_of(total_ - transferred_, max_transfer_bytes); }

  // The parts of next(), for callers that need only some of them.
  bool has_one_buffer() const noexcept { return vector_ == nullptr; }
  std::uint64_t next_offset() const noexcept { return offset_ + transferred_; }
  mutable_buffer rest_of_buffer() const noexcept { return rest_of({start_, total_}, transferred_); }

  /// Handles the result of nearly all calls: all that was left was transferred. Returns false, and changes nothing, if
  /// the result is another one. (A transfer in progress has something left. A sync moves nothing, so 0 finishes it.)
  bool is_finished_by(raw_result answer) noexcept {
    if (static_cast<std::size_t>(answer) != total_ - transferred_) return false;
    transferred_ = total_;
    return true;
  }

  /// Handles the result of a read of next(). `alignment` is what the offset of a direct read must be a multiple of; 1
  /// for other reads.
  progress after_read(raw_result answer, std::uint32_t alignment, error& failure) noexcept {
    if (answer <= 0) return answer == 0 ? progress::finished : failed(answer, failure);
    if (advance(static_cast<std::size_t>(answer)) == progress::finished) return progress::finished;
    // A direct read that stops between two blocks has reached the end of the file, and could not continue there.
    const bool between_blocks = ((offset_ + transferred_) & (alignment - 1)) != 0;
    return between_blocks ? progress::finished : progress::unfinished;
  }

  /// Handles the result of a write of next(). A write of 0 bytes without an error is reported as an I/O error, not
  /// retried.
  progress after_write(raw_result answer, error& failure) noexcept {
    if (answer == 0) return failed(std::make_error_code(std::errc::io_error), failure);
    if (answer < 0) return failed(answer, failure);
    return advance(static_cast<std::size_t>(answer));
  }

  /// Handles the result of a call that covered next_range(): 0, or an error.
  progress after_range(raw_result answer, error& failure) noexcept {
    return answer < 0 ? failed(answer, failure) : advance(next_range());
  }

 private:
  static mutable_buffer rest_of(const mutable_buffer& buffer, std::size_t done) noexcept {
    return {static_cast<std::byte*>(buffer.data) + done, lesser_of(buffer.size - done, max_transfer_bytes)};
  }

  QIO_COLD piece next_of_several(std::uint64_t offset) const noexcept {
    if (within_ != 0) return {offset, nullptr, 0, rest_of(vector_[0], within_)};
    return {offset, vector_, lesser_of(count_, max_transfer_buffers), {}};
  }

  progress failed(raw_result answer, error& failure) const noexcept {
    return failed(std::error_code(static_cast<int>(-answer), platform::system_category()), failure);
  }

  progress failed(std::error_code code, error& failure) const noexcept {
    if (code == std::errc::interrupted) return progress::unfinished;
    failure = error::of_transfer(code, transferred_);
    return progress::finished;
  }

  progress advance(std::size_t bytes) noexcept {
    QIO_CHECK(bytes <= total_ - transferred_, "the system moved more bytes than it was asked to");
    transferred_ += bytes;
    if (transferred_ == total_) return progress::finished;
    if (vector_ == nullptr) return progress::unfinished;
    within_ += bytes;
    skip_finished_buffers();
    return progress::unfinished;
  }

  // Empty buffers, too: a call with nothing but empty buffers would return 0, as at the end of the file.
  void skip_finished_buffers() noexcept {
    while (within_ >= vector_[0].size) {
      within_ -= vector_[0].size;
      vector_.skip(1);
      --count_;
    }
  }

  std::uint64_t offset_ = 0;
  std::size_t total_ = 0;
  std::size_t transferred_ = 0;
  buffer_array vector_;  // the current buffer; null if there is only one
  union {
    void* start_ = nullptr;  // of the only buffer
    std::size_t count_;      // of the buffers from vector_[0] on
  };
  std::size_t within_ = 0;  // bytes of vector_[0] that are done
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
