// SPDX-License-Identifier: BSL-1.0
// How records reach a log: appends, the batches that they are written in, and the writer, which commits groups of them.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/base/process_mutex.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
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
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

// --- What is on its way into a log ---

namespace detail {

/// No engine gets it: the log takes it, and gives it to the loop when it is durable.
struct log_request : request {
  std::uint64_t number = 0;        ///< the result
  queue<request>* list = nullptr;  ///< of the log, which it is in
};

/// Appends one record; `number` is its place in the log.
struct log_append_request : log_request {
  std::span<const std::byte> record;
};

/// Drops the records in front of one; `number` is that of the first record that is left.
struct log_trim_request : log_request {
  std::uint64_t kept = 0;
  std::uint64_t begin = 0;  ///< where the log will begin
};

}  // namespace detail

/// What changes a log: log_append and log_trim, made by log_writer. Awaited, or started with a callback, once.
/// Immovable, and allocates nothing. Destroying it in flight abandons it: the record may or may not be in the log.
template <class State, class Request>
class [[nodiscard]] log_operation final : private Request {
  using Request::completed;
  using Request::failure;
  using Request::list;

 public:
  using result_type = result<std::uint64_t>;  ///< the number of the record, or of the first one that is left

  /// For log_writer. A null `log` is one that was moved from.
  log_operation(State* log, std::span<const std::byte> bytes) noexcept
    requires std::same_as<Request, detail::log_append_request>
      : log_(log) {
    this->record = bytes;
  }
  /// The same for a trim.
  log_operation(State* log, std::uint64_t record) noexcept
    requires std::same_as<Request, detail::log_trim_request>
      : log_(log) {
    this->kept = record;
  }
  log_operation(const log_operation&) = delete;
  log_operation& operator=(const log_operation&) = delete;
  ~log_operation() {
    if (stage_ != stage::started) return;
    loop_->require_own_thread("an operation of a log was destroyed by another thread than its context's");
    if (list != nullptr)
      list->remove(*this);
    else
      loop_->abandon(*this);
  }

  bool await_ready(detail::caller from = detail::caller::here()) noexcept {
    QIO_CHECK_AT(stage_ == stage::made, "an operation of a log was awaited that has already been started or awaited",
                 from);
    if (is_refused()) return true;
    require_own_thread(from);
    if (!log_->loop().closed())
      log_->loop().require_running(
          "an operation of a log was awaited inside another context's run(), and nothing runs its own context "
          "meanwhile: "
          "run that on a thread of its own, and co_await its schedule() first",
          from);
    return false;
  }
  bool await_suspend(std::coroutine_handle<> waiting) noexcept {
    new (&storage_) std::coroutine_handle<>(waiting);
    completed = [](request& self) noexcept {
      auto& done = static_cast<log_operation&>(self);
      done.stage_ = stage::completed;
      std::launder(reinterpret_cast<std::coroutine_handle<>*>(&done.storage_))->resume();
    };
    return enter();
  }
  result_type await_resume() noexcept {
    stage_ = stage::completed;
    return answer();
  }

  /// `callback(result)` is called once, on the context's thread, from within run() or poll(), never from within start()
  /// (unless the log was moved from, or has outlived its context). See operation::start() for suitable callbacks. (The
  /// last parameter is for checks.)
  template <class Callback>
    requires std::invocable<Callback&, result_type>
  void start(Callback callback, detail::caller from = detail::caller::here()) noexcept {
    static_assert(std::is_trivially_copyable_v<Callback> && sizeof(Callback) <= sizeof(storage_) &&
                      alignof(Callback) <= alignof(void*),
                  "qio: a callback must be trivially copyable and at most four pointers in size; capture a pointer");
    QIO_CHECK_AT(stage_ == stage::made, "an operation of a log was started that has already been started or awaited",
                 from);
    new (&storage_) Callback(callback);
    completed = [](request& self) noexcept {
      auto& done = static_cast<log_operation&>(self);
      done.stage_ = stage::completed;
      Callback copy = *std::launder(reinterpret_cast<Callback*>(&done.storage_));  // it may destroy the append
      copy(done.answer());
    };
    if (is_refused()) return completed(*this);
    require_own_thread(from);
    if (enter()) return;
    stage_ = stage::started;
    loop_->complete_later(*this);
  }

