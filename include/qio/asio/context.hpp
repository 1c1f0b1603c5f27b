// SPDX-License-Identifier: BSL-1.0
// A context that runs inside an io_context, of Asio or of Boost.Asio: `Library` names what the two call alike.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/file.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>
#include <qio/options.hpp>
#include <qio/posted_call.hpp>
#include <qio/result.hpp>
#include <qio/task.hpp>

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

template <class Library>
class basic_asio_context;

namespace detail {

// --- How a result of qio is passed to a completion handler of Asio ---

/// A type for which the handler gets the result itself: there is no value to pass when it failed.
template <class Library, class Answer>
struct asio_completion {
  using signature = void(Answer);
  template <class Handler>
  static void call(Handler&& handler, Answer&& answer) {
    std::forward<Handler>(handler)(std::move(answer));
  }
};

template <class Library>
struct asio_completion<Library, result<void>> {
  using signature = void(typename Library::error_code);
  template <class Handler>
  static void call(Handler&& handler, result<void>&& answer) {
    std::forward<Handler>(handler)(answer ? typename Library::error_code() : Library::code_of(answer.error().code()));
  }
};

template <class Library, class T>
  requires std::default_initializable<T>
struct asio_completion<Library, result<T>> {
  using signature = void(typename Library::error_code, T);
  template <class Handler>
  static void call(Handler&& handler, result<T>&& answer) {
    if (answer) return std::forward<Handler>(handler)(typename Library::error_code(), std::move(answer).value());
    T value{};
    if constexpr (std::same_as<T, std::size_t>) value = static_cast<T>(answer.error().transferred());
    std::forward<Handler>(handler)(Library::code_of(answer.error().code()), std::move(value));
  }
};

/// The value of a task, or the exception that left it. A task that never finished has neither.
template <class T>
struct asio_task_end {
  std::exception_ptr failure;
  std::optional<kept<T>> value;
};

template <class Library, class T>
struct asio_completion<Library, asio_task_end<T>> {
  using signature = void(std::exception_ptr, T);
  template <class Handler>
  static void call(Handler&& handler, asio_task_end<T>&& end) {
    if (!end.value) {
      if constexpr (std::default_initializable<T>)
        end.value.emplace(T());
      else
        end.value.emplace(error(std::make_error_code(std::errc::operation_canceled)));
    }
    std::forward<Handler>(handler)(std::move(end.failure), *std::move(end.value));
  }
};

template <class Library>
struct asio_completion<Library, asio_task_end<void>> {
  using signature = void(std::exception_ptr);
  template <class Handler>
  static void call(Handler&& handler, asio_task_end<void>&& end) {
    std::forward<Handler>(handler)(std::move(end.failure));
  }
};

// --- One asynchronous operation of Asio ---

template <class Library>
class asio_driver;

/// What a driver does with every operation, whatever its type.
struct asio_operation : list_hook {
  asio_operation* next;  ///< among those that have completed
  asio_operation* previous;
  void (*finish)(asio_operation&, bool);      ///< frees it; calls its handler if the argument is true
  void (*cancel)(asio_operation&);            ///< it is in flight
  void (*give_up)(asio_operation&) noexcept;  ///< the context has ended, and it has not completed
  std::uint64_t number;                       ///< no other of its driver ever has the same one
  bool begins_later = false;                  ///< another thread has started it
  bool is_canceled = false;                   ///< before it has begun
};

/// The call of a handler, on its executor.
template <class Library, class Handler, class Answer>
struct asio_delivery {
  using allocator_type = typename Library::template allocator_of<Handler>;

  allocator_type get_allocator() const noexcept { return Library::allocator(handler); }
  void operator()() {
    Library::stop_listening(handler);
    asio_completion<Library, Answer>::call(std::move(handler), std::move(answer));
  }

  Handler handler;
  Answer answer;
};

/// An operation with its handler, in memory of the handler's allocator. `Work` is what it does: asio_operation_work or
/// asio_task_work.
template <class Library, class Handler, class Work>
class asio_state final : public asio_operation {
  using answer_type = typename Work::answer_type;
  using executor_type = typename Library::template executor_of<Handler>;
  using allocator_type = typename std::allocator_traits<
      typename Library::template allocator_of<Handler>>::template rebind_alloc<asio_state>;

