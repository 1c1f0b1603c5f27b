// SPDX-License-Identifier: BSL-1.0
// A write, and then a sync, as one operation that reports both.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stop_token>
#include <system_error>
#include <type_traits>

QIO_BEGIN_NAMESPACE

/// The results of a write and of the sync that followed it.
struct synced_write {
  /// The number of bytes written, which is the buffer's size, or the error of the write.
  result<std::size_t> written = error(std::make_error_code(std::errc::operation_canceled));
  /// The result of the sync. If the write failed, there was no sync, and this is the error of the write; if the write
  /// was canceled but completed, std::errc::operation_canceled.
  result<void> synced = error(std::make_error_code(std::errc::operation_canceled));
};

/// A write, then a sync: see basic_file::async_write_and_sync(). Awaited, or started with a callback, once. Immovable;
/// allocates nothing. Destroying it cancels the step in flight and waits until the system no longer uses the buffer.
template <class File, class Write, class Sync>
class [[nodiscard]] write_and_sync final {
 public:
  using result_type = synced_write;  ///< both results

  /// For files: `make()` returns the write.
  template <std::invocable Make>
  write_and_sync(File& file, sync_kind kind, const operation_options& options, Make&& make)
      : file_(file), kind_(kind), deadline_(options.deadline), stop_(options.stop.token()), write_(make()) {}
  write_and_sync(const write_and_sync&) = delete;
  write_and_sync& operator=(const write_and_sync&) = delete;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) noexcept {
    new (&storage_) std::coroutine_handle<>(waiting);
    completed_ = [](write_and_sync& self) noexcept {
      std::launder(reinterpret_cast<std::coroutine_handle<>*>(&self.storage_))->resume();
    };
    begin();
  }
  result_type await_resume() noexcept { return outcome_; }

  /// Starts it. `callback(synced_write)` is called once, on the context's thread: see operation::start().
  template <class Callback>
    requires std::invocable<Callback&, result_type>
  void start(Callback callback) noexcept {
    static_assert(std::is_trivially_copyable_v<Callback> && sizeof(Callback) <= sizeof(storage_) &&
                      alignof(Callback) <= alignof(void*),
                  "qio: a callback must be trivially copyable and at most four pointers in size; capture a pointer");
    new (&storage_) Callback(callback);
    completed_ = [](write_and_sync& self) noexcept {
      Callback copy = *std::launder(reinterpret_cast<Callback*>(&self.storage_));  // it may destroy the operation
      copy(result_type(self.outcome_));
    };
    begin();
  }

  /// Asks the step in flight to end early. If the write completes in spite of it, there is no sync. Before the start
  /// and after completion it does nothing.
  void cancel() noexcept {
    if (stage_ == stage::writing) is_canceled_ = true, write_.cancel();
    if (stage_ == stage::syncing) sync_->cancel();
  }

 private:
  enum class stage : std::uint8_t { made, writing, syncing, completed };

  void begin() noexcept {
    QIO_CHECK(stage_ == stage::made, "a write_and_sync was started that has already been started or awaited");
    stage_ = stage::writing;
    write_.start([this](result<std::size_t> written) { end_write(written); });
  }

  // The sync is made only now, so it covers the whole write, however many system calls that took.
  void end_write(const result<std::size_t>& written) noexcept {
    outcome_.written = written;
    if (!written) outcome_.synced = written.error().after(0);
    if (!written || is_canceled_) return finish();
    stage_ = stage::syncing;
    sync_.emplace([&]() -> Sync {
      if constexpr (std::is_same_v<Sync, decltype(file_.async_sync(kind_))>)
        return file_.async_sync(kind_);
      else
        return file_.async_sync(kind_, {deadline_, stop_});
    });
    sync_->start([this](result<void> synced) {
      outcome_.synced = synced;
      finish();
    });
  }

  void finish() noexcept {
    stage_ = stage::completed;
    completed_(*this);
  }

  File& file_;
  sync_kind kind_;
  deadline deadline_;
  std::stop_token stop_;
  Write write_;
  operation_slot<Sync> sync_;
  synced_write outcome_;
  void (*completed_)(write_and_sync&) noexcept = nullptr;
  alignas(void*) std::byte storage_[4 * sizeof(void*)];  // the coroutine or the callback that waits
  stage stage_ = stage::made;
  bool is_canceled_ = false;
};

QIO_END_NAMESPACE