 private:
  enum class stage : std::uint8_t { made, started, completed };

  bool is_refused() noexcept {
    if (log_ == nullptr) failure = std::make_error_code(std::errc::bad_file_descriptor);
    return log_ == nullptr;
  }
  void require_own_thread(detail::caller from) const noexcept {
    log_->loop().require_own_thread("a log was changed by another thread than its context's", from);
  }
  // False if it was refused.
  bool enter() noexcept {
    loop_ = &log_->loop();
    failure = log_->enter(*this);
    if (!failure.exists()) stage_ = stage::started;
    return !failure.exists();
  }
  result_type answer() const noexcept {
    if (this->failed()) return failure;
    return this->number;
  }

  State* log_;
  typename State::loop_type* loop_ = nullptr;
  alignas(void*) std::byte storage_[4 * sizeof(void*)];  // the coroutine or the callback that waits
  stage stage_ = stage::made;
};

/// The append of one record: see log_writer::append().
template <class State>
using log_append = log_operation<State, detail::log_append_request>;
/// Drops the records in front of one: see log_writer::trim().
template <class State>
using log_trim = log_operation<State, detail::log_trim_request>;

QIO_END_NAMESPACE

QIO_BEGIN_NAMESPACE
namespace detail {

// --- Records that become durable together ---

/// Owns the memory that is written, and lists who waits for it.
class log_batch {
 public:
  /// The batch takes at most `largest` bytes on the disk; the memory may be larger.
  log_batch(aligned_buffer&& memory, std::uint64_t largest, std::uint64_t block) noexcept
      : memory_(std::move(memory)), largest_(largest), block_(block) {
    QIO_CHECK(largest_ <= memory_.size(), "bug in qio: a batch was given less memory than it may take");
  }

  bool empty() const noexcept { return records_ == 0; }
  std::uint64_t records() const noexcept { return records_; }
  bool fits(std::size_t record) const noexcept {
    return log_format::on_disk(payload_ + log_format::framed(record), block_) <= largest_;
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
  std::span<std::byte> finish(const log_format::file_header& log, const log_format::position& at) noexcept {
    QIO_CHECK(!empty(), "bug in qio: a batch without records was to be written");
    const std::span<std::byte> whole = memory_.view(0, size());
    clear(payload_, whole.size() / log_format::sector * log_format::payload);
    log_format::batch_header header{log.id, log.generation, at.batch, at.offset, whole.size(), at.record, records_, 0};
    const log_format::stamps stamps = header.stamps_of();
    if ((log.flags & log_format::file_header::has_checksums) != 0)
      header.checksum = log_format::checksum_of(whole, stamps);
    header.store_to(whole.data());
    log_format::stamp(whole, stamps);
    return whole;
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
  std::uint64_t largest_;  // what readers accept
  std::uint64_t block_;
  std::size_t payload_ = log_format::batch_header::bytes;
  std::uint64_t records_ = 0;
};

}  // namespace detail
QIO_END_NAMESPACE

QIO_BEGIN_NAMESPACE

// --- A log that is open for appending: at an address that does not change ---

/// How a log is laid out, and how it grows.
struct log_options {
  /// Bytes that are written as zeros in advance, so that an append changes no metadata. When half of them are used,
  /// more are prepared in the background. At most 1 TiB: errc::log_extent_too_large.
  std::uint64_t extent = std::uint64_t(64) << 20;
  /// Bytes of the largest batch, which bounds the longest record: at least 4096 (less is clamped), rounded up to a
  /// block, and at most batch_limit. A reopened log keeps the size it was created with. Two buffers of this size are
  /// allocated, and one more while the log is opened.
  std::uint64_t largest_batch = std::uint64_t(1) << 20;
  /// A log with larger batches is neither created nor opened or read: errc::log_batch_too_large. The size is in the
  /// file, which may be forged, and decides how much memory and disk opening takes.
  std::uint64_t batch_limit = std::uint64_t(16) << 20;
  /// Whether the batches of a new log have checksums: then bytes that changed on the device are damage, even if the
  /// visitor accepts them. A reopened log has them if it was created with them.
  bool checksums = false;
  /// Identifies a new log, so that it is not mistaken for another in the same blocks; 0 chooses at random. For
  /// simulations, which must repeat.
  std::uint64_t id = 0;
};

namespace detail {

/// What keeps a second writer from a log: an exclusive lock of one byte that no data reaches, so that transfers of
/// others go on where locks are mandatory (Windows).
inline constexpr extent lock_of_log{max_offset - 1, 1};

/// One batch is in flight at a time; records that arrive meanwhile gather in the other one. What does not fit waits.
template <class File>
class log_writer_state final {
 public:
  using loop_type = detail::loop<typename File::engine_type>;

