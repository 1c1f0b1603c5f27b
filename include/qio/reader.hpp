// SPDX-License-Identifier: BSL-1.0
// Reads a file from one offset to its end, block after block, with read-ahead. Include it on its own; <qio/qio.hpp>
// does not.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/operation.hpp>
#include <qio/result.hpp>
#include <qio/stream/blocks.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

/// Options of reader::create(). 0 lets the reader choose, and adapt to the device.
struct reader_options {
  std::uint64_t offset = 0;                                           ///< of the first byte; need not be aligned
  std::uint64_t limit = (std::numeric_limits<std::uint64_t>::max)();  ///< the most bytes to read
  /// The length of a block in bytes, rounded up to what a direct file needs. 0: 124 KiB for cached and mapped files,
  /// 256 to 512 KiB for direct and uncached ones; without a context, 128 KiB, and 1 MiB for a direct file.
  std::size_t block_bytes = 0;
  /// How many blocks are read ahead of the one that the program has. 0: one or two at first, more while the program
  /// waits, if it then gets its blocks faster. Without a context, there is no read-ahead.
  unsigned depth = 0;
  /// The most memory for blocks in bytes, if `block_bytes` or `depth` is 0. It is allocated at once, but pages that no
  /// block reaches are never touched. At least two blocks, even if they need more. For a direct file that has at least
  /// 16 MiB to read, it is rounded up to a multiple of 2 MiB and asks for transparent huge pages (madvise(2),
  /// MADV_HUGEPAGE), for which the kernel does less in each transfer; without them, pages are ordinary.
  std::size_t memory = 4 * 1024 * 1024;
};

namespace detail {

/// Whether blocks may be in the page cache, which is tried first.
template <class File>
inline constexpr bool reads_cache = !File::mode_type::is_direct && !File::mode_type::is_uncached;

/// What the options come to for a file.
struct reader_plan {
  block_plan blocks;
  read_ahead::bounds bounds{};
  std::uint64_t end = 0;

  /// Errors are those of the options.
  static result<reader_plan> make(const reader_options& options, const alignment& needed, bool may_be_cached) noexcept {
    // A ring carries out reads through the page cache where they are submitted, unless they are as long as 128 KiB.
    const std::size_t shortest = may_be_cached ? 124 * 1024 : 256 * 1024;
    const std::size_t longest = may_be_cached ? shortest : 512 * 1024;
    constexpr unsigned deepest = 4096;
    if (options.offset > max_offset) return error(errc::offset_too_large, options.offset, max_offset);
    reader_plan plan;
    const std::size_t unit = greater_of<std::size_t>(needed.read, needed.memory);
    plan.blocks.unit = needed.read;
    plan.blocks.address = unit;
    const unsigned depth = lesser_of(options.depth, deepest);
    const bool is_fixed = options.block_bytes != 0;
    // No block is so large that the memory has no room for the others.
    std::size_t largest = rounded_block(is_fixed ? options.block_bytes : longest, unit);
    const unsigned least = depth != 0 ? depth : may_be_cached ? 1 : 2;
    while (!is_fixed && largest / 2 >= unit && largest * (least + 1) > options.memory)
      largest = rounded_block(largest / 2, unit);
    plan.bounds.largest_block = largest;
    plan.bounds.smallest_block = is_fixed ? largest : lesser_of(largest, rounded_block(shortest, unit));
    plan.bounds.least_depth = least;
    const std::size_t fitting = options.memory / largest;  // one of them is the program's
    plan.bounds.most_depth =
        depth != 0
            ? depth
            : static_cast<unsigned>(lesser_of<std::size_t>(greater_of<std::size_t>(fitting, least + 1) - 1, deepest));
    plan.bounds.shrinks = may_be_cached;
    plan.blocks.bytes = largest;
    plan.blocks.count = plan.bounds.most_depth + 1;
    const std::uint64_t last = max_offset - max_offset % needed.read;
    plan.end = options.limit > last - lesser_of(options.offset, last) ? last : options.offset + options.limit;
    return plan;
  }
};

/// Whether so much is left of the file that huge pages for the blocks pay: a direct transfer costs the kernel less for
/// each page that it has, but all of a huge page is cleared before its first use.
template <class File>
bool is_long_read(const File& from, std::uint64_t offset, const reader_plan& plan) noexcept {
  constexpr std::uint64_t least = 16 * 1024 * 1024;
  const auto size = from.size();
  const std::uint64_t end = size ? lesser_of(size.value(), plan.end) : 0;
  return end >= least && end - least >= offset;
}

/// A reader of a file on a context, at an address that does not change when the reader moves.
template <class File>
class reader_state {
 public:
  using loop_type = loop<typename File::engine_type>;

