// SPDX-License-Identifier: BSL-1.0
// Buffers for transfers, taken from a pool and given back by their destructor.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/file/access.hpp>
#include <qio/loop/mailbox.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <bit>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

/// The size and the memory of a buffer_pool.
struct buffer_pool_options {
  std::size_t buffers = 64;                             ///< how many there are; at least 1
  std::size_t buffer_bytes = std::size_t(64) * 1024;    ///< of each; rounded up to a multiple of `alignment`
  std::size_t alignment = default_buffer_alignment;     ///< of each buffer's address; a power of two, at most 2 MiB
  qio::huge_pages huge_pages = qio::huge_pages::never;  ///< see there
  /// The NUMA node that the memory is from; negative: any. Linux: mbind(2) with MPOL_BIND, so allocate() fails with
  /// std::errc::invalid_argument if there is no such node. Windows: a preference (VirtualAllocExNuma).
  int numa_node = -1;
};

namespace detail {

/// The memory of a buffer_pool, and which buffers are free. Its address does not change.
class pooled_memory {
 public:
  /// `own` is what to unmap at the end, if the pool has mapped it.
  pooled_memory(platform::memory_block own, std::span<std::byte> memory, std::size_t bytes_of_each, std::size_t count)
      : own_(own), memory_(memory), bytes_(bytes_of_each), count_(count) {
    free_.reserve(count);
    for (std::size_t i = count; i-- != 0;) free_.push_back(memory.data() + i * bytes_of_each);
  }
  pooled_memory(const pooled_memory&) = delete;
  pooled_memory& operator=(const pooled_memory&) = delete;
  ~pooled_memory() {
    QIO_CHECK_AT(free_.size() == count_ && waiting_.empty(),
                 "a buffer_pool was destroyed while buffers of it were in use, or coroutines waited for one", caller());
    platform::unmap_memory(own_);
  }

  std::size_t count() const noexcept { return count_; }
  std::size_t bytes_of_each() const noexcept { return bytes_; }
  std::size_t in_use() const noexcept { return count_ - free_.size(); }
  std::span<std::byte> memory() const noexcept { return memory_; }

  /// Null if all are in use.
  std::byte* take() noexcept {
    if (free_.empty()) return nullptr;
    std::byte* const taken = free_.back();
    free_.pop_back();
    return taken;
  }

  /// A coroutine that waits for a buffer.
  struct waiter : posted {
    mailbox* loop = nullptr;
    std::byte* buffer = nullptr;  // once it has one
    bool is_waiting = false;
  };

  void wait(waiter& for_buffer) noexcept {
    for_buffer.is_waiting = true;
    waiting_.push(for_buffer);
  }
  void stop_waiting(waiter& for_buffer) noexcept { waiting_.remove(for_buffer); }

  /// The longest waiting coroutine whose loop has not ended gets it, and continues in a later turn of that: the caller
  /// may be a destructor.
  void give_back(std::byte* buffer) noexcept {
    QIO_CHECK(buffer >= memory_.data() && free_.size() < count_, "bug in qio: a buffer was given back twice");
    waiter* next = nullptr;
    do {
      next = static_cast<waiter*>(waiting_.pop());
      if (next == nullptr) return free_.push_back(buffer);  // for which there is room
      next->is_waiting = false;
    } while (next->loop->closed());
    next->buffer = buffer;
    next->loop->post(*next);
  }

 private:
  platform::memory_block own_;
  std::span<std::byte> memory_;
  std::size_t bytes_;
  std::size_t count_;
  std::vector<std::byte*> free_;  // the last that was given back is the next, because caches may still have it
  queue<posted> waiting_;
};

}  // namespace detail