 public:
  struct deleter {
    void operator()(asio_state* state) const noexcept { state->destroy(); }
  };
  using owner = std::unique_ptr<asio_state, deleter>;

  template <class... Arguments>
  static owner make(asio_driver<Library>& driver, Handler&& handler, Arguments&&... arguments) {
    struct memory {
      allocator_type allocator;
      asio_state* room = std::allocator_traits<allocator_type>::allocate(allocator, 1);
      ~memory() {
        if (room != nullptr) std::allocator_traits<allocator_type>::deallocate(allocator, room, 1);
      }
    } taken{allocator_type(Library::allocator(handler))};
    ::new (static_cast<void*>(taken.room))
        asio_state(driver, std::move(handler), std::forward<Arguments>(arguments)...);
    return owner(std::exchange(taken.room, nullptr));
  }

  asio_driver<Library>& driver() const noexcept { return driver_; }
  const Handler& handler() const noexcept { return handler_; }

  /// On the loop's thread.
  static void begin(owner state) {
    asio_state* const self = state.get();
    const auto locked = self->driver_.lock();
    self->driver_.wait_no_longer(*self);
    if (self->driver_.is_closed()) {
      self->driver_.run_soon();
      self->work_.give_up(self->answer_);
      return self->driver_.add_completed(*state.release());
    }
    self->work_.prepare(self->driver_.context());
    self->driver_.run_soon();  // the last that may throw: then nothing uses the program's memory yet
    self->driver_.add(*state.release());
    self->is_beginning_ = true;
    self->work_.begin(self->driver_.context(), self->answer_, *self);
    self->is_beginning_ = false;
    if (self->answer_)
      self->driver_.complete(*self);
    else if (self->is_canceled)
      self->work_.cancel();
  }

  /// For `Work`, from within the context, or from within its begin(): it has ended.
  void end(answer_type&& answer) noexcept {
    answer_.emplace(std::move(answer));
    if (!is_beginning_) driver_.complete(*this);
  }

 private:
  template <class... Arguments>
  asio_state(asio_driver<Library>& driver, Handler&& handler, Arguments&&... arguments)
      : driver_(driver),
        handler_(std::move(handler)),
        guard_(Library::executor(handler_, driver.executor())),
        work_(std::forward<Arguments>(arguments)...) {
    finish = [](asio_operation& each, bool calls) { static_cast<asio_state&>(each).finish_now(calls); };
    cancel = [](asio_operation& each) { static_cast<asio_state&>(each).work_.cancel(); };
    give_up = [](asio_operation& each) noexcept {
      auto& self = static_cast<asio_state&>(each);
      self.work_.give_up(self.answer_);
    };
  }
  ~asio_state() = default;

  // Its memory is free before the handler is called, so that the operation that this starts can use it.
  void finish_now(bool calls) {
    owner self(this);
    if (!calls) return;
    const auto guard = std::move(guard_);
    asio_delivery<Library, Handler, answer_type> delivery{std::move(handler_), *std::move(answer_)};
    self.reset();
    Library::dispatch(guard.get_executor(), std::move(delivery));
  }

  void destroy() noexcept {
    driver_.wait_no_longer(*this);
    allocator_type allocator(Library::allocator(handler_));
    this->~asio_state();
    std::allocator_traits<allocator_type>::deallocate(allocator, this, 1);
  }

  asio_driver<Library>& driver_;
  Handler handler_;
  typename Library::template work_guard<executor_type> guard_;
  Work work_;
  std::optional<answer_type> answer_;
  bool is_beginning_ = false;
};

/// Starts an operation on the loop's thread.
template <class Library, class State>
struct asio_beginning {
  using allocator_type =
      typename Library::template allocator_of<std::remove_cvref_t<decltype(std::declval<State&>().handler())>>;

  allocator_type get_allocator() const noexcept { return allocator; }
  void operator()() { State::begin(std::move(state)); }

  std::shared_ptr<asio_driver<Library>> driver;  // outlives `state`
  allocator_type allocator;
  typename State::owner state;
};

/// Cancels one operation, if it has not completed, when Asio requests that.
template <class Library>
struct asio_canceler {
  std::weak_ptr<asio_driver<Library>> driver;
  asio_operation* which;
  std::uint64_t number;