  reader_state(File& from, const reader_options& options, const reader_plan& plan, block_memory&& memory)
      : file_(from),
        loop_(file_access::loop_of(from)),
        memory_(std::move(memory)),
        cursor_(options.offset, plan.end, plan.blocks.unit),
        ahead_(plan.bounds),
        blocks_(std::make_unique<block[]>(plan.blocks.count)),
        order_(std::make_unique<block*[]>(plan.blocks.count)),
        count_(plan.blocks.count),
        gate_(*loop_) {
    for (unsigned index = count_; index-- != 0;) {
      blocks_[index].memory = memory_.data() + index * plan.blocks.bytes;
      release(blocks_[index]);
    }
    begin_at_position();
  }
  reader_state(const reader_state&) = delete;
  reader_state& operator=(const reader_state&) = delete;
  ~reader_state() {
    // All, before the operations are destroyed, which waits for each.
    for (unsigned index = 0; index < ahead_count_; ++index) cancel(*order_[(first_ + index) % count_]);
  }

  loop_type& loop_of() noexcept { return *loop_; }
  stream_gate<loop_type>& gate() noexcept { return gate_; }
  read_cursor& cursor() noexcept { return cursor_; }

  /// Does what needs no waiting. True if the cursor has an answer.
  bool find_answer() noexcept {
    while (!cursor_.has_answer()) {
      if (held_ != nullptr) release(*std::exchange(held_, nullptr));
      if (is_ending_) {
        if (in_flight_ != 0) return false;
        begin_again();
      }
      if (reads_cache<File> && ahead_count_ == 0 && gate_.defers_inline_work()) return false;
      fill();
      block& first = *order_[first_];
      if (!first.is_complete) return false;
      take(first);
    }
    return true;
  }

  /// The program did not get the last `bytes` bytes that were copied. They are read again, and so is what follows.
  void give_back(std::size_t bytes) noexcept {
    if (bytes == 0) return;
    cursor_.go_back(bytes);
    end_reading_ahead();
  }

 private:
  using read_operation = operation<typename File::engine_type, std::size_t>;

  struct block {
    std::span<std::byte> asked() const noexcept { return {memory, bytes}; }

    operation_slot<read_operation> read;
    result<std::size_t> answer = std::size_t(0);
    std::byte* memory = nullptr;
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
    bool is_complete = true;   // not in flight
    bool was_at_hand = false;  // served inline
    block* next_free = nullptr;
  };

  void release(block& b) noexcept {
    QIO_CHECK(b.is_complete, "bug in qio: a reader reuses a block that is in flight");
    b.next_free = std::exchange(free_, &b);  // the last one first: its memory is in the processor's cache
  }

  void begin_at_position() noexcept {
    next_ = cursor_.begin_of_block();
    look_at_size();
  }
  void look_at_size() noexcept {
    const auto size = file_.size();
    known_end_ = size ? greater_of(next_, size.value()) : next_;
  }

  // As many blocks as should be in flight, but none past the end of the file, except to find out whether it is there.
  void fill() noexcept {
    while (ahead_count_ < ahead_.depth() && free_ != nullptr && next_ < cursor_.end()) {
      if (next_ > known_end_) {
        if (ahead_count_ != 0) return;
        look_at_size();
      }
      const bool was_at_hand = start(ahead_count_ == 0);
      // What is in the page cache is best read when it is needed: into memory that the processor has in its cache.
      if (was_at_hand) return;
    }
    QIO_CHECK(ahead_count_ != 0, "bug in qio: a reader waits for nothing");
  }

  // Starts to read the next block. True if that was all.
  bool start(bool is_awaited) noexcept {
    block& b = *std::exchange(free_, free_->next_free);
    b.offset = next_;
    next_ = cursor_.end_of_block(next_, ahead_.block_bytes());
    b.bytes = static_cast<std::size_t>(next_ - b.offset);
    b.is_complete = false;
    order_[(first_ + ahead_count_++) % count_] = &b;
    read_operation& read = b.read.emplace([&] { return file_.async_read_at(b.offset, b.asked()); });
    const std::uint64_t before = served_inline(file_);
    if (is_awaited && read.await_ready()) {
      complete(b, read.await_resume());
      return b.was_at_hand = served_inline(file_) != before;
    }
    ++in_flight_;
    read.start([this, &b](result<std::size_t> answer) {
      if (--in_flight_ == 0) gate_.note_idle();
      complete(b, answer);
      if (is_ending_ ? in_flight_ == 0 : order_[first_]->is_complete) gate_.notify();
    });
    b.was_at_hand = served_inline(file_) != before;
    if (!b.was_at_hand) gate_.note_submission(ahead_.depth());
    return b.was_at_hand;
  }
  static void complete(block& b, const result<std::size_t>& answer) noexcept {
    b.answer = answer;
    b.is_complete = true;
  }