  log_writer_state(File&& file, const log_options& options) noexcept
      : file_(std::move(file)), loop_(file_access::loop_of(file_)), options_(options) {
    starter_.owner = this;
    starter_.completed = [](request& r) noexcept {
      log_writer_state& due = *static_cast<starter&>(r).owner;
      QIO_CHECK(due.is_start_due_ && !due.is_writing_, "bug in qio: a write of a log was started that was not due");
      due.is_start_due_ = false;
      due.start();
    };
  }
  log_writer_state(const log_writer_state&) = delete;
  log_writer_state& operator=(const log_writer_state&) = delete;

  ~log_writer_state() {
    discard_.reset();
    write_.reset();
    zeros_.reset();
    sync_.reset();
    header_write_.reset();
    if (is_start_due_) loop_->abandon(starter_);
    fail(std::make_error_code(std::errc::operation_canceled));
    complete_all(trims_, failure_);
    // A child process has the lock of its parent.
    if (is_locked_ && !locked_in_.has_changed()) static_cast<void>(file_.unlock(lock_of_log));
  }

  /// Recovers the log, or creates it.
  template <class Visit>
  task<result<void>> open(Visit& visit) {
    if (options_.extent > most_extent) co_return error(errc::log_extent_too_large, options_.extent, most_extent);
    if (!file_.is_open()) co_return error(std::make_error_code(std::errc::bad_file_descriptor));
    const auto& granted = file_access::activity_of(file_);
    if (!granted.may_read() || !granted.may_write()) co_return error(errc::access_not_granted);
    if (file_access::is_shared(file_)) co_return error(errc::log_is_open);
    file_access::keep_out_of_ring(file_);
    const auto locked = file_.try_lock(lock_kind::exclusive, lock_of_log);
    if (!locked) co_return locked.error();
    if (!locked.value()) co_return error(errc::log_is_open);
    is_locked_ = true;
    static_cast<void>(locked_in_.has_changed());
    // What a program that was killed has written may be in memory only, and so may what the device has refused.
    if (auto synced = co_await file_.async_sync(sync_kind::data_and_size); !synced) co_return synced.error();
    if (auto dropped = co_await file_access::drop_pages_of(file_); !dropped) co_return dropped.error();
    log_reader<File> reader(file_, true, &positions_);
    auto header = co_await reader.read_header();
    if (!header) co_return header.error();
    const bool is_new = !header.value();
    header_ = is_new ? new_header() : *header.value();
    if (header_.largest > options_.batch_limit)
      co_return error(errc::log_batch_too_large, header_.largest, options_.batch_limit);
    if (const std::uint32_t needed = file_.alignment().write; header_.block % needed != 0)
      co_return error(errc::misaligned_length, header_.block, needed);
    if (auto ready = prepare(); !ready) co_return ready.error();
    if (is_new) {
      if (auto blank = co_await reader.check_is_blank(); !blank) co_return blank.error();
      co_return co_await create();
    }
    auto found = co_await reader.read(header_, visit);
    if (!found) co_return found.error();
    contents_ = found.value();
    if (contents_.tail == log_end::damaged) co_return error(errc::log_damaged, contents_.end, contents_.records);
    tail_ = reader.next();
    if (!log_format::may_be_continued(header_, tail_)) co_return error(errc::not_a_log);
    next_record_ = tail_.record;
    initialized_ = header_.owned = greater_of(header_.owned, tail_.offset);
    if (contents_.tail == log_end::torn)
      if (auto erased = co_await erase_torn(); !erased) co_return erased.error();
    ++header_.generation;
    co_return co_await write_header(1 - reader.newest_copy());
  }