  void operator()() const {
    if (const auto found = driver.lock()) found->cancel(which, number);
  }
};

// --- What an operation does ---

/// An operation of qio. `Make` returns it.
template <class Make>
class asio_operation_work {
  using operation_type = std::invoke_result_t<Make&>;

 public:
  using answer_type = typename operation_type::result_type;

  explicit asio_operation_work(Make&& make) : make_(std::move(make)) {}

  void prepare([[maybe_unused]] const qio::context& on) {
    [[maybe_unused]] const auto& made = operation_.emplace(make_);
    if constexpr (requires { on.owns(made); })
      QIO_CHECK_AT(on.owns(made), "an asio_context was given an operation of another context's file", caller());
  }

  template <class State>
  void begin(qio::context&, std::optional<answer_type>& answer, State& state) noexcept {
    const auto end = [&state](answer_type later) { state.end(std::move(later)); };
    if constexpr (requires { operation_->start_or_finish(end); }) {
      if (auto now = operation_->start_or_finish(end)) answer = std::move(now);
    } else {
      operation_->start(end);
    }
  }

  // What changes a log cannot be canceled.
  void cancel() noexcept {
    if constexpr (requires { operation_->cancel(); }) operation_->cancel();
  }

  /// The context has ended before it could begin.
  void give_up(std::optional<answer_type>& answer) noexcept {
    if constexpr (std::constructible_from<answer_type, error>)
      answer.emplace(error(errc::context_closed));
    else
      answer.emplace();
  }

 private:
  Make make_;
  operation_slot<operation_type> operation_;
};

/// A task. `Make` takes a stop token and returns it.
template <class Make>
class asio_task_work final : started::listener {
  using value_type = typename std::invoke_result_t<Make&, std::stop_token>::value_type;

 public:
  using answer_type = asio_task_end<value_type>;

  explicit asio_task_work(Make&& make) : make_(std::move(make)), start_([this] { running_->start(*this); }) {}

  void prepare(const qio::context&) { running_.emplace(run_into<value_type>(value_, make_(stop_.get_token()))); }

  template <class State>
  void begin(const qio::context& on, std::optional<answer_type>&, State& state) noexcept {
    state_ = &state;
    finished = [](listener& self) noexcept -> std::coroutine_handle<> {
      auto& ended = static_cast<asio_task_work&>(self);
      static_cast<State*>(ended.state_)->end({ended.running_->failure(), std::move(ended.value_)});
      return std::noop_coroutine();
    };
    on.post(start_);
  }

  void cancel() noexcept { stop_.request_stop(); }

  /// The context has ended, and the task waits for something else.
  void give_up(std::optional<answer_type>& answer) noexcept {
    running_.reset();
    answer.emplace(answer_type{std::make_exception_ptr(std::system_error(make_error_code(errc::context_closed))), {}});
  }

 private:
  Make make_;
  std::stop_source stop_;
  std::optional<kept<value_type>> value_;
  std::optional<started> running_;
  posted_call start_;  // the task runs inside poll(), like everything that it awaits
  void* state_ = nullptr;
};

// --- What runs the context inside the io_context ---

/// Lives in an io_context, which calls it before it destroys handlers: operations end while everything that they refer
/// to exists.
template <class Library>
class asio_registry final : public Library::execution_context::service {
 public:
  static inline typename Library::execution_context::id id;

  explicit asio_registry(typename Library::execution_context& in) : Library::execution_context::service(in) {}

  void insert(asio_driver<Library>& driver) noexcept {
    const std::lock_guard lock(mutex_);
    drivers_.insert(driver);
  }
  void remove(asio_driver<Library>& driver) noexcept {
    const std::lock_guard lock(mutex_);
    driver.unlink();
  }

 private:
  void shutdown() noexcept override {
    while (asio_driver<Library>* const next = drivers_.first()) {
      next->unlink();
      next->shut_down();
    }
  }

