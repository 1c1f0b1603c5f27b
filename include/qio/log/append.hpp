// SPDX-License-Identifier: BSL-1.0
// One record on its way into a log.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <system_error>
#include <type_traits>

namespace qio::inline QIO_CONFIGURATION {
namespace detail {

/// No engine gets it: the log takes it, and gives it to the loop when the record is durable.
struct log_append_request : request {
  std::span<const std::byte> record;
  std::uint64_t number = 0;        ///< once it has a place in the log
  queue<request>* list = nullptr;  ///< of the log, which it is in
};

}  // namespace detail

/// The append of one record: see log_writer::append(). Awaited, or started with a callback, once. Immovable, and
/// allocates nothing. Destroying it in flight abandons the record, which may or may not be in the log.
template <class State>
class [[nodiscard]] log_append final : private detail::log_append_request {
 public:
  using result_type = result<std::uint64_t>;  ///< the number of the record

  /// For log_writer. A null `log` is one that was moved from.
  log_append(State* log, std::span<const std::byte> bytes) noexcept : log_(log) { record = bytes; }
  log_append(const log_append&) = delete;
  log_append& operator=(const log_append&) = delete;
  ~log_append() {
    if (stage_ != stage::started) return;
    if (list != nullptr)
      list->remove(*this);
    else
      loop_->abandon(*this);
  }

  bool await_ready() noexcept {
    QIO_CHECK(stage_ == stage::made, "a log_append was awaited that has already been started or awaited");
    return is_refused();
  }
  bool await_suspend(std::coroutine_handle<> waiting) noexcept {
    new (&storage_) std::coroutine_handle<>(waiting);
    completed = [](request& self) noexcept {
      auto& done = static_cast<log_append&>(self);
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
  /// (unless the log was moved from, or has outlived its context). See operation::start() for suitable callbacks.
  template <class Callback>
    requires std::invocable<Callback&, result_type>
  void start(Callback callback) noexcept {
    static_assert(std::is_trivially_copyable_v<Callback> && sizeof(Callback) <= sizeof(storage_) &&
                      alignof(Callback) <= alignof(void*),
                  "qio: a callback must be trivially copyable and at most four pointers in size; capture a pointer");
    QIO_CHECK(stage_ == stage::made, "a log_append was started that has already been started or awaited");
    new (&storage_) Callback(callback);
    completed = [](request& self) noexcept {
      auto& done = static_cast<log_append&>(self);
      done.stage_ = stage::completed;
      Callback copy = *std::launder(reinterpret_cast<Callback*>(&done.storage_));  // it may destroy the append
      copy(done.answer());
    };
    if (is_refused()) return completed(*this);
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
  // False if it was refused.
  bool enter() noexcept {
    loop_ = &log_->loop();
    failure = log_->enter(*this);
    if (!failure.exists()) stage_ = stage::started;
    return !failure.exists();
  }
  result_type answer() const noexcept {
    if (failed()) return failure;
    return number;
  }

  State* log_;
  typename State::loop_type* loop_ = nullptr;
  alignas(void*) std::byte storage_[4 * sizeof(void*)];  // the coroutine or the callback that waits
  stage stage_ = stage::made;
};

}  // namespace qio::inline QIO_CONFIGURATION