  File& file() noexcept { return file_; }
  const log_contents& recovered() const noexcept { return contents_; }
  std::uint64_t end() const noexcept { return tail_.offset; }
  std::uint64_t longest_record() const noexcept { return longest_record_; }
  loop_type& loop() noexcept { return *loop_; }
  const error& failure() const noexcept { return failure_; }
  std::uint64_t first_record() const noexcept { return header_.start.record; }
  std::uint64_t discarded() const noexcept { return discarded_; }

  /// `r` takes its place in the log. Fails at once, without a call, if it cannot.
  error enter(log_append_request& r) noexcept {
    QIO_CHECK(r.list == nullptr, "bug in qio: an append was started twice");
    if (failure_.exists()) return failure_;
    if (loop_->closed()) return errc::context_closed;
    if (r.record.size() > longest_record_) return {errc::record_too_large, r.record.size(), longest_record_};
    if (late_.empty() && gathering().fits(r.record.size()))
      gather(r);
    else
      wait_in(late_, r);
    start_later();
    return {};
  }

  /// `r` waits until the log begins behind what it does not keep. Fails at once if that is not durable yet.
  error enter(log_trim_request& r) noexcept {
    QIO_CHECK(r.list == nullptr, "bug in qio: a trim was started twice");
    if (failure_.exists()) return failure_;
    if (renewal_failure_.exists()) return renewal_failure_;
    if (loop_->closed()) return errc::context_closed;
    if (r.kept > tail_.record) return {errc::record_not_durable, r.kept, tail_.record};
    const log_format::position begin = r.kept == tail_.record ? tail_ : positions_.in_front_of(r.kept, header_.start);
    const bool is_later = begin.offset > header_.start.offset;
    if (is_later) {
      header_.start = begin;
      positions_.drop(begin);
    }
    r.number = header_.start.record;
    r.begin = header_.start.offset;
    wait_in(trims_, r);
    if (is_later) renew();
    discard();
    return {};
  }

 private:
  using write_operation = decltype(std::declval<File&>().async_write_at(0, std::declval<std::span<const std::byte>>()));
  using sync_operation = decltype(std::declval<File&>().async_sync(sync_kind::data_and_size));
  using discard_operation = decltype(std::declval<File&>().async_discard(0, 0));

  // In the loop's list behind everybody whose record has just become durable: what they append joins one batch.
  struct starter : request {
    log_writer_state* owner;
  };

  static constexpr std::size_t most_zeros = 128 * 1024;
  static constexpr std::uint64_t most_extent = std::uint64_t(1) << 40;

  log_format::file_header new_header() const noexcept {
    const qio::alignment needed = file_.alignment();
    log_format::file_header made;
    made.id = options_.id != 0 ? options_.id : platform::unguessable_number() | 1;
    made.block = greater_of<std::uint64_t>(greater_of(needed.read, needed.write), log_format::sector);
    const std::uint64_t largest = lesser_of(options_.largest_batch, most_extent);
    made.largest = log_format::round_up(greater_of<std::uint64_t>(largest, 4096), made.block);
    made.flags = options_.checksums ? log_format::file_header::has_checksums : 0;
    made.start.offset = made.first();
    return made;
  }