  std::mutex mutex_;  // any thread may create and destroy drivers
  list<asio_driver<Library>> drivers_;
};

/// Takes turns of a context as handlers of an io_context. At most one turn is due. The io_context waits for the
/// context's handle, and for a deadline, only while an operation is in flight, so that its run() returns when none is.
/// The mutex is locked but while a handler is called: the thread that a handler lets continue may close this, while the
/// io_context's thread is still in the turn.
template <class Library>
class asio_driver final : public list_hook, public std::enable_shared_from_this<asio_driver<Library>> {
  using io_context = typename Library::io_context;
  using executor_type = typename io_context::executor_type;

 public:
  asio_driver(io_context& in, qio::context context, platform::native_handle wake)
      : executor_(in.get_executor()),
        context_(std::move(context)),
        wake_(std::in_place, in, wake),
        timer_(std::in_place, in),
        registry_(&Library::template use_service<asio_registry<Library>>(in)) {  // ends before what it uses
    registry_->insert(*this);
  }
  asio_driver(const asio_driver&) = delete;
  asio_driver& operator=(const asio_driver&) = delete;
  ~asio_driver() {
    if (registry_ != nullptr) registry_->remove(*this);
    close(false);
    destroy_completed();
  }

  const executor_type& executor() const noexcept { return executor_; }
  bool is_closed() const noexcept { return is_closed_; }
  qio::context& context() noexcept { return *context_; }

  template <class State, class Handler, class... Arguments>
  void start(Handler&& handler, Arguments&&... arguments) {
    auto state = State::make(*this, std::forward<Handler>(handler), std::forward<Arguments>(arguments)...);
    state->number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool is_here = executor_.running_in_this_thread();
    if (!is_here) {
      const std::lock_guard lock(waiting_mutex_);
      state->begins_later = true;
      waiting_.insert(*state);
    }
    Library::listen(state->handler(), [&] {
      return asio_canceler<Library>{this->weak_from_this(), state.get(), state->number};
    });
    if (is_here) return State::begin(std::move(state));
    auto allocator = Library::allocator(state->handler());
    Library::post(executor_, asio_beginning<Library, State>{this->shared_from_this(), allocator, std::move(state)});
  }

  /// From any thread.
  void cancel(asio_operation* which, std::uint64_t number) {
    if (has_no_loop_.load(std::memory_order_acquire)) return;
    if (!executor_.running_in_this_thread())
      return Library::post(executor_,
                           [self = this->shared_from_this(), which, number] { self->cancel(which, number); });
    const auto locked = lock();
    // It may have completed, and its memory may belong to another.
    asio_operation* found = nullptr;
    const auto look = [&](asio_operation& each) {
      if (&each == which && each.number == number) found = &each;
    };
    in_flight_.for_each(look);
    if (found != nullptr) {
      found->cancel(*found);
      return run_soon();
    }
    const std::lock_guard waiting(waiting_mutex_);
    waiting_.for_each(look);
    if (found != nullptr) found->is_canceled = true;
  }

  /// `operation` begins, or is destroyed before it could.
  void wait_no_longer(asio_operation& operation) noexcept {
    if (!std::exchange(operation.begins_later, false)) return;
    const std::lock_guard lock(waiting_mutex_);
    operation.unlink();
  }

  // --- for operations, on the loop's thread, with the mutex locked ---

  using lock_type = std::unique_lock<std::recursive_mutex>;
  lock_type lock() noexcept { return lock_type(mutex_); }

  void add(asio_operation& operation) noexcept {
    require_one_thread();
    in_flight_.insert(operation);
  }
  void add_completed(asio_operation& operation) noexcept {
    completed_.push(operation);
    ++completed_count_;
  }
  void complete(asio_operation& operation) noexcept {
    operation.unlink();
    add_completed(operation);
  }

  /// Has the io_context take a turn, unless one is due or in progress. Throws if there is no memory for that; then none
  /// is due.
  void run_soon() {
    if (turn_is_due_ || is_in_turn_) return;
    Library::post(executor_, [self = this->shared_from_this()] {
      auto lock = self->lock();
      self->turn_is_due_ = false;
      self->turn(lock);
    });
    turn_is_due_ = true;
  }

  // --- its end ---