/// A buffer that was taken from a buffer_pool. Converts to a span of bytes, so it can be passed to transfers directly.
/// Its destructor gives it back; no transfer may be using it then. Movable; a moved-from one is empty.
class [[nodiscard]] pooled_buffer {
 public:
  /// Takes over the buffer, and leaves `other` empty.
  pooled_buffer(pooled_buffer&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
  /// The same; gives back the buffer that this object had.
  pooled_buffer& operator=(pooled_buffer&& other) noexcept {
    pooled_buffer taken(std::move(other));
    std::swap(pool_, taken.pool_);
    std::swap(data_, taken.data_);
    return *this;
  }
  ~pooled_buffer() {
    if (pool_ != nullptr) pool_->give_back(data_);
  }

  std::byte* data() const noexcept { return data_; }  ///< its first byte; null if it is empty
  std::size_t size() const noexcept { return pool_ == nullptr ? 0 : pool_->bytes_of_each(); }  ///< bytes

  /// Its bytes, for range-based loops and std::span.
  std::byte* begin() const noexcept { return data_; }
  /// The end of its bytes.
  std::byte* end() const noexcept { return data_ + size(); }

  /// A part of it. Precondition: offset + bytes <= size().
  std::span<std::byte> view(std::size_t offset, std::size_t bytes,
                            [[maybe_unused]] detail::caller from = detail::caller::here()) const noexcept {
    QIO_CHECK_AT(offset <= size() && bytes <= size() - offset, "view() reaches past the end of the pooled_buffer",
                 from);
    return {data_ + offset, bytes};
  }

 private:
  friend class buffer_pool;
  template <class Engine>
  friend class pooled_buffer_awaiter;

  pooled_buffer(detail::pooled_memory& pool, std::byte* data) noexcept : pool_(&pool), data_(data) {}

  detail::pooled_memory* pool_;
  std::byte* data_;
};

/// What buffer_pool::async_take() returns. Await it once.
template <class Engine>
class [[nodiscard]] pooled_buffer_awaiter final : detail::pooled_memory::waiter {
 public:
  /// For buffer_pool.
  pooled_buffer_awaiter(detail::pooled_memory& pool, std::shared_ptr<detail::loop<Engine>> on) noexcept
      : pool_(pool), on_(std::move(on)) {}
  pooled_buffer_awaiter(const pooled_buffer_awaiter&) = delete;
  pooled_buffer_awaiter& operator=(const pooled_buffer_awaiter&) = delete;
  /// Stops waiting, on the context's thread.
  ~pooled_buffer_awaiter() {
    if (is_posted) on_->withdraw(*this);
    if (buffer != nullptr)
      pool_.give_back(buffer);
    else if (is_waiting)
      pool_.stop_waiting(*this);
  }

  bool await_ready() noexcept {
    if (on_ == nullptr || on_->closed()) return true;
    on_->require_own_thread("a buffer was awaited by another thread than its context's");
    buffer = pool_.take();
    return buffer != nullptr;
  }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    coroutine_ = waiting;
    loop = on_.get();
    run = [](posted& node) noexcept {
      auto& self = static_cast<pooled_buffer_awaiter&>(node);
      self.coroutine_.resume();
    };
    pool_.wait(*this);
  }
  result<pooled_buffer> await_resume() noexcept {
    if (buffer == nullptr) return error(errc::context_closed);
    return pooled_buffer(pool_, std::exchange(buffer, nullptr));
  }

 private:
  using posted = detail::posted;

  detail::pooled_memory& pool_;
  std::shared_ptr<detail::loop<Engine>> on_;
  std::coroutine_handle<> coroutine_;
};

/// Buffers of one size for transfers. The memory is allocated once; taking and giving back a buffer is a few
/// instructions, and bounds how much memory all transfers together take.
///
///     auto pool = qio::buffer_pool::allocate({.buffers = 32, .buffer_bytes = 128 * 1024}).value();
///     ...
///     auto buffer = co_await pool.async_take(context);           // waits until one is free
///     auto bytes = co_await file.async_read_at(offset, buffer.value());
///
/// In registered memory, direct transfers cost io_uring less:
///
///     auto context = qio::context::create({.registered_bytes = 8 << 20}).value();
///     auto pool = qio::buffer_pool::in(context.registered_memory(), 64 * 1024).value();
///
/// A pool is for one thread, and must outlive its buffers and the coroutines that wait for one (checked where
/// QIO_CHECKS is 1). It may be moved meanwhile. For files that need alignment and callers that have none, see
/// bounce_pool.
class [[nodiscard]] buffer_pool {
 public:
  /// Allocates all memory at once; on Linux 5.14 and later it is present afterwards, so that no transfer waits for it.
  /// Fails with errc::invalid_alignment unless `alignment` is a power of two of at most 2 MiB, with
  /// std::errc::invalid_argument if there are no buffers or they have no bytes, with std::errc::not_enough_memory, and
  /// as huge_pages::required and numa_node say.
  static result<buffer_pool> allocate(const buffer_pool_options& options = {}) noexcept {
    constexpr std::size_t largest = std::size_t(2) << 20;
    if (!std::has_single_bit(options.alignment) || options.alignment > largest)
      return error(errc::invalid_alignment, options.alignment, largest);
    const std::size_t each = rounded(options.buffer_bytes, options.alignment);
    if (each == 0 || options.buffers == 0) return error(std::make_error_code(std::errc::invalid_argument));
    // What the system maps begins at a page, which may be smaller than the alignment.
    const std::size_t more = options.alignment > default_buffer_alignment ? options.alignment : 0;
    const std::size_t most = ~std::size_t(0) - options.alignment;
    if (options.buffers > most / each) return error(std::make_error_code(std::errc::not_enough_memory));
    const std::size_t all = options.buffers * each;
    const auto mapped = platform::map_memory(all + more, options.huge_pages, options.numa_node);
    if (!mapped) return mapped.error();
    const auto address = reinterpret_cast<std::uintptr_t>(mapped.value().data);
    const std::size_t before = (options.alignment - address % options.alignment) % options.alignment;
    return make(mapped.value(), {mapped.value().data + before, all}, each, options.buffers);
  }