  // The program gets the bytes of `b`.
  void take(block& b) noexcept {
    first_ = (first_ + 1) % count_;
    --ahead_count_;
    held_ = &b;
    if (b.was_at_hand && ahead_.is_lowest()) {
      ahead_.pass_over();  // without a look at the clock
      static_cast<void>(gate_.take_waited());
    } else if (ahead_.adapts()) {
      const clock::duration waited = gate_.take_waited();  // if it was at hand, for the turn of others
      ahead_.handed_out(b.bytes, b.was_at_hand ? clock::duration() : waited, loop_->now());
    }
    if (cursor_.take(b.offset, b.asked(), b.answer)) return;
    // What follows is wrong: the file has shrunk or grown meanwhile, or the program may want to read again.
    end_reading_ahead();
  }
  void end_reading_ahead() noexcept {
    is_ending_ = true;
    for (unsigned index = 0; index < ahead_count_; ++index) cancel(*order_[(first_ + index) % count_]);
  }
  static void cancel(block& b) noexcept {
    if (!b.is_complete) b.read->cancel();
  }
  void begin_again() noexcept {
    for (; ahead_count_ != 0; --ahead_count_, first_ = (first_ + 1) % count_) release(*order_[first_]);
    is_ending_ = false;
    begin_at_position();
  }

  File& file_;
  std::shared_ptr<loop_type> loop_;
  block_memory memory_;
  read_cursor cursor_;
  read_ahead ahead_;
  std::unique_ptr<block[]> blocks_;
  std::unique_ptr<block*[]> order_;  // a ring: those that are in flight or not yet handed out, in the order of the file
  const unsigned count_;
  unsigned first_ = 0, ahead_count_ = 0;
  unsigned in_flight_ = 0;
  block* free_ = nullptr;
  block* held_ = nullptr;    // the program has its bytes
  std::uint64_t next_ = 0;   // the offset of the next block to start
  std::uint64_t known_end_;  // of the file, when it was last looked at
  bool is_ending_ = false;   // what is in flight does not count: from an error or the end of the file to the next call
  stream_gate<loop_type> gate_;
};

/// The same without a context: one block at a time.
template <class File>
class blocking_reader_state {
 public:
  blocking_reader_state(File& from, const reader_options& options, const reader_plan& plan, block_memory&& memory)
      : file_(from),
        memory_(std::move(memory)),
        block_bytes_(plan.blocks.bytes),
        cursor_(options.offset, plan.end, plan.blocks.unit) {}

  read_cursor& cursor() noexcept { return cursor_; }

  void find_answer() noexcept {
    while (!cursor_.has_answer()) {
      const std::uint64_t offset = cursor_.begin_of_block();
      const std::uint64_t end = cursor_.end_of_block(offset, block_bytes_);
      const auto asked = memory_.view(0, static_cast<std::size_t>(end - offset));
      cursor_.take(offset, asked, file_.read_at(offset, asked));
    }
  }

 private:
  File& file_;
  block_memory memory_;
  const std::size_t block_bytes_;
  read_cursor cursor_;
};

/// What next() does.
template <class State>
struct next_block {
  using result_type = result<std::span<const std::byte>>;
  static bool step(State& state) noexcept { return state.find_answer(); }
  static result_type answer(State& state) noexcept { return state.cursor().answer(); }
};

/// What read() does.
template <class State>
struct copied_read {
  using result_type = result<std::size_t>;
  bool step(State& state) noexcept {
    for (;;) {
      copied += state.cursor().copy_to(target.subspan(copied));
      if (copied == target.size()) return true;
      if (!state.find_answer()) return false;
      if (!state.cursor().has_bytes()) return true;
    }
  }
  result_type answer(State& state) const noexcept {
    if (copied == target.size()) return copied;
    return answer_of_read(copied, state.cursor().answer());
  }
  void abandon(State& state) const noexcept { state.give_back(copied); }

  std::span<std::byte> target;
  std::size_t copied = 0;
};

}  // namespace detail

