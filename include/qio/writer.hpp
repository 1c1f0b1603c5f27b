// SPDX-License-Identifier: BSL-1.0
// Writes a file from one offset on, block after block, while the program makes the next ones. Include it on its own;
// <qio/qio.hpp> does not.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/operation.hpp>
#include <qio/result.hpp>
#include <qio/stream/blocks.hpp>
#include <qio/task.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

/// Options of writer::create().
struct writer_options {
  /// Where the first byte is written. In a direct file, a multiple of alignment().write (and .read, if that is more).
  std::uint64_t offset = 0;
  /// The length of a block in bytes, rounded up to what a direct file needs. 0: 124 KiB for cached and mapped files,
  /// 256 KiB for direct and uncached ones.
  std::size_t block_bytes = 0;
  /// How many blocks may be in flight while the program fills another one. 0: 4. Without a context, there is one block.
  unsigned depth = 0;
};

/// Options of writer::finish().
struct finish_options {
  bool durable = false;  ///< finish() succeeds only when everything is durable: see sync_kind::data_and_size
};

namespace detail {

/// What the options come to for a file.
struct writer_plan {
  static result<block_plan> make(const writer_options& options, const alignment& needed, bool writes_cache) noexcept {
    constexpr unsigned deepest = 4096;
    if (options.offset > max_offset) return error(errc::offset_too_large, options.offset, max_offset);
    block_plan plan;
    plan.unit = greater_of<std::size_t>(needed.write, needed.read);  // the last block may have to be read first
    if (options.offset % plan.unit != 0) return error(errc::misaligned_offset, options.offset, plan.unit);
    plan.address = greater_of<std::size_t>(plan.unit, needed.memory);
    const std::size_t chosen = options.block_bytes != 0 ? options.block_bytes : (writes_cache ? 124u : 256u) * 1024;
    plan.bytes = rounded_block(chosen, plan.address);
    plan.count = (options.depth == 0 ? 4 : lesser_of(options.depth, deepest)) + 1;
    return plan;
  }
};

/// How a writer ends whose last block is not a multiple of what the file needs.
struct padded_tail {
  std::uint64_t offset = 0;  ///< of the block
  std::size_t bytes = 0;     ///< of the block, padded
  std::uint64_t size = 0;    ///< the file's, to which it is cut
  bool keeps = false;        ///< the file has bytes behind the tail, which are read first
};
inline padded_tail tail_of(std::uint64_t offset, std::size_t filled, std::size_t unit, std::uint64_t size) noexcept {
  const std::uint64_t end = offset + filled;
  return {offset, filled + (unit - filled % unit) % unit, greater_of(size, end), size > end};
}

/// What the states of a writer with and without a context share: the block that is being filled, and the first error.
class write_cursor {
 public:
  write_cursor(std::uint64_t offset, const block_plan& plan) noexcept
      : start_(offset), offset_(offset), written_(offset), plan_(plan) {}

  std::uint64_t position() const noexcept { return offset_ + filled_; }
  std::uint64_t bytes_written() const noexcept { return written_ - start_; }
  std::size_t unit() const noexcept { return plan_.unit; }
  std::uint64_t offset() const noexcept { return offset_; }
  std::size_t filled() const noexcept { return filled_; }

  /// Copies what fits into the block. True if the block is full then.
  bool fill(std::byte* block, std::span<const std::byte>& rest) noexcept {
    // A block ends at a multiple of its length, whatever the first offset was.
    const std::size_t length = plan_.bytes - static_cast<std::size_t>(offset_ % plan_.bytes);
    const std::size_t bytes = lesser_of(rest.size(), length - filled_);
    if (bytes != 0) std::memcpy(block + filled_, rest.data(), bytes);
    filled_ += bytes;
    rest = rest.subspan(bytes);
    return filled_ == length;
  }
  /// The block has been given to the system; the next one begins behind it.
  void advance() noexcept {
    offset_ += filled_;
    filled_ = 0;
  }
  /// The first block of those that were given to the system has been written.
  void note_written(std::uint64_t bytes) noexcept { written_ += bytes; }

