// SPDX-License-Identifier: BSL-1.0
// A log that is open for appending: at an address that does not change.
#pragma once

#include <qio/base/bounds.hpp>
#include <qio/base/check.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/log/append.hpp>
#include <qio/log/batch.hpp>
#include <qio/log/format.hpp>
#include <qio/log/reader.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>
#include <qio/task.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace qio::inline QIO_CONFIGURATION {

/// How a log is laid out, and how it grows.
struct log_options {
  /// Bytes that are written as zeros in advance, so that an append changes no metadata. When half of them are used,
  /// more are prepared in the background.
  std::uint64_t extent = std::uint64_t(64) << 20;
  /// Bytes of the largest batch, which bounds the longest record: from 4096 to 1 GiB (other values are clamped),
  /// rounded up to a block. A reopened log keeps the size it was created with. Two buffers of this size are allocated.
  std::uint64_t largest_batch = std::uint64_t(1) << 20;
  /// Identifies a new log, so that it is not mistaken for another in the same blocks; 0 chooses at random. For
  /// simulations, which must repeat.
  std::uint64_t id = 0;
};

namespace detail {

/// One batch is in flight at a time; records that arrive meanwhile gather in the other one. What does not fit waits.
template <class File>
class log_writer_state final {
 public:
  using loop_type = detail::loop<typename File::engine_type>;

  log_writer_state(File&& file, const log_options& options) noexcept
      : file_(std::move(file)), loop_(file_access::loop_of(file_)), options_(options) {
    starter_.owner = this;
    starter_.completed = [](request& r) noexcept { static_cast<starter&>(r).owner->start_was_due(); };
  }
  log_writer_state(const log_writer_state&) = delete;
  log_writer_state& operator=(const log_writer_state&) = delete;

  ~log_writer_state() {
    write_.reset();
    zeros_.reset();
    sync_.reset();
    if (is_start_due_) loop_->abandon(starter_);
    fail(std::make_error_code(std::errc::operation_canceled));
  }

  /// Recovers the log, or creates it.
  template <class Visit>
  task<result<void>> open(Visit& visit) {
    // What a program that was killed has written may be in memory only, and so may what the device has refused.
    if (auto synced = co_await file_.async_sync(sync_kind::data_and_size); !synced) co_return synced.error();
    if (auto dropped = co_await file_access::drop_pages_of(file_); !dropped) co_return dropped.error();
    const auto size = file_.size();
    if (!size) co_return size.error();
    initialized_ = size.value();
    log_reader<File> reader(file_);
    auto header = co_await reader.read_header();
    if (!header) co_return header.error();
    const bool is_new = !header.value();
    header_ = is_new ? new_header() : *header.value();
    if (auto ready = allocate(); !ready) co_return ready.error();
    if (is_new) {
      if (auto blank = co_await reader.check_is_blank(header_.first() + extent()); !blank) co_return blank.error();
      co_return co_await create();
    }
    auto found = co_await reader.read(header_, visit);
    if (!found) co_return found.error();
    contents_ = found.value();
    if (contents_.tail == log_end::damaged) co_return error(errc::log_damaged, contents_.end, contents_.records);
    tail_ = contents_.end;
    next_batch_ = reader.next_batch();
    next_record_ = contents_.records + 1;
    initialized_ = greater_of(initialized_ / header_.block * header_.block, tail_);
    if (contents_.tail == log_end::torn) co_return co_await erase_torn();
    co_return success();
  }

  File& file() noexcept { return file_; }
  const log_contents& recovered() const noexcept { return contents_; }
  std::uint64_t end() const noexcept { return tail_; }
  std::uint64_t longest_record() const noexcept { return log_format::longest_record(header_.largest); }
  loop_type& loop() noexcept { return *loop_; }
  const error& failure() const noexcept { return failure_; }

  /// `r` takes its place in the log. Fails at once, without a call, if it cannot.
  error enter(log_append_request& r) noexcept {
    if (failure_.exists()) return failure_;
    if (loop_->closed()) return errc::context_closed;
    if (r.record.size() > longest_record()) return {errc::record_too_large, r.record.size(), longest_record()};
    if (late_.empty() && gathering().fits(r.record.size()))
      gather(r);
    else
      wait_in(late_, r);
    start_later();
    return {};
  }