  // What follows from the header and the file, and is the same for each batch; and memory.
  result<void> prepare() {
    longest_record_ = log_format::longest_record(header_.largest);
    extent_ = log_format::round_up(greater_of(options_.extent, header_.largest), header_.block);
    durable_start_ = header_.start.offset;
    durable_ = file_access::flags_of(file_, {.durable = true});
    const file_activity& file = file_access::activity_of(file_);
    grows_alone_ = file.writes_durably && file.writes_to_cache;
    const std::size_t aligned = greater_of<std::size_t>(file_.alignment().memory, default_buffer_alignment);
    for (auto& each : batches_) {
      auto memory = aligned_buffer::allocate(static_cast<std::size_t>(header_.largest), aligned);
      if (!memory) return memory.error();
      each.emplace(std::move(memory).value(), header_.largest, header_.block);
    }
    const auto allocate_zeros = [aligned](std::optional<aligned_buffer>& into, std::size_t bytes) -> result<void> {
      auto memory = aligned_buffer::allocate(bytes, aligned);
      if (!memory) return memory.error();
      std::fill(memory.value().begin(), memory.value().end(), std::byte{0});
      into.emplace(std::move(memory).value());
      return success();
    };
    const auto copy_bytes = static_cast<std::size_t>(header_.copy_bytes());
    if (auto ready = allocate_zeros(header_copy_, copy_bytes); !ready) return ready;
    return allocate_zeros(nothing_, greater_of(most_zeros, copy_bytes));
  }

  // The header is written last: without it there is no log.
  task<result<void>> create() {
    tail_ = header_.start;
    contents_.end = tail_.offset;
    initialized_ = header_.owned = tail_.offset + extent_;
    if (auto zeroed = co_await zero(0, initialized_); !zeroed) co_return zeroed.error();
    if (auto synced = co_await file_.async_sync(sync_kind::data_and_size); !synced) co_return synced.error();
    co_return co_await write_header(0);
  }

  // One copy after the other, so that a crash leaves one of them whole.
  task<result<void>> write_header(unsigned first) {
    QIO_CHECK(tail_.is_behind(header_.known) || header_.known.offset == 0,
              "bug in qio: the header of a log would claim less than before");
    header_.known = tail_;
    for (const unsigned copy : {first, 1 - first}) {
      const std::span<std::byte> from = header_copy(copy);
      auto written = co_await file_.async_write_at(offset_of_copy(copy), from, {.durable = true});
      if (!written) co_return written.error();
    }
    co_return success();
  }
  std::uint64_t offset_of_copy(unsigned copy) const noexcept { return copy * header_.copy_bytes(); }
  std::span<std::byte> header_copy(unsigned copy) noexcept {
    header_.store_to(header_copy_->data(), offset_of_copy(copy));
    return header_copy_->view(0, static_cast<std::size_t>(header_.copy_bytes()));
  }

  // What is left of a torn batch must not look like damage behind a shorter one. While the generation is the one that
  // wrote it: a crash leaves a torn batch again.
  task<result<void>> erase_torn() {
    if (auto zeroed = co_await zero(tail_.offset, lesser_of(tail_.offset + header_.largest, initialized_)); !zeroed)
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
    QIO_CHECK(!failure_.exists() && r.list == nullptr, "bug in qio: a record was gathered that cannot be written");
    gathering().add(r.record);
    r.number = next_record_++;
    wait_in(gathering().waiting, r);
  }
  static void wait_in(queue<request>& list, log_request& r) noexcept {
    list.push(r);
    r.list = &list;
  }
  void gather_late() noexcept {
    while (request* const first = late_.first()) {
      auto& r = static_cast<log_append_request&>(*first);
      if (!gathering().fits(r.record.size())) return;
      late_.remove(r);
      r.list = nullptr;
      gather(r);
    }
  }

  // --- writing ---

  void start_later() noexcept {
    if (is_writing_ || is_start_due_ || is_growth_awaited_) return;
    is_start_due_ = true;
    loop_->complete_later(starter_);
  }

  // Without a deadline and a stop token, which cost more than the rest of the description.
  write_operation durable_write(std::uint64_t offset, mutable_buffer bytes) noexcept {
    return file_access::operation_of<request>(
        file_, [&](request& r) { file_access::describe_write(file_, r, offset, bytes, durable_); });
  }