  const error& failure() const noexcept { return failure_; }
  error fail(const error& why) noexcept {
    if (!failure_.exists()) failure_ = why;
    return failure_;
  }
  /// Why the program cannot write, if it cannot.
  error refusal([[maybe_unused]] caller from) const noexcept {
    QIO_CHECK_AT(!is_finished_ || failure_.exists(), "a writer was used after finish(): create another one", from);
    if (is_finished_ && !failure_.exists()) return std::make_error_code(std::errc::operation_not_permitted);
    return failure_;
  }

  // What finish() has done. One that was destroyed, or for which there was no memory, has begun and written nothing
  // that counts.
  void begin_finish() noexcept { is_finished_ = true; }
  void note_complete() noexcept { is_complete_ = true; }
  void note_durable() noexcept { is_durable_ = true; }
  bool has_begun_finish() const noexcept { return is_finished_; }
  bool is_durable() const noexcept { return is_durable_; }
  /// Why finish() fails that has begun before, if it does.
  error why_unfinished() const noexcept {
    if (failure_.exists() || is_complete_) return failure_;
    return std::make_error_code(std::errc::operation_canceled);
  }

 private:
  std::uint64_t start_;
  std::uint64_t offset_;   // of the block that is being filled
  std::uint64_t written_;  // the end of what is in the file without a gap
  std::size_t filled_ = 0;
  block_plan plan_;
  error failure_;  // the first one; every later call returns it
  bool is_finished_ = false;
  bool is_complete_ = false;  // everything has been written
  bool is_durable_ = false;   // and synced
};

/// A writer of a file on a context, at an address that does not change when the writer moves.
template <class File>
class writer_state {
 public:
  using loop_type = loop<typename File::engine_type>;

  writer_state(File& to, const writer_options& options, const block_plan& plan, block_memory&& memory)
      : file_(to),
        loop_(file_access::loop_of(to)),
        memory_(std::move(memory)),
        cursor_(options.offset, plan),
        blocks_(std::make_unique<block[]>(plan.count)),
        count_(plan.count),
        gate_(*loop_) {
    for (unsigned index = 0; index < count_; ++index) blocks_[index].memory = memory_.data() + index * plan.bytes;
  }
  writer_state(const writer_state&) = delete;
  writer_state& operator=(const writer_state&) = delete;
  ~writer_state() { cancel_all(); }

  loop_type& loop_of() noexcept { return *loop_; }
  stream_gate<loop_type>& gate() noexcept { return gate_; }
  write_cursor& cursor() noexcept { return cursor_; }

  /// Takes as much of `rest` as does not need waiting. True if that was all, or if it has failed.
  bool take(std::span<const std::byte>& rest) noexcept {
    for (;;) {
      if (cursor_.failure().exists() || rest.empty()) return true;
      if (!filling().is_free) return false;
      if (cursor_.fill(filling().memory, rest)) start();
    }
  }

  bool is_idle() const noexcept { return in_flight_ == 0; }

  /// Writes what is left, and syncs if wanted.
  task<result<void>> finish(finish_options options) {
    if (!cursor_.has_begun_finish() && !cursor_.failure().exists()) {
      cursor_.begin_finish();
      using work = flushed;
      auto flushed_all = co_await stream_operation<writer_state, work>(this, work{});
      if (!flushed_all) co_return flushed_all.error();
      auto tail = co_await write_tail();
      if (!tail) co_return cursor_.fail(tail.error());
      cursor_.note_complete();
    }
    if (const error failure = cursor_.why_unfinished(); failure.exists()) co_return failure;
    if (!options.durable || cursor_.is_durable()) co_return success();
    auto synced = co_await file_.async_sync(sync_kind::data_and_size);
    if (!synced) co_return cursor_.fail(synced.error());
    cursor_.note_durable();
    co_return success();
  }

  result<void> outcome() const noexcept {
    if (cursor_.failure().exists()) return cursor_.failure();
    return success();
  }

  /// What flush() does.
  struct flushed {
    using result_type = result<void>;
    static bool step(writer_state& state) noexcept { return state.is_idle(); }
    static result_type answer(writer_state& state) noexcept { return state.outcome(); }
  };

 private:
  using write_operation = operation<typename File::engine_type, std::size_t>;

  struct block {
    operation_slot<write_operation> write;
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::size_t written = 0;  // once it is complete
    bool is_free = true;
    bool is_complete = false;
  };

  // Blocks are filled in turn, so the ring of blocks is in the order of the file.
  block& filling() noexcept { return blocks_[(first_ + used_) % count_]; }