 private:
  using write_operation = decltype(std::declval<File&>().async_write_at(0, std::declval<std::span<const std::byte>>(),
                                                                        std::declval<const write_options&>()));
  using zeros_operation = decltype(std::declval<File&>().async_write_at(0, std::declval<std::span<const std::byte>>()));
  using sync_operation = decltype(std::declval<File&>().async_sync(sync_kind::data_and_size));

  // In the loop's list behind everybody whose record has just become durable: what they append joins one batch.
  struct starter : request {
    log_writer_state* owner;
  };

  static constexpr std::size_t most_zeros = 128 * 1024;

  log_format::file_header new_header() const noexcept {
    const qio::alignment needed = file_.alignment();
    const std::uint64_t block = greater_of<std::uint64_t>(greater_of(needed.read, needed.write), log_format::sector);
    const std::uint64_t largest = log_format::round_up(
        greater_of<std::uint64_t>(lesser_of<std::uint64_t>(options_.largest_batch, std::uint64_t(1) << 30), 4096),
        block);
    return {options_.id != 0 ? options_.id : platform::unguessable_number() | 1, block, largest};
  }

  result<void> allocate() {
    const std::size_t aligned = greater_of<std::size_t>(file_.alignment().memory, default_buffer_alignment);
    for (auto& each : batches_) {
      auto memory = aligned_buffer::allocate(static_cast<std::size_t>(header_.largest), aligned);
      if (!memory) return memory.error();
      each.emplace(std::move(memory).value(), header_.block);
    }
    auto memory =
        aligned_buffer::allocate(greater_of<std::size_t>(most_zeros, static_cast<std::size_t>(header_.block)), aligned);
    if (!memory) return memory.error();
    std::fill(memory.value().begin(), memory.value().end(), std::byte{0});
    nothing_.emplace(std::move(memory).value());
    return success();
  }

  std::uint64_t extent() const noexcept {
    return log_format::round_up(greater_of(options_.extent, header_.largest), header_.block);
  }

  // The header is written last: without it there is no log.
  task<result<void>> create() {
    tail_ = header_.first();
    contents_.end = tail_;
    const std::uint64_t end = tail_ + extent();
    if (auto zeroed = co_await zero(0, end); !zeroed) co_return zeroed.error();
    if (auto synced = co_await file_.async_sync(sync_kind::data_and_size); !synced) co_return synced.error();
    initialized_ = end;
    auto block = aligned_buffer::allocate(static_cast<std::size_t>(header_.first()),
                                          greater_of<std::size_t>(file_.alignment().memory, default_buffer_alignment));
    if (!block) co_return block.error();
    std::fill(block.value().begin(), block.value().end(), std::byte{0});
    header_.store_to(block.value().data());
    std::span<const std::byte> from = block.value().view(0, static_cast<std::size_t>(header_.first()));
    if (auto written = co_await file_.async_write_at(0, from, {.durable = true}); !written) co_return written.error();
    co_return success();
  }

  // What is left of a torn batch must not become part of a later one: both have the same number.
  task<result<void>> erase_torn() {
    if (auto zeroed = co_await zero(tail_, lesser_of(tail_ + header_.largest, initialized_)); !zeroed)
      co_return zeroed.error();
    co_return co_await file_.async_sync(sync_kind::data_and_size);
  }

  task<result<void>> zero(std::uint64_t from, std::uint64_t to) {
    while (from < to) {
      const std::span<const std::byte> part = zeros_for(from, to);
      if (auto written = co_await file_.async_write_at(from, part); !written) co_return written.error();
      from += part.size();
    }
    co_return success();
  }
  std::span<const std::byte> zeros_for(std::uint64_t from, std::uint64_t to) const noexcept {
    return nothing_->view(0, static_cast<std::size_t>(lesser_of<std::uint64_t>(to - from, nothing_->size())));
  }

  // --- gathering ---

  log_batch& gathering() noexcept { return *batches_[gathering_]; }
  log_batch& other() noexcept { return *batches_[1 - gathering_]; }

  void gather(log_append_request& r) noexcept {
    gathering().add(r.record);
    r.number = next_record_++;
    wait_in(gathering().waiting, r);
  }
  static void wait_in(queue<request>& list, log_append_request& r) noexcept {
    list.push(r);
    r.list = &list;
  }
  void gather_late() noexcept {
    while (request* const first = late_.first()) {
      auto& r = static_cast<log_append_request&>(*first);
      if (!gathering().fits(r.record.size())) return;
      late_.remove(r);
      gather(r);
    }
  }