  void start() noexcept {
    // A record whose append was destroyed before it was gathered may have left room.
    gather_late();
    if (is_writing_ || gathering().empty() || failure_.exists()) return;
    log_batch& batch = gathering();
    if (batch.size() > initialized_ - tail_.offset) {
      is_growth_awaited_ = true;
      return grow();
    }
    QIO_CHECK(other().empty() && tail_.record + batch.records() == next_record_,
              "bug in qio: a batch of a log was to be written beside another one");
    const std::span<std::byte> bytes = batch.finish(header_, tail_);
    is_writing_ = true;
    gathering_ = 1 - gathering_;
    gather_late();
    write_.emplace([&] { return durable_write(tail_.offset, bytes); }).start([this](result<std::size_t> written) {
      end_write(written);
    });
    if (!grows_alone_ && initialized_ - (tail_.offset + bytes.size()) < extent_ / 2) grow();
  }

  void end_write(const result<std::size_t>& written) noexcept {
    QIO_CHECK(is_writing_, "bug in qio: a batch of a log was written twice");
    is_writing_ = false;
    if (!written) return fail(written.error());
    QIO_CHECK(written.value() == other().size() && tail_.offset + written.value() <= initialized_,
              "bug in qio: a batch of a log was written in part, or where nothing was prepared");
    positions_.add(tail_);
    tail_ = {tail_.offset + written.value(), tail_.batch + 1, tail_.record + other().records()};
    complete_all(other().waiting, {});
    other().reset();
    if (!gathering().empty()) start_later();
  }

  // --- growing: zeros, a sync, then both copies of the header, beside the appends ---