  /// Ends all operations, and waits until the system no longer uses their memory. Their handlers are called later if
  /// `delivers`, else destroyed with this object.
  void close(bool delivers) noexcept {
    const auto locked = lock();
    if (is_closed_.exchange(true)) return;
    wait_no_more();
    Library::release(*wake_);
    wake_.reset();
    timer_.reset();
    context_.reset();
    while (asio_operation* const left = in_flight_.first()) {  // tasks that wait for something else
      left->give_up(*left);
      complete(*left);
    }
    if (delivers && completed_count_ != 0) run_soon();
  }

  /// The io_context is being destroyed.
  void shut_down() noexcept {
    const auto alive = this->shared_from_this();  // a handler that is destroyed may own the last reference
    has_no_loop_.store(true, std::memory_order_release);
    registry_ = nullptr;
    close(false);
    destroy_completed();
  }

 private:
  // Something that the io_context waits for. A handler of an earlier wait may still come.
  struct awaited {
    bool is_set = false;
    unsigned number = 0;
  };
  struct event_handler {
    std::shared_ptr<asio_driver> self;
    awaited asio_driver::*event;
    unsigned number;

    void operator()(const typename Library::error_code&) const {
      auto lock = self->lock();
      awaited& current = (*self).*event;
      if (!current.is_set || current.number != number) return;
      current.is_set = false;
      self->turn(lock);
    }
  };

  /// `wait(handler)` may throw: then nothing is awaited.
  template <class Wait>
  void begin_to_await(awaited asio_driver::*event, Wait wait) {
    awaited& current = this->*event;
    current.is_set = false;
    wait(event_handler{this->shared_from_this(), event, ++current.number});
    current.is_set = true;
  }

  bool has_in_flight() noexcept { return in_flight_.first() != nullptr; }

  // A context belongs to one thread. Checked always, because builds without checks would go on and fail later.
  void require_one_thread() noexcept {
    if (thread_ == 0) thread_ = this_thread_number();
    QIO_REQUIRE_AT(is_this_thread(thread_),
                   "an io_context with an asio_context was run by several threads: give the asio_context an io_context "
                   "of its own, which one thread runs",
                   caller());
  }

  void turn(lock_type& lock) {
    struct scope {
      asio_driver& driver;
      bool is_nested = std::exchange(driver.is_in_turn_, true);
      bool has_thrown = true;
      ~scope() {
        driver.is_in_turn_ = is_nested;
        if (has_thrown) static_cast<void>(succeeds([&] { driver.run_soon(); }));
      }
    } now{*this};
    if (!is_closed_ && has_in_flight()) {
      require_one_thread();
      context_->poll();
    }
    // After poll(), because a handler may throw, or destroy the context. What they start is for the next turn.
    for (std::size_t left = completed_count_; left != 0 && completed_count_ != 0; --left) call_first(lock);
    is_in_turn_ = false;
    if (!is_closed_) settle();
    if (completed_count_ != 0) run_soon();
    now.has_thrown = false;
  }

  // Submits what was started, and arranges for the next turn.
  void settle() {
    if (!has_in_flight()) return wait_no_more();
    if (!context_->prepare_to_wait()) return run_soon();
    if (!waking_.is_set)
      begin_to_await(&asio_driver::waking_,
                     [&](event_handler&& handler) { Library::wait(*wake_, std::move(handler)); });
    const deadline next = context_->next_deadline();
    // One that is set too early costs a turn; to set it costs more.
    if (!next.exists() || (expiring_.is_set && expires_at_ <= next.when())) return;
    begin_to_await(&asio_driver::expiring_, [&](event_handler&& handler) {
      timer_->expires_at(next.when());
      timer_->async_wait(std::move(handler));
      expires_at_ = next.when();
    });
  }

  void wait_no_more() {
    if (std::exchange(waking_.is_set, false)) wake_->cancel();
    if (std::exchange(expiring_.is_set, false)) timer_->cancel();
  }

  asio_operation& take_completed() noexcept {
    --completed_count_;
    return *completed_.pop();
  }

  void call_first(lock_type& lock) {
    struct unlocked {
      lock_type& lock;
      ~unlocked() { lock.lock(); }
    };
    asio_operation& first = take_completed();
    lock.unlock();
    const unlocked while_it_runs{lock};
    first.finish(first, true);
  }

  void destroy_completed() noexcept {
    while (completed_count_ != 0) {
      asio_operation& first = take_completed();
      first.finish(first, false);
    }
  }