  /// Uses memory of the caller, which must outlive the pool: as many buffers of `buffer_bytes` (rounded up to a
  /// multiple of 4096) as fit into it. Fails with std::errc::invalid_argument if `buffer_bytes` is 0, if no buffer
  /// fits, or if the memory does not begin at a multiple of 4096.
  static result<buffer_pool> in(std::span<std::byte> memory, std::size_t buffer_bytes) noexcept {
    const std::size_t each = rounded(buffer_bytes, default_buffer_alignment);
    if (each == 0 || memory.size() < each ||
        reinterpret_cast<std::uintptr_t>(memory.data()) % default_buffer_alignment != 0)
      return error(std::make_error_code(std::errc::invalid_argument));
    return make({}, memory, each, memory.size() / each);
  }

  /// A buffer with arbitrary contents. Fails with std::errc::no_buffer_space if all are in use.
  result<pooled_buffer> take() noexcept {
    std::byte* const taken = state().take();
    if (taken == nullptr) return error(std::make_error_code(std::errc::no_buffer_space));
    return pooled_buffer(state(), taken);
  }

  /// `co_await pool.async_take(context)` returns a buffer when one is free; coroutines get them in the order in which
  /// they began to wait. Fails with errc::context_closed if the context has ended. Only a buffer that is given back
  /// resumes a coroutine that waits, in a later turn of the context; destroying the coroutine ends its wait. If its
  /// context ends meanwhile, it is not resumed and gets no buffer: destroy it. Allocates nothing.
  template <class Engine>
  pooled_buffer_awaiter<Engine> async_take(const basic_context<Engine>& on) noexcept {
    return {state(), detail::file_access::loop_of(on)};
  }

  std::size_t buffers() const noexcept { return state().count(); }               ///< how many there are
  std::size_t buffers_in_use() const noexcept { return state().in_use(); }       ///< now
  std::size_t buffer_bytes() const noexcept { return state().bytes_of_each(); }  ///< the size of each, in bytes

 private:
  explicit buffer_pool(std::unique_ptr<detail::pooled_memory> state) noexcept : state_(std::move(state)) {}

  // 0 if it is 0 or too large.
  static std::size_t rounded(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t all = (bytes + (alignment - 1)) & ~(alignment - 1);
    return all < bytes ? 0 : all;
  }

  static result<buffer_pool> make(platform::memory_block own, std::span<std::byte> memory, std::size_t each,
                                  std::size_t count) noexcept {
    std::unique_ptr<detail::pooled_memory> made;
    if (!detail::succeeds([&] { made = std::make_unique<detail::pooled_memory>(own, memory, each, count); })) {
      platform::unmap_memory(own);
      return error(std::make_error_code(std::errc::not_enough_memory));
    }
    return buffer_pool(std::move(made));
  }

  detail::pooled_memory& state() const noexcept {
    QIO_CHECK_AT(state_ != nullptr, "a moved-from buffer_pool was used", detail::caller());
    return *state_;
  }

  std::unique_ptr<detail::pooled_memory> state_;
};

QIO_END_NAMESPACE