  void grow() noexcept {
    if (is_growing_) return;
    if (growth_failure_.exists()) {
      if (is_growth_awaited_) fail(growth_failure_);
      return;
    }
    QIO_CHECK(tail_.offset <= initialized_ && initialized_ == header_.owned,
              "bug in qio: a log has more batches than room for them");
    is_growing_ = true;
    zeroed_ = initialized_;
    grown_ = initialized_ + extent_;
    grow_on();
  }
  void grow_on() noexcept {
    QIO_CHECK(is_growing_ && zeroed_ <= grown_, "bug in qio: a log grew further than it should");
    if (zeroed_ == grown_) {
      sync_.emplace([&] { return file_.async_sync(sync_kind::data_and_size); }).start([this](result<void> synced) {
        if (!synced) return end_growth(synced.error());
        if (renewal_failure_.exists()) return end_growth(renewal_failure_);
        header_.owned = grown_;
        is_zeroed_ = true;
        renew();
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
    QIO_CHECK(is_growing_, "bug in qio: the growth of a log ended twice");
    is_growing_ = is_zeroed_ = false;
    if (failure.exists())
      growth_failure_ = failure;
    else
      initialized_ = grown_;
    if (!std::exchange(is_growth_awaited_, false)) return;
    if (failure.exists()) return fail(failure);
    start();
  }

  // --- both copies of the header, after what they say is true ---

  // What changes meanwhile needs another turn: the first copy may be written by then.
  void renew() noexcept {
    if (std::exchange(is_renewing_, true)) {
      is_renewal_late_ = true;
      return;
    }
    renewed_start_ = header_.start.offset;
    renews_growth_ = is_zeroed_;
    renew_copy(0);
  }
  void renew_copy(unsigned copy) noexcept {
    copy_ = copy;
    header_.known = tail_;
    const std::span<std::byte> from = header_copy(copy);
    header_write_.emplace([&] { return durable_write(offset_of_copy(copy), from); })
        .start([this](result<std::size_t> written) {
          if (written && copy_ == 0) return renew_copy(1);
          end_renewal(written ? error() : written.error());
        });
  }
  // After a failure, the copy that was being written may be torn, and the other one is not written again.
  void end_renewal(const error& failure) noexcept {
    QIO_CHECK(is_renewing_, "bug in qio: the header of a log was renewed twice");
    is_renewing_ = false;
    const bool is_late = std::exchange(is_renewal_late_, false) && !failure.exists();
    if (failure.exists()) {
      growth_failure_ = renewal_failure_ = failure.after(0);
      complete_all(trims_, failure);
      renews_growth_ = is_zeroed_;
    } else {
      durable_start_ = renewed_start_;
    }
    if (std::exchange(renews_growth_, false)) end_growth(failure);
    if (is_late) renew();
    discard();
  }

  // --- trimming: the header, then a hole ---

  // Whole pages only, of any system: nobody who reads the log meanwhile gets a part of a sector.
  static constexpr std::uint64_t largest_page = 64 * 1024;

  // For trims of which the header says so. They are in the order of what they drop.
  void discard() noexcept {
    const request* const first = trims_.first();
    if (is_discarding_ || first == nullptr || static_cast<const log_trim_request*>(first)->begin > durable_start_)
      return;
    is_discarding_ = true;
    discarding_start_ = durable_start_;
    const std::uint64_t begin = log_format::round_up(header_.first(), largest_page);
    const std::uint64_t end = discarding_start_ / largest_page * largest_page;
    if (end <= begin || end - begin == discarded_) return end_discard({}, discarded_);
    discard_.emplace([&] { return file_.async_discard(begin, end - begin); })
        .start([this, bytes = end - begin](result<void> done) {
          if (!done && done.error() == std::errc::operation_not_supported) return end_discard({}, 0);
          end_discard(done ? error() : done.error(), done ? bytes : discarded_);
        });
  }
  void end_discard(const error& failure, std::uint64_t bytes) noexcept {
    QIO_CHECK(is_discarding_, "bug in qio: a part of a log was discarded twice");
    is_discarding_ = false;
    // There may be room again for a log that could not grow.
    if (bytes != discarded_ && !renewal_failure_.exists() && growth_failure_ == std::errc::no_space_on_device)
      growth_failure_ = {};
    discarded_ = bytes;
    queue<request> ended;
    while (request* const first = trims_.first()) {
      auto& r = static_cast<log_trim_request&>(*first);
      if (r.begin > discarding_start_) break;
      trims_.remove(r);
      wait_in(ended, r);
    }
    complete_all(ended, failure);
    discard();
  }

  // --- completing ---

  void complete_all(queue<request>& waiting, const error& failure) noexcept {
    while (request* const first = waiting.pop()) {
      auto& r = static_cast<log_request&>(*first);
      QIO_CHECK(r.list == &waiting, "bug in qio: an operation of a log was completed that waits elsewhere");
      r.list = nullptr;
      r.failure = failure;
      loop_->complete_later(r);
    }
  }

  // Nothing is appended any more: after a failure it is unknown what the device has.
  void fail(const error& why) noexcept {
    if (!failure_.exists()) failure_ = why.after(0);
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
  std::uint64_t longest_record_ = 0;
  std::uint64_t extent_ = 0;              // the log grows by as many bytes
  platform::transfer_flags durable_ = 0;  // what makes a write durable
  // The zeros of a growth are durable writes, too, and the error of one, of a full disk, would count for the batch
  // beside it (file_activity::writes_to_cache): such a log grows when there is no room.
  bool grows_alone_ = false;
  log_contents contents_;
  bool is_locked_ = false;
  last_process locked_in_;
  error failure_;         // of a write: sticky
  error growth_failure_;  // matters once the space that is left is used up

  log_format::position tail_;      // where the next batch is written: behind what is durable
  std::uint64_t initialized_ = 0;  // the end of what was written, if only as zeros, and may be used
  std::uint64_t next_record_ = 1;  // the number of the next record that is gathered

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
  bool is_zeroed_ = false;  // the growth, which waits for the header
  std::optional<aligned_buffer> header_copy_;
  unsigned copy_ = 0;             // the one that is written
  bool is_renewing_ = false;      // both
  bool is_renewal_late_ = false;  // the header has changed meanwhile
  bool renews_growth_ = false;    // the growth is what it says
  error renewal_failure_;         // sticky

  log_format::known_positions positions_;
  queue<request> trims_;
  std::uint64_t renewed_start_ = 0;     // header_.start.offset when the renewal began
  std::uint64_t durable_start_ = 0;     // what both copies have
  std::uint64_t discarding_start_ = 0;  // what it was when the discard began
  bool is_discarding_ = false;
  std::uint64_t discarded_ = 0;

  operation_slot<write_operation> write_;
  operation_slot<write_operation> zeros_;
  operation_slot<sync_operation> sync_;
  operation_slot<write_operation> header_write_;
  operation_slot<discard_operation> discard_;
};

}  // namespace detail
QIO_END_NAMESPACE
