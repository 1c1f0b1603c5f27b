// SPDX-License-Identifier: BSL-1.0
// A log for threads that wait: any of them appends, and returns when its record is durable. Include it on its own;
// <qio/qio.hpp> does not.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/engine/default.hpp>
#include <qio/file.hpp>
#include <qio/log_writer.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/options.hpp>
#include <qio/path.hpp>
#include <qio/posted_call.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>
#include <qio/task.hpp>

#include <atomic>
#include <concepts>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

QIO_BEGIN_NAMESPACE

/// How a shared_log opens its file and its context.
struct shared_log_options {
  log_options log{};                   ///< how the log is laid out, and how it grows
  creation how = creation::if_needed;  ///< what happens if the file exists, or does not
  open_options file{};                 ///< how the file is opened
  context_options context{};           ///< of the context on the log's thread
};

namespace detail {

/// A thread with a context, on which a log is open.
template <file_mode Mode>
class shared_log_state {
  using log_type = log_writer<Mode>;

 public:
  shared_log_state() noexcept = default;
  shared_log_state(const shared_log_state&) = delete;
  shared_log_state& operator=(const shared_log_state&) = delete;

  ~shared_log_state() {
    QIO_CHECK_AT(users_.load() == 0, "a shared_log was destroyed while another thread was in append() or trim()",
                 caller());
    if (!thread_.joinable()) return;
    posted_call stop([this] {
      is_stopped_ = true;
      if (serving_) serving_.resume();
    });
    context_->post(stop);
    thread_.join();
  }

  template <class Visit>
  result<void> open(path_view path, Visit& visit, const shared_log_options& options) {
    opening<Visit> given{path, visit, options};
    {
      const platform::signals_blocked blocked;
      if (!succeeds([&] { thread_ = std::thread([this, &given] { serve(given); }); }))
        return error(std::make_error_code(std::errc::resource_unavailable_try_again)).of_opening(path.c_str());
    }
    {
      std::unique_lock lock(mutex_);
      given.ended.wait(lock, [&] { return given.has_ended; });
    }
    if (!given.answer || given.thrown) thread_.join();
    if (given.thrown) std::rethrow_exception(given.thrown);
    return given.answer;
  }

  const log_type& log() const noexcept { return *log_; }

  /// Has the log's thread start the operation that `make(log)` makes, and waits for its result.
  template <class Make>
  result<std::uint64_t> carry_out(Make make) {
    struct waiting {
      shared_log_state& of;
      Make make;
      operation_slot<std::invoke_result_t<Make&, log_type&>> operation{};
      std::condition_variable ended{};
      std::optional<result<std::uint64_t>> answer{};  // guarded by the mutex of the state
    };
    ++users_;
    waiting here{*this, std::move(make)};
    posted_call call([&here] {
      here.operation.emplace([&here] { return here.make(*here.of.log_); })
          .start([&here](const result<std::uint64_t>& done) {
            // Under the lock, because the thread that waits destroys all this as soon as it may.
            const std::lock_guard lock(here.of.mutex_);
            here.operation.reset();
            here.answer.emplace(done);
            here.ended.notify_one();
          });
    });
    context_->post(call);
    std::unique_lock lock(mutex_);
    here.ended.wait(lock, [&here] { return here.answer.has_value(); });
    --users_;
    return *std::move(here.answer);
  }

 private:
  template <class Visit>
  struct opening {
    path_view path;
    Visit& visit;
    const shared_log_options& options;
    result<void> answer = success();
    std::exception_ptr thrown{};  // by the visitor, or for lack of memory
    std::condition_variable ended{};
    bool has_ended = false;  // guarded by the mutex of the state
  };

  template <class Visit>
  void serve(opening<Visit>& given) noexcept {
    const auto open_and_serve = [&] {
      if (auto failure = run(given); failure.exists()) end(given, failure);
    };
#if defined(__cpp_exceptions)
    try {
      open_and_serve();
    } catch (...) {  // only while it opens: then nothing allocates any more
      given.thrown = std::current_exception();
      end(given, success());
    }
#else
    open_and_serve();
#endif
    context_.reset();
  }

  // `given` is gone as soon as the thread that waits may go on.
  template <class Visit>
  void end(opening<Visit>& given, const result<void>& answer) noexcept {
    const std::lock_guard lock(mutex_);
    given.answer = answer;
    given.has_ended = true;
    given.ended.notify_one();
  }