  executor_type executor_;
  std::recursive_mutex mutex_;  // guards what follows, but for what another mutex does
  std::optional<qio::context> context_;
  std::optional<typename Library::wake_descriptor> wake_;
  std::optional<typename Library::steady_timer> timer_;
  awaited waking_, expiring_;
  clock::time_point expires_at_;
  std::atomic<bool> has_no_loop_ = false;
  std::mutex waiting_mutex_;
  list<asio_operation> waiting_;  // other threads have started them, and they have not begun; guarded by the mutex
  list<asio_operation> in_flight_;
  queue<asio_operation> completed_;  // their handlers have not been called
  std::size_t completed_count_ = 0;
  std::atomic<std::uint64_t> last_number_ = 0;
  std::uint64_t thread_ = 0;  // that runs the io_context; 0 if it is unknown
  bool turn_is_due_ = false;
  bool is_in_turn_ = false;
  std::atomic<bool> is_closed_ = false;  // asked without the mutex by those who must not close it meanwhile
  asio_registry<Library>* registry_;     // null when it has ended
};

/// Starts an operation when Asio has the handler. It may be kept until then (deferred), so it owns what it needs.
template <class Library, template <class> class Work>
struct asio_initiation {
  using executor_type = typename Library::io_context::executor_type;

  executor_type get_executor() const noexcept { return driver->executor(); }

  template <class Handler, class Make>
  void operator()(Handler&& handler, Make make) const {
    using decayed = std::decay_t<Handler>;
    driver->template start<asio_state<Library, decayed, Work<Make>>>(decayed(std::forward<Handler>(handler)),
                                                                     std::move(make));
  }

  std::shared_ptr<asio_driver<Library>> driver;
};

}  // namespace detail

/// A qio::context that runs inside an io_context, and qio's operations as asynchronous operations of Asio. Programs use
/// it as asio_context (qio/asio.hpp) or boost_asio_context (qio/boost_asio.hpp):
///
///     asio::io_context loop;
///     auto files = qio::asio_context::create(loop).value();
///     auto file = qio::cached_file::open(files.context(), "data.bin").value();
///
///     asio::awaitable<void> serve() {
///       std::size_t bytes = co_await files.async_read_at(file, 0, buffer, asio::use_awaitable);
///       ...
///
/// Tokens. Every completion token of Asio works: use_awaitable, use_future, deferred, callbacks, detached. The handler
/// is called on its associated executor, never within the function that starts the operation. The operation is one
/// object in memory of the associated allocator, which is given back before the handler is called.
///
/// Completion. A transfer completes with (error_code, std::size_t): the bytes transferred, also if it failed; what has
/// no value completes with (error_code). A read ends short only at the end of the file, and 0 bytes without an error
/// mean that there is nothing more: there is no asio::error::eof. A cancellation is asio::error::operation_aborted, a
/// deadline that has passed asio::error::timed_out; other codes are those of qio::error, without its message. For
/// Boost.Asio they become boost::system::error_code: those of the system and of std::errc in Boost's system category
/// and generic category, those of qio in a category of that name, which compares with qio::errc.
///
/// Cancellation. If the handler has a cancellation slot (Asio 1.19, Boost 1.77), a terminal or partial cancellation
/// cancels the operation, which then ends early with the bytes that it has moved, or succeeds. A total one alone
/// has no effect, because it must not leave a part of a transfer. With earlier versions, use operation_options.
///
/// Threads. One thread runs the io_context (checked in every configuration), because a context belongs to one thread.
/// Programs that run several give this object an io_context of its own, with a thread. Operations may be started by any
/// thread; they begin on that one. What is passed to them by reference, such as the file, is used there, and must exist
/// until the handler is called. While a thread runs the io_context, any other may create such objects, and close or
/// destroy those that have no operation in flight.
///
/// Lifetime. While operations are in flight, run() of the io_context does not return. Destroying this object or close()
/// ends them, waits until the system no longer uses their memory, and has their handlers called later. Destroying the
/// io_context ends them and destroys their handlers, after the system no longer uses their memory; this object may be
/// destroyed before or after it, and by a handler. With operations in flight, do either on the thread that ran the
/// io_context: call close() there before it is stopped (over io_uring, another thread ends the program with a message).
///
/// Include one of the two headers in a source file: Asio and Boost.Asio define the same global names.
///
/// Start everything here that runs on the context: operations that were started or awaited elsewhere make progress only
/// while one that was started here is in flight. Do not call run() or poll() of the context.
///
/// Allocates when it is created, and for each operation as said. Asio allocates for what it waits for, from memory that
/// it reuses. Movable; a moved-from object may be assigned to and destroyed.
template <class Library>
class [[nodiscard]] basic_asio_context {
  using driver = detail::asio_driver<Library>;
  template <class Make>
  using signature_of =
      typename detail::asio_completion<Library, typename detail::asio_operation_work<Make>::answer_type>::signature;
  template <class Make>
  using task_signature_of =
      typename detail::asio_completion<Library, typename detail::asio_task_work<Make>::answer_type>::signature;