/// Reads a file in sequence, from an offset to the end of the file or to a limit. `File` is the type of the file, in
/// any mode: qio::async_direct_file, qio::cached_file.
///
///     auto from = qio::reader<qio::async_direct_file>::create(file).value();
///     for (;;) {
///       const auto bytes = co_await from.next();
///       if (!bytes) co_return bytes.error();
///       if (bytes.value().empty()) break;  // the end of the file
///       use(bytes.value());
///     }
///
/// Files on a context. The reader keeps several blocks in flight, and adapts their number and length to the device:
/// more while the program has to wait, if that makes it faster. Reads of a direct file bypass the page cache, so
/// without this the device would be idle between two of them. Blocks of a cached file that are in the page cache are
/// read one by one, when they are needed, by one system call each; the kernel reads ahead as well, by twice as much if
/// the file is opened with access_pattern::sequential. next() and read() are awaited on the context's thread, one at a
/// time.
///
/// Files without a context. next() and read() return results instead, and block. There is one block, and only the
/// kernel reads ahead: not for direct files, which read at the device's latency.
///
/// Offset, limit and end need no alignment, for direct files either: what the file needs is read, and only what was
/// requested is handed out. Bytes of a mapped file are copied, by reads that return errors; a view() copies nothing.
///
/// The end. An empty answer means the end of the file, or of the limit, and nothing else. After it, the next call looks
/// again, and returns what a file that has grown has more. Bytes that others write while they are being read ahead may
/// be missing: a block is as it was when it was read. If the file shrinks, the reader ends where a block came short.
///
/// Errors. The bytes before the place that cannot be read are handed out first, then the error. The next call tries
/// again from position() on, which is that place.
///
/// Lifetime. The file is borrowed: it must stay, unmoved, until the reader is destroyed. It may be closed, which
/// cancels what is in flight. Destroying the reader cancels what is in flight, too, and waits until the system no
/// longer uses its memory, for as long as the device takes. Destroying an awaited next() or read() ends only that wait:
/// position() is what it was before. (After a read() that had copied something, that is read again, and so is what was
/// read ahead.) The reader may be moved, except while one of its operations is awaited by its address; its memory stays
/// where it is.
///
/// Allocation. create() allocates everything; nothing else allocates.
template <class File>
class [[nodiscard]] reader {
  static constexpr bool is_async = engine<typename File::engine_type>;
  using state = typename std::conditional_t<is_async, std::type_identity<detail::reader_state<File>>,
                                            std::type_identity<detail::blocking_reader_state<File>>>::type;

 public:
  /// Fails with errc::offset_too_large, with std::errc::bad_file_descriptor if the file is closed, and with
  /// std::errc::not_enough_memory. Reads nothing yet. Asks for the size of the file (fstat).
  static result<reader> create(File& from, const reader_options& options = {}) {
    if (!from.is_open()) return error(std::make_error_code(std::errc::bad_file_descriptor));
    reader_options chosen = options;
    if constexpr (!is_async) {
      chosen.depth = 1;
      if (chosen.block_bytes == 0) chosen.block_bytes = File::mode_type::is_direct ? 1024 * 1024 : 128 * 1024;
    }
    auto plan = detail::reader_plan::make(chosen, from.alignment(), detail::reads_cache<File>);
    if (!plan) return plan.error();
    if constexpr (!is_async) plan.value().blocks.count = 1;
    const bool is_long = File::mode_type::is_direct && detail::is_long_read(from, options.offset, plan.value());
    auto memory = detail::block_memory::allocate(plan.value().blocks, is_long);
    if (!memory) return memory.error();
    return reader(std::make_unique<state>(from, options, plan.value(), std::move(memory).value()));
  }

  /// The next bytes of the file, without a copy: a span that is valid until the next call of next() or read(). Empty at
  /// the end.
  auto next() noexcept {
    if constexpr (is_async) {
      using work = detail::next_block<state>;
      return detail::stream_operation<state, work>(state_.get(), work{});
    } else {
      return next_blocking();
    }
  }

  /// Copies the next bytes into `target` until it is full or the file ends. Returns their number, which is 0 only at
  /// the end or for an empty target. Borrows `target` until then. After an error, error().transferred() is the number
  /// of bytes copied before (0 if the error is one of errc), and position() is behind them.
  auto read(std::span<std::byte> target) noexcept {
    if constexpr (is_async) {
      using work = detail::copied_read<state>;
      return detail::stream_operation<state, work>(state_.get(), work{target});
    } else {
      return read_blocking(target);
    }
  }

  /// The offset in the file of the next byte, behind those that next() and read() have returned. Precondition: it was
  /// not moved from.
  std::uint64_t position([[maybe_unused]] detail::caller from = detail::caller::here()) const noexcept {
    QIO_CHECK_AT(state_ != nullptr, "position() of a reader that was moved from", from);
    return state_->cursor().position();
  }

 private:
  explicit reader(std::unique_ptr<state> made) noexcept : state_(std::move(made)) {}

  result<std::span<const std::byte>> next_blocking() noexcept {
    if (state_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));
    state_->find_answer();
    return state_->cursor().answer();
  }
  result<std::size_t> read_blocking(std::span<std::byte> target) noexcept {
    if (state_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));
    detail::read_cursor& cursor = state_->cursor();
    for (std::size_t copied = 0;;) {
      copied += cursor.copy_to(target.subspan(copied));
      if (copied == target.size()) return copied;
      state_->find_answer();
      if (!cursor.has_bytes()) return detail::answer_of_read(copied, cursor.answer());
    }
  }

  std::unique_ptr<state> state_;
};

QIO_END_NAMESPACE