  void start() noexcept {
    block& b = filling();
    b.bytes = cursor_.filled();
    b.is_free = b.is_complete = false;
    ++used_;
    const std::span<const std::byte> bytes(b.memory, b.bytes);
    write_operation& write = b.write.emplace([&] { return file_.async_write_at(cursor_.offset(), bytes); });
    cursor_.advance();
    const std::uint64_t before = served_inline(file_);
    ++in_flight_;
    if (write.await_ready()) return complete(b, write.await_resume());
    write.start([this, &b](result<std::size_t> written) {
      complete(b, written);
      gate_.notify();
    });
    if (served_inline(file_) == before) gate_.note_submission(count_ - 1);
  }

  void complete(block& b, const result<std::size_t>& written) noexcept {
    if (--in_flight_ == 0) gate_.note_idle();
    b.is_complete = true;
    b.written = written ? written.value() : static_cast<std::size_t>(written.error().transferred());
    if (!written) {
      cursor_.fail(written.error());
      cancel_all();  // what follows would not be reported as written
    }
    for (; used_ != 0 && blocks_[first_].is_complete; --used_, first_ = (first_ + 1) % count_) {
      block& first = blocks_[first_];
      first.is_free = true;
      first.is_complete = false;
      if (!has_gap_) cursor_.note_written(first.written);
      has_gap_ = has_gap_ || first.written != first.bytes;
    }
  }

  void cancel_all() noexcept {
    for (unsigned index = 0; index < used_; ++index)
      if (block& each = blocks_[(first_ + index) % count_]; !each.is_complete) each.write->cancel();
  }

  task<result<void>> write_tail() {
    if (cursor_.filled() == 0) co_return success();
    const std::uint64_t end = cursor_.position();
    std::byte* const memory = filling().memory;
    padded_tail tail{cursor_.offset(), cursor_.filled(), end, false};
    if (tail.bytes % cursor_.unit() != 0) {
      const auto size = file_.size();
      if (!size) co_return size.error();
      tail = tail_of(cursor_.offset(), cursor_.filled(), cursor_.unit(), size.value());
      std::memset(memory + cursor_.filled(), 0, tail.bytes - cursor_.filled());
    }
    if (tail.keeps) {
      std::byte* const other = blocks_[(first_ + used_ + 1) % count_].memory;
      const std::span<std::byte> last(other, cursor_.unit());
      const std::size_t before = tail.bytes - cursor_.unit();
      const auto there = co_await file_.async_read_at(tail.offset + before, last);
      if (!there) co_return there.error();
      const std::size_t kept = cursor_.filled() - before;
      if (there.value() > kept) std::memcpy(memory + cursor_.filled(), other + kept, there.value() - kept);
    }
    const std::span<const std::byte> bytes(memory, tail.bytes);
    const auto written = co_await file_.async_write_at(tail.offset, bytes);
    const std::size_t moved = written ? written.value() : static_cast<std::size_t>(written.error().transferred());
    cursor_.note_written(lesser_of(moved, cursor_.filled()));
    if (!written) co_return written.error();
    if (tail.size < tail.offset + tail.bytes) {
      if constexpr (!File::mode_type::is_mapped) {
        auto cut = co_await file_.async_resize(tail.size);
        if (!cut) co_return cut.error();
      }
    }
    cursor_.advance();
    co_return success();
  }

  File& file_;
  std::shared_ptr<loop_type> loop_;
  block_memory memory_;
  write_cursor cursor_;
  std::unique_ptr<block[]> blocks_;
  const unsigned count_;
  unsigned first_ = 0, used_ = 0;  // blocks that were started, and not yet found to be written with all before them
  unsigned in_flight_ = 0;
  bool has_gap_ = false;  // a block was not written
  stream_gate<loop_type> gate_;
};

/// The same without a context: one block, and one more for finish().
template <class File>
class blocking_writer_state {
 public:
  blocking_writer_state(File& to, const writer_options& options, const block_plan& plan, block_memory&& memory)
      : file_(to), memory_(std::move(memory)), cursor_(options.offset, plan), block_bytes_(plan.bytes) {}

  write_cursor& cursor() noexcept { return cursor_; }

  result<void> take(std::span<const std::byte> rest) noexcept {
    while (!rest.empty())
      if (cursor_.fill(memory_.data(), rest))
        if (auto written = write(cursor_.filled()); !written) return written;
    return success();
  }