 public:
  using executor_type = typename Library::io_context::executor_type;  ///< on which the context runs
  using default_token =
      typename Library::default_token;  ///< the token if none is given, in versions of Asio that have one

  /// Fails as context::create() and context::wake_handle() do: with errc::no_wake_handle if the context polls
  /// (context_options::polling). On Windows, request engine_kind::workers.
  static result<basic_asio_context> create(typename Library::io_context& in, const context_options& options = {}) {
    auto created = qio::context::create(options);
    if (!created) return created.error();
    const auto wake = created.value().wake_handle();
    if (!wake) return wake.error();
    return basic_asio_context(std::make_shared<driver>(in, std::move(created).value(), wake.value()));
  }

  /// Files and operations of the context continue to work.
  basic_asio_context(basic_asio_context&&) noexcept = default;
  /// The same; closes the context that this object had.
  basic_asio_context& operator=(basic_asio_context&& other) noexcept {
    basic_asio_context taken(std::move(other));
    std::swap(driver_, taken.driver_);
    return *this;
  }
  ~basic_asio_context() { close(); }

  /// To open files on. Must not be called after close().
  const qio::context& context([[maybe_unused]] detail::caller from = detail::caller::here()) const noexcept {
    QIO_CHECK_AT(driver_ != nullptr && !driver_->is_closed(), "an asio_context was used that is closed or moved from",
                 from);
    return driver_->context();
  }

  /// That of the io_context.
  executor_type get_executor() const noexcept { return open_driver()->executor(); }

  /// Ends all operations with what they have done, and the context. On the thread that runs the io_context, if any are
  /// in flight. Files remain open for blocking operations.
  void close() noexcept {
    if (driver_ != nullptr) driver_->close(true);
  }

  /// Starts any operation of qio. `make()` returns it: `[&] { return file.async_write_at(0, record, {.durable = true});
  /// }`. It is called once, on the thread that runs the io_context, and is copied or moved before. A result<T>
  /// completes with (error_code, T), or with the result itself if T has no default constructor; what is no result
  /// completes with its own type (synced_write).
  template <class Make, class Token = default_token>
    requires std::invocable<Make&>
  auto async_start(Make make, Token&& token = Token()) const {
    return Library::template async_initiate<signature_of<Make>>(
        detail::asio_initiation<Library, detail::asio_operation_work>{open_driver()}, token, std::move(make));
  }

  /// Runs a task of qio on the context. `make(stop)` returns it, with a std::stop_token that a cancellation stops; it
  /// is called as by async_start(). Completes with (std::exception_ptr, T), or (std::exception_ptr) for a task<void>. T
  /// is a result, or has a default constructor. Opens a file, for example:
  ///
  ///     auto file = co_await files.async_run(
  ///         [&](std::stop_token) { return qio::cached_file::async_open(files.context(), path); },
  ///         asio::use_awaitable);
  ///
  /// If the context ends while the task waits for something else, the task is destroyed.
  template <class Make, class Token = default_token>
    requires std::invocable<Make&, std::stop_token>
  auto async_run(Make make, Token&& token = Token()) const {
    return Library::template async_initiate<task_signature_of<Make>>(
        detail::asio_initiation<Library, detail::asio_task_work>{open_driver()}, token, std::move(make));
  }

