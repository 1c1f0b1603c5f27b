// What the scenarios share: contexts of the engine under test, a file with known contents, and memory that is watched.
#pragma once

#include "coroutines.hpp"
#include "schedule.hpp"
#include <qio/qio.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace schedules {

/// The engine of the contexts that a scenario creates.
inline qio::engine_kind present_engine = qio::engine_kind::workers;

/// Few workers and places in the ring, so that operations wait for them.
inline qio::context_options some_options() {
  qio::context_options options;
  options.engine = present_engine;
  options.queue_depth = 1u << choose(4);
  options.workers = 1 + choose(2);
  if (choose(4) == 0) options.inline_work = qio::inline_work::never;
  if (choose(8) == 0) options.waiting = qio::wait_policy::spin;
  return options;
}

inline qio::context new_context(const qio::context_options& options = some_options()) {
  return qio::context::create(options).value();
}

/// A file of 64 KiB, in which each page has contents of its own. Made once; no scenario changes what others read.
inline constexpr std::size_t page = 4096, pages = 16;
inline std::string path_of_file;

constexpr std::byte contents(std::size_t which) noexcept { return static_cast<std::byte>(which * 7 + 1); }

using async_file = qio::async_cached_file;

inline async_file open_file(qio::context& on) {
  qio::open_options options;
  if (choose(2) == 0) options.inline_reads = options.inline_writes = qio::inline_transfers::never;
  return qio::cached_file::open(on, path_of_file, qio::access::read_write, qio::creation::open_existing, options)
      .value();
}

/// A buffer that belongs to an operation until that has completed. From then on, nothing may write to it.
class watched_page {
 public:
  std::span<std::byte> bytes() noexcept { return bytes_; }
  bool holds(std::size_t which) const noexcept { return is_filled_with(contents(which)); }
  void release() noexcept { bytes_.fill(released); }
  ~watched_page() { expect(!is_released() || is_filled_with(released), "a buffer was used after its operation"); }

 private:
  static constexpr std::byte released{0xee};
  bool is_released() const noexcept { return bytes_[0] == released || bytes_[page - 1] == released; }
  bool is_filled_with(std::byte what) const noexcept {
    for (const std::byte each : bytes_)
      if (each != what) return false;
    return true;
  }

  std::array<std::byte, page> bytes_{};
};

/// A read with a callback, which checks what it gets. The operation is destroyed as soon as it has ended, and its
/// memory overwritten, so that the library cannot use it unnoticed.
class reading {
 public:
  using options = qio::operation_options;

  explicit reading(std::size_t which) noexcept : which_(which) {}
  reading(const reading&) = delete;
  reading& operator=(const reading&) = delete;
  ~reading() { destroy(); }

  void start(async_file& file, const options& how = {}) {
    operation_ = new (&memory_) started(file, which_ * page, buffer_.bytes(), how);
    operation_->transfer.start([this](qio::result<std::size_t> answer) { end(answer); });
  }
  void cancel() { operation_->transfer.cancel(); }
  /// Destroys the operation, whose callback is not called then.
  void destroy() {
    if (operation_ == nullptr) return;
    std::exchange(operation_, nullptr)->~started();
    memory_.fill(std::byte{0xee});
    buffer_.release();
  }

  bool has_ended() const noexcept { return ended_ != 0; }

  /// Which errors it may have.
  bool may_be_canceled = false, may_fail = false;

 private:
  struct started {
    started(async_file& file, std::uint64_t offset, std::span<std::byte> into, const options& how)
        : transfer(file.async_read_at(offset, into, how)) {}
    decltype(std::declval<async_file&>().async_read_at(std::uint64_t{}, std::span<std::byte>{}, options{})) transfer;
  };

  void end(const qio::result<std::size_t>& answer) {
    expect(++ended_ == 1, "an operation ended twice");
    if (answer) {
      expect(answer.value() == page, "a read was short");
      expect(buffer_.holds(which_), "a read returned wrong data");
    } else if (answer.error() == std::errc::operation_canceled || answer.error() == std::errc::timed_out) {
      expect(may_be_canceled, "a read was canceled that nobody canceled");
    } else {
      expect(may_fail, "a read failed");
    }
    destroy();
  }

  std::size_t which_;
  unsigned ended_ = 0;
  watched_page buffer_;
  alignas(started) std::array<std::byte, sizeof(started)> memory_;
  started* operation_ = nullptr;
};

using qio_test::detached;
using qio_test::event;
using qio_test::until;

}  // namespace schedules