  result<void> finish(const finish_options& options) noexcept {
    if (!cursor_.has_begun_finish() && !cursor_.failure().exists()) {
      cursor_.begin_finish();
      if (auto tail = write_tail(); !tail) return cursor_.fail(tail.error());
      cursor_.note_complete();
    }
    if (const error failure = cursor_.why_unfinished(); failure.exists()) return failure;
    if (!options.durable || cursor_.is_durable()) return success();
    if (auto synced = file_.sync(sync_kind::data_and_size); !synced) return cursor_.fail(synced.error());
    cursor_.note_durable();
    return success();
  }

  result<void> outcome() const noexcept {
    if (cursor_.failure().exists()) return cursor_.failure();
    return success();
  }

 private:
  result<void> write(std::size_t bytes) noexcept {
    const auto written = file_.write_at(cursor_.offset(), memory_.view(0, bytes));
    const std::size_t moved = written ? written.value() : static_cast<std::size_t>(written.error().transferred());
    cursor_.note_written(lesser_of(moved, cursor_.filled()));
    if (!written) return cursor_.fail(written.error());
    cursor_.advance();
    return success();
  }

  result<void> write_tail() noexcept {
    const std::size_t filled = cursor_.filled();
    if (filled == 0) return success();
    if (filled % cursor_.unit() == 0) return write(filled);
    const auto size = file_.size();
    if (!size) return size.error();
    const padded_tail tail = tail_of(cursor_.offset(), filled, cursor_.unit(), size.value());
    std::memset(memory_.data() + filled, 0, tail.bytes - filled);
    if (tail.keeps) {
      const auto last = memory_.view(block_bytes_, cursor_.unit());
      const std::size_t before = tail.bytes - cursor_.unit(), kept = filled - before;
      const auto there = file_.read_at(tail.offset + before, last);
      if (!there) return there.error();
      if (there.value() > kept) std::memcpy(memory_.data() + filled, last.data() + kept, there.value() - kept);
    }
    if (auto written = write(tail.bytes); !written) return written;
    if (tail.size < tail.offset + tail.bytes) return file_.resize(tail.size);
    return success();
  }

  File& file_;
  block_memory memory_;
  write_cursor cursor_;
  std::size_t block_bytes_;
};

/// What write() does.
template <class State>
struct copied_write {
  using result_type = result<void>;
  bool step(State& state) noexcept {
    if (refusal.exists()) return true;
    return state.take(rest);
  }
  result_type answer(State& state) const noexcept {
    if (refusal.exists()) return refusal;
    return state.outcome();
  }

  std::span<const std::byte> rest;
  error refusal;
};

}  // namespace detail

/// Writes a file in sequence, from an offset on. `File` is the type of the file, in any mode, open for writing.
///
///     auto to = qio::writer<qio::async_direct_file>::create(file).value();
///     const auto taken = co_await to.write(bytes);  // any length
///     if (!taken) co_return taken.error();
///     co_return co_await to.finish({.durable = true});
///
/// write() copies into a block. A full block is written while the program fills the next one, and write() waits only
/// if all blocks are in flight. Without a context, it returns a result, and blocks for each full block.
///
/// **Call finish().** What is in the last block reaches the file only there, and so do errors the program. Destroying a
/// writer cancels what is in flight, waits until the system no longer uses its memory, and loses what was not written:
/// any part of the blocks in flight, and all of the last one.
///
/// Errors. Blocks are in flight when write() returns, so a failure is reported by a later call. The first error of
/// anything stays: all later calls return it, finish() too, and nothing more is written. bytes_written() is then the
/// number of bytes from the first offset on that are in the file; of the blocks behind them, any may be there.
///
/// Direct files. The first offset must be a multiple of alignment().write. If the end is not one, finish() pads the
/// last block with zeros, writes it, and cuts the file to its real length (resize). A crash between these two leaves up
/// to a block of zeros behind the data. If the file is longer, its bytes behind the end stay: finish() reads the last
/// block first, so the file must be open for reading as well. Nothing else may write there meanwhile.
///
/// A file that was longer is not truncated. Nothing is durable before finish({.durable = true}) has succeeded, unless
/// the file was opened with open_options::durable_writes.
///
/// Lifetime, threads, allocation: as those of a reader. write() borrows the bytes until it completes. If an awaited
/// write() is destroyed, any part of its bytes may have been taken: see position(). finish() on a context allocates the
/// frames of three tasks; nothing else allocates after create().
template <class File>
class [[nodiscard]] writer {
  static constexpr bool is_async = engine<typename File::engine_type>;
  static constexpr bool writes_cache = !File::mode_type::is_direct && !File::mode_type::is_uncached;
  using state = typename std::conditional_t<is_async, std::type_identity<detail::writer_state<File>>,
                                            std::type_identity<detail::blocking_writer_state<File>>>::type;