  // --- writing ---

  void start_later() noexcept {
    if (is_writing_ || is_start_due_ || is_growth_awaited_) return;
    is_start_due_ = true;
    loop_->complete_later(starter_);
  }
  void start_was_due() noexcept {
    is_start_due_ = false;
    start();
  }

  void start() noexcept {
    // A record whose append was destroyed before it was gathered may have left room.
    gather_late();
    if (is_writing_ || gathering().empty() || failure_.exists()) return;
    log_batch& batch = gathering();
    if (batch.size() > initialized_ - tail_) {
      is_growth_awaited_ = true;
      return grow();
    }
    const std::span<const std::byte> bytes =
        batch.finish(header_.id, next_batch_, tail_, next_record_ - batch.records());
    is_writing_ = true;
    gathering_ = 1 - gathering_;
    gather_late();
    write_.emplace([&] { return file_.async_write_at(tail_, bytes, write_options{.durable = true}); })
        .start([this](result<std::size_t> written) { end_write(written); });
    if (initialized_ - (tail_ + bytes.size()) < extent() / 2) grow();
  }

  void end_write(const result<std::size_t>& written) noexcept {
    is_writing_ = false;
    if (!written) return fail(written.error());
    tail_ += written.value();
    ++next_batch_;
    complete_all(other().waiting, {});
    other().reset();
    if (!gathering().empty()) start_later();
  }

  // --- growing: zeros, then a sync, beside the appends ---

  void grow() noexcept {
    if (is_growing_) return;
    if (growth_failure_.exists()) {
      if (is_growth_awaited_) fail(growth_failure_);
      return;
    }
    is_growing_ = true;
    zeroed_ = initialized_;
    grown_ = initialized_ + extent();
    grow_on();
  }
  void grow_on() noexcept {
    if (zeroed_ == grown_) {
      sync_.emplace([&] { return file_.async_sync(sync_kind::data_and_size); }).start([this](result<void> synced) {
        end_growth(synced ? error() : synced.error());
      });
      return;
    }
    zeros_.emplace([&] { return file_.async_write_at(zeroed_, zeros_for(zeroed_, grown_)); })
        .start([this](result<std::size_t> written) {
          if (!written) return end_growth(written.error());
          zeroed_ += written.value();
          grow_on();
        });
  }
  // Appends succeed as long as there is room.
  void end_growth(const error& failure) noexcept {
    is_growing_ = false;
    if (failure.exists())
      growth_failure_ = failure;
    else
      initialized_ = grown_;
    if (!std::exchange(is_growth_awaited_, false)) return;
    if (failure.exists()) return fail(failure);
    start();
  }

  // --- completing ---

  void complete_all(queue<request>& waiting, const error& failure) noexcept {
    while (request* const first = waiting.pop()) {
      auto& r = static_cast<log_append_request&>(*first);
      r.list = nullptr;
      r.failure = failure;
      loop_->complete_later(r);
    }
  }

  // Nothing is appended any more: after a failure it is unknown what the device has.
  void fail(const error& why) noexcept {
    if (!failure_.exists()) failure_ = why.code();
    for (auto& each : batches_)
      if (each) {
        complete_all(each->waiting, failure_);
        each->reset();
      }
    complete_all(late_, failure_);
  }

  File file_;
  std::shared_ptr<loop_type> loop_;
  log_options options_;
  log_format::file_header header_{};
  log_contents contents_;
  error failure_;         // of a write: sticky
  error growth_failure_;  // matters once the space that is left is used up

  std::uint64_t tail_ = 0;         // where the next batch is written
  std::uint64_t initialized_ = 0;  // the end of what was written, if only as zeros
  std::uint64_t next_batch_ = 1, next_record_ = 1;

  std::optional<log_batch> batches_[2];
  unsigned gathering_ = 0;  // the index of the one that is not in flight
  queue<request> late_;     // records for which there is no room yet
  starter starter_;
  bool is_start_due_ = false;
  bool is_writing_ = false;

  std::optional<aligned_buffer> nothing_;
  bool is_growing_ = false;
  bool is_growth_awaited_ = false;
  std::uint64_t zeroed_ = 0, grown_ = 0;

  operation_slot<write_operation> write_;
  operation_slot<zeros_operation> zeros_;
  operation_slot<sync_operation> sync_;
};

}  // namespace detail
}  // namespace qio::inline QIO_CONFIGURATION