  // The error, if the log could not be opened; else nothing, after it has been served.
  template <class Visit>
  error run(opening<Visit>& given) {
    auto created = context::create(given.options.context);
    if (!created) return created.error().of_opening(given.path.c_str());
    context_.emplace(std::move(created).value());
    auto file =
        basic_file<Mode>::open(*context_, given.path, access::read_write, given.options.how, given.options.file);
    if (!file) return file.error();
    return context_->run(open_and_serve(given, std::move(file).value()));
  }

  template <class Visit>
  task<error> open_and_serve(opening<Visit>& given, basic_file<Mode, default_engine> file) {
    struct stopped {
      shared_log_state& of;
      bool await_ready() const noexcept { return of.is_stopped_; }
      void await_suspend(std::coroutine_handle<> serving) noexcept { of.serving_ = serving; }
      void await_resume() const noexcept {}
    };
    auto opened = co_await open_log(std::move(file), std::ref(given.visit), given.options.log);
    if (!opened) co_return opened.error();
    log_.emplace(std::move(opened).value());
    end(given, success());
    co_await stopped{*this};
    log_.reset();
    co_return error();
  }

  std::optional<context> context_;  // this and the log belong to the thread, but for context::post()
  std::optional<log_type> log_;
  std::coroutine_handle<> serving_;
  bool is_stopped_ = false;  // on the thread
  std::mutex mutex_;
  std::atomic<unsigned> users_ = 0;  // threads in carry_out()
  std::thread thread_;
};

}  // namespace detail

/// A log that any thread appends to, and which needs no event loop of the program: for databases whose threads wait.
///
///     auto log = qio::shared_log<qio::direct>::open("log", replay).value();  // bool replay(const qio::log_record&)
///     auto number = log.append(bytes);                                       // on any thread: durable
///
/// The log is that of log_writer: see there for order, crashes, failures and the format, and docs/log.md. The object
/// owns a thread with a context, on which the log is open. Records of threads that append at the same time are written
/// together (group commit), so appends per second grow with the number of threads.
///
/// Threads. append(), trim() and the other functions may be called by several threads at once; moving and destroying
/// the object, by one while no other uses it. Destroying it waits for nothing but the end of its thread, and unlocks
/// the log. A child process that was forked must neither use nor destroy it.
template <file_mode Mode>
class [[nodiscard]] shared_log {
  using state = detail::shared_log_state<Mode>;

 public:
  using mode_type = Mode;  ///< cached, uncached, direct or mapped

  /// Opens the log at `path` for appending, as open_log() does: recovers it, or creates it. `visit` is called for each
  /// record on the log's thread, while this waits; what it throws, this throws. Fails as basic_file::open() and
  /// open_log() do, and with std::errc::resource_unavailable_try_again if there can be no thread. The name of a new
  /// file is durable after sync_directory(), which is up to the caller. Allocates.
  template <std::predicate<const log_record&> Visit>
  static result<shared_log> open(path_view path, Visit visit, const shared_log_options& options = {}) {
    auto opened = std::make_unique<state>();
    if (auto ready = opened->open(path, visit, options); !ready) return ready.error();
    return shared_log(std::move(opened));
  }

  /// Appends `record`, and returns when it is durable, with its number: see log_writer::append(). Allocates nothing.
  /// Costs two switches between threads besides a part of a durable write.
  result<std::uint64_t> append(std::span<const std::byte> record) {
    if (state_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));
    return state_->carry_out([record](log_writer<Mode>& log) { return log.append(record); });
  }

  /// Drops the records in front of `record`, and returns when they are dropped: see log_writer::trim(). Appends of
  /// other threads go on meanwhile.
  result<std::uint64_t> trim(std::uint64_t record) {
    if (state_ == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));
    return state_->carry_out([record](log_writer<Mode>& log) { return log.trim(record); });
  }

  /// What open() has found. Precondition: the object was not moved from.
  const log_contents& recovered() const noexcept { return own().recovered(); }
  /// The longest record that can be appended, in bytes. Precondition: the object was not moved from.
  std::uint64_t longest_record() const noexcept { return own().longest_record(); }

 private:
  explicit shared_log(std::unique_ptr<state> opened) noexcept : state_(std::move(opened)) {}

  const log_writer<Mode>& own() const noexcept {
    QIO_CHECK_AT(state_ != nullptr, "a moved-from shared_log was used", detail::caller());
    return state_->log();
  }

  std::unique_ptr<state> state_;
};

QIO_END_NAMESPACE