  /// Starts file.async_read_at(offset, buffer). The buffer is bytes, or a mutable_buffer of Asio; the file is one of
  /// context(), or a bounced_file or any_file of one.
  template <class File, class Buffer, class Token = default_token>
    requires(!std::convertible_to<Token, operation_options>)
  auto async_read_at(File& file, std::uint64_t offset, Buffer&& buffer, Token&& token = Token()) const {
    return async_start([&file, offset, bytes = to_fill<Buffer>(buffer)] { return file.async_read_at(offset, bytes); },
                       std::forward<Token>(token));
  }
  /// The same, with a deadline or a stop token.
  template <class File, class Buffer, class Token = default_token>
  auto async_read_at(File& file, std::uint64_t offset, Buffer&& buffer, const operation_options& options,
                     Token&& token = Token()) const {
    return async_start(
        [&file, offset, bytes = to_fill<Buffer>(buffer), ends = options.deadline, stop = options.stop.token()] {
          return file.async_read_at(offset, bytes, operation_options{ends, stop});
        },
        std::forward<Token>(token));
  }

  /// Starts file.async_write_at(offset, buffer). The buffer is bytes, or a const_buffer or mutable_buffer of Asio.
  template <class File, class Buffer, class Token = default_token>
    requires(!std::convertible_to<Token, write_options>)
  auto async_write_at(File& file, std::uint64_t offset, Buffer&& buffer, Token&& token = Token()) const {
    return async_start([&file, offset, bytes = to_send<Buffer>(buffer)] { return file.async_write_at(offset, bytes); },
                       std::forward<Token>(token));
  }
  /// The same, durable or untorn, or with a deadline or a stop token.
  template <class File, class Buffer, class Token = default_token>
  auto async_write_at(File& file, std::uint64_t offset, Buffer&& buffer, const write_options& options,
                      Token&& token = Token()) const {
    return async_start(
        [&file, offset, bytes = to_send<Buffer>(buffer), options, stop = options.stop.token()] {
          write_options own = options;
          own.stop = stop;
          return file.async_write_at(offset, bytes, own);
        },
        std::forward<Token>(token));
  }

  /// Starts file.async_sync(kind).
  template <class File, class Token = default_token>
  auto async_sync(File& file, sync_kind kind, Token&& token = Token()) const {
    return async_start([&file, kind] { return file.async_sync(kind); }, std::forward<Token>(token));
  }

 private:
  explicit basic_asio_context(std::shared_ptr<driver> runs) noexcept : driver_(std::move(runs)) {}

  const std::shared_ptr<driver>& open_driver() const noexcept {
    QIO_REQUIRE_AT(driver_ != nullptr, "a moved-from asio_context was used", detail::caller());
    return driver_;
  }

  template <class Buffer>
  static std::span<std::byte> to_fill(Buffer& buffer) noexcept {
    if constexpr (std::convertible_to<Buffer&, typename Library::mutable_buffer>) {
      const typename Library::mutable_buffer bytes(buffer);
      return {static_cast<std::byte*>(bytes.data()), bytes.size()};
    } else {
      static_assert(detail::is_borrowed<Buffer>,
                    "qio: the buffer is destroyed before the operation ends: pass one that has a name");
      static_assert(std::convertible_to<Buffer&, std::span<std::byte>>,
                    "qio: a read fills std::byte: pass std::as_writable_bytes(std::span(x)) or asio::buffer(x) instead "
                    "of x, and several buffers by async_start()");
      return buffer;
    }
  }
  template <class Buffer>
  static std::span<const std::byte> to_send(Buffer& buffer) noexcept {
    if constexpr (std::convertible_to<Buffer&, typename Library::const_buffer>) {
      const typename Library::const_buffer bytes(buffer);
      return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
    } else {
      static_assert(detail::is_borrowed<Buffer>,
                    "qio: the buffer is destroyed before the operation ends: pass one that has a name");
      static_assert(std::convertible_to<Buffer&, std::span<const std::byte>>,
                    "qio: a write sends std::byte: pass std::as_bytes(std::span(x)) or asio::buffer(x) instead of x, "
                    "and several buffers by async_start()");
      return buffer;
    }
  }

  std::shared_ptr<driver> driver_;
};

QIO_END_NAMESPACE
