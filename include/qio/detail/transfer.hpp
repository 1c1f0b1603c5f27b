// SPDX-License-Identifier: BSL-1.0
// A transfer in progress: what to ask of the system next, and what its answer means. The one place that knows
// about short transfers, end of file and the system's limits; blocking calls, workers and rings all go through it.
#pragma once

#include <qio/buffer.hpp>
#include <qio/detail/bounds.hpp>
#include <qio/detail/piece.hpp>
#include <qio/detail/platform.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

namespace qio::detail {

class transfer {
 public:
  enum class progress : std::uint8_t { finished, unfinished };

  transfer() noexcept = default;

  transfer(std::uint64_t offset, mutable_buffer buffer) noexcept
      : offset_(offset), total_(buffer.size), start_(buffer.data) {}

  /// `buffers` is borrowed until the transfer is over.
  transfer(std::uint64_t offset, std::span<const mutable_buffer> buffers) noexcept
      : offset_(offset), vector_(buffers.data()), count_(buffers.size()) {
    // A sum past every file saturates there, and is refused.
    constexpr std::size_t too_large = max_offset + 1;
    for (const mutable_buffer& each : buffers) total_ = each.size < too_large - total_ ? total_ + each.size : too_large;
    if (total_ != 0) skip_finished_buffers();
  }

  std::uint64_t offset() const noexcept { return offset_; }
  std::size_t total() const noexcept { return total_; }
  std::size_t transferred() const noexcept { return transferred_; }

  piece next() const noexcept {
    if (has_one_buffer()) [[likely]]
      return {next_offset(), nullptr, 0, rest_of_buffer()};
    return next_of_several(next_offset());
  }

  // Of next(), for who has it in its registers.
  bool has_one_buffer() const noexcept { return vector_ == nullptr; }
  std::uint64_t next_offset() const noexcept { return offset_ + transferred_; }
  mutable_buffer rest_of_buffer() const noexcept { return rest_of({start_, total_}, transferred_); }

  /// Takes the answer that nearly all calls give: everything that was left. False if it is another one, which is not
  /// taken. (What is in progress has something left; what is no transfer, and moves nothing, is finished by 0.)
  bool is_finished_by(raw_result answer) noexcept {
    if (static_cast<std::size_t>(answer) != total_ - transferred_) return false;
    transferred_ = total_;
    return true;
  }

  /// Takes the system's answer to a read of next(). `alignment` is 1, or what a direct read has to start at.
  progress after_read(raw_result answer, std::uint32_t alignment, error& failure) noexcept {
    if (answer <= 0) return answer == 0 ? progress::finished : failed(answer, failure);
    if (advance(static_cast<std::size_t>(answer)) == progress::finished) return progress::finished;
    // A direct read that stops between two blocks has met the end of the file, and could not go on from there.
    const bool between_blocks = ((offset_ + transferred_) & (alignment - 1)) != 0;
    return between_blocks ? progress::finished : progress::unfinished;
  }

  /// The same for a write. One that moves nothing and says nothing is reported as an I/O error, not repeated.
  progress after_write(raw_result answer, error& failure) noexcept {
    if (answer == 0) return failed(std::make_error_code(std::errc::io_error), failure);
    if (answer < 0) return failed(answer, failure);
    return advance(static_cast<std::size_t>(answer));
  }

 private:
  static mutable_buffer rest_of(const mutable_buffer& buffer, std::size_t done) noexcept {
    return {static_cast<std::byte*>(buffer.data) + done, lesser_of(buffer.size - done, max_transfer_bytes)};
  }

  [[gnu::noinline]] piece next_of_several(std::uint64_t offset) const noexcept {
    if (within_ != 0) return {offset, nullptr, 0, rest_of(*vector_, within_)};
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
    transferred_ += bytes;
    if (transferred_ == total_) return progress::finished;
    if (vector_ == nullptr) return progress::unfinished;
    within_ += bytes;
    skip_finished_buffers();
    return progress::unfinished;
  }

  // Empty ones, too: a call with nothing but empty buffers would answer 0, as at the end of the file.
  void skip_finished_buffers() noexcept {
    while (within_ >= vector_->size) {
      within_ -= vector_->size;
      ++vector_;
      --count_;
    }
  }

  std::uint64_t offset_ = 0;
  std::size_t total_ = 0;
  std::size_t transferred_ = 0;
  const mutable_buffer* vector_ = nullptr;  // the buffer that is being filled; null if there is just one:
  union {
    void* start_ = nullptr;  // where that one begins
    std::size_t count_;      // else: how many there are from *vector_ on, and …
  };
  std::size_t within_ = 0;  // … how many bytes of *vector_ are done
};

}  // namespace qio::detail