 public:
  /// Fails with errc::misaligned_offset, which has the offset and what it must be a multiple of, with
  /// errc::offset_too_large, with std::errc::bad_file_descriptor if the file is closed, and with
  /// std::errc::not_enough_memory. Writes nothing yet.
  static result<writer> create(File& to, const writer_options& options = {}) {
    if (!to.is_open()) return error(std::make_error_code(std::errc::bad_file_descriptor));
    auto plan = detail::writer_plan::make(options, to.alignment(), writes_cache);
    if (!plan) return plan.error();
    if constexpr (!is_async) plan.value().count = File::mode_type::is_direct ? 2 : 1;
    auto memory = detail::block_memory::allocate(plan.value());
    if (!memory) return memory.error();
    return writer(std::make_unique<state>(to, options, plan.value(), std::move(memory).value()));
  }

  /// Takes all of `bytes`, or fails. A success means that they will be written, not that they were.
  auto write(std::span<const std::byte> bytes, detail::caller from = detail::caller::here()) noexcept {
    if constexpr (is_async) {
      using work = detail::copied_write<state>;
      const error refusal = state_ == nullptr ? error() : state_->cursor().refusal(from);
      return detail::stream_operation<state, work>(state_.get(), work{bytes, refusal});
    } else {
      return write_blocking(bytes, from);
    }
  }

  /// Waits until the blocks that were full have been written. Up to a block of what write() has taken last is not: it
  /// is written when it is full, or by finish(). This does not make anything durable.
  auto flush() noexcept {
    if constexpr (is_async) {
      using work = typename state::flushed;
      return detail::stream_operation<state, work>(state_.get(), work{});
    } else {
      return state_ == nullptr ? not_open() : state_->outcome();
    }
  }

  /// Writes what is left, syncs if options.durable, and reports the first error of anything. Await it as the last
  /// operation; nothing may be written afterwards. After it, another finish() returns the same, but the first with
  /// options.durable syncs. If the task was destroyed before all was written, or threw std::bad_alloc, another one
  /// fails with std::errc::operation_canceled: what it had not done is undone.
  auto finish(finish_options options = {}) {
    if constexpr (is_async) {
      return finish_later(state_.get(), options);
    } else {
      return state_ == nullptr ? not_open() : state_->finish(options);
    }
  }

  /// The offset in the file behind the bytes that write() has taken. Precondition: it was not moved from.
  std::uint64_t position([[maybe_unused]] detail::caller from = detail::caller::here()) const noexcept {
    QIO_CHECK_AT(state_ != nullptr, "position() of a writer that was moved from", from);
    return state_->cursor().position();
  }
  /// The number of bytes, from the first offset on, that are in the file without a gap. They need not be durable.
  /// Precondition: it was not moved from.
  std::uint64_t bytes_written([[maybe_unused]] detail::caller from = detail::caller::here()) const noexcept {
    QIO_CHECK_AT(state_ != nullptr, "bytes_written() of a writer that was moved from", from);
    return state_->cursor().bytes_written();
  }

 private:
  explicit writer(std::unique_ptr<state> made) noexcept : state_(std::move(made)) {}

  static result<void> not_open() noexcept { return error(std::make_error_code(std::errc::bad_file_descriptor)); }

  result<void> write_blocking(std::span<const std::byte> bytes, detail::caller from) noexcept {
    if (state_ == nullptr) return not_open();
    if (const error refusal = state_->cursor().refusal(from); refusal.exists()) return refusal;
    return state_->take(bytes);
  }
  static task<result<void>> finish_later(state* of, finish_options options) {
    if (of == nullptr) co_return not_open();
    co_return co_await of->finish(options);
  }

  std::unique_ptr<state> state_;
};

QIO_END_NAMESPACE
