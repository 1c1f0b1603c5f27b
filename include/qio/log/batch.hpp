// SPDX-License-Identifier: BSL-1.0
// Records that become durable together.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/log/format.hpp>
#include <qio/request/request.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Owns the memory that is written, and lists who waits for it.
class log_batch {
 public:
  log_batch(aligned_buffer&& memory, std::uint64_t block) noexcept : memory_(std::move(memory)), block_(block) {}

  bool empty() const noexcept { return records_ == 0; }
  std::uint64_t records() const noexcept { return records_; }
  bool fits(std::size_t record) const noexcept {
    return log_format::on_disk(payload_ + log_format::framed(record), block_) <= memory_.size();
  }
  /// On the disk, in bytes.
  std::size_t size() const noexcept { return static_cast<std::size_t>(log_format::on_disk(payload_, block_)); }

  void add(std::span<const std::byte> record) noexcept {
    QIO_CHECK(fits(record.size()), "bug in qio: a record was added to a batch that has no room for it");
    std::byte frame[log_format::frame_bytes];
    log_format::store(frame, record.size(), sizeof frame);
    log_format::put(memory_.data(), payload_, frame);
    log_format::put(memory_.data(), payload_ + sizeof frame, record);
    clear(payload_ + sizeof frame + record.size(),
          payload_ + static_cast<std::size_t>(log_format::framed(record.size())));
    payload_ += static_cast<std::size_t>(log_format::framed(record.size()));
    ++records_;
  }

  /// The bytes to write at `at` into the log of that header.
  std::span<const std::byte> finish(const log_format::file_header& log, const log_format::position& at) noexcept {
    QIO_CHECK(!empty(), "bug in qio: a batch without records was to be written");
    const std::size_t bytes = size();
    clear(payload_, bytes / log_format::sector * log_format::payload);
    log_format::batch_header header{log.id, log.generation, at.batch, at.offset, bytes, at.record, records_, 0};
    const log_format::stamps stamps = header.stamps_of();
    if ((log.flags & log_format::file_header::has_checksums) != 0)
      header.checksum = log_format::checksum_of(std::as_const(memory_).view(0, bytes), stamps);
    header.store_to(memory_.data());
    log_format::stamp(memory_.view(0, bytes), stamps);
    return std::as_const(memory_).view(0, bytes);
  }

  /// Its records are durable, or lost. Nobody waits for them any more.
  void reset() noexcept {
    QIO_CHECK(waiting.empty(), "bug in qio: a batch was used again while somebody waited for it");
    payload_ = log_format::batch_header::bytes;
    records_ = 0;
  }

  queue<request> waiting;

 private:
  void clear(std::size_t from, std::size_t to) noexcept {
    static constexpr std::byte zeros[log_format::payload]{};
    for (; from < to; from += lesser_of(to - from, sizeof zeros))
      log_format::put(memory_.data(), from, std::span(zeros).first(lesser_of(to - from, sizeof zeros)));
  }

  aligned_buffer memory_;
  std::uint64_t block_;
  std::size_t payload_ = log_format::batch_header::bytes;
  std::uint64_t records_ = 0;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
