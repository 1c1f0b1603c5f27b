// SPDX-License-Identifier: BSL-1.0
// Operations as senders, and a context's scheduler, for std::execution (P2300). Not part of qio.hpp.
//
// The names of that library (sender_tag, set_value, get_stop_token ...) come from the standard library, stdexec or
// beman::execution: the first of these that the compiler finds. Otherwise they are qio's own, in qio::execution, which
// are enough to connect senders to receivers. A program that has several chooses one, which it includes first:
//
//     #include <beman/execution/execution.hpp>
//     #define QIO_EXECUTION beman::execution
//     #include <qio/execution.hpp>
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/call.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/engine/engine.hpp>
#include <qio/file/access.hpp>
#include <qio/loop/mailbox.hpp>
#include <qio/mode.hpp>
#include <qio/operation.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

// QIO_EXECUTION is the namespace of the names, and QIO_EXECUTION_QUERIES that of get_stop_token. QIO_EXECUTION_TAG goes
// into the names of qio's types, because these differ: see QIO_CONFIGURATION.
#if defined(QIO_EXECUTION)
#define QIO_EXECUTION_TAG with_chosen_execution
#elif defined(__cpp_lib_senders)
#include <execution>
#define QIO_EXECUTION std::execution
#define QIO_EXECUTION_QUERIES std
#define QIO_EXECUTION_TAG with_std_execution
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define QIO_EXECUTION stdexec
#define QIO_EXECUTION_TAG with_stdexec
#elif __has_include(<beman/execution/execution.hpp>)
#include <beman/execution/execution.hpp>
#define QIO_EXECUTION beman::execution
#define QIO_EXECUTION_TAG with_beman_execution
#else
#define QIO_EXECUTION_TAG with_own_execution
#endif
#if defined(QIO_EXECUTION) && !defined(QIO_EXECUTION_QUERIES)
#define QIO_EXECUTION_QUERIES QIO_EXECUTION
#endif

QIO_BEGIN_NAMESPACE

/// The names of std::execution that qio uses, from the library that was found or chosen.
namespace execution {

#if defined(QIO_EXECUTION)

using namespace ::QIO_EXECUTION;
using ::QIO_EXECUTION_QUERIES::get_stop_token;

#else

// Without a library: as much of P2300 as a receiver needs. A receiver has the members set_value(), set_error() and
// set_stopped(), and get_env() if it has an environment. An environment has query(get_stop_token_t).

struct sender_tag {};
struct receiver_tag {};
struct operation_state_tag {};
struct scheduler_tag {};

struct set_value_t {
  template <class Receiver, class... Value>
  void operator()(Receiver&& receiver, Value&&... value) const noexcept {
    std::forward<Receiver>(receiver).set_value(std::forward<Value>(value)...);
  }
};
struct set_error_t {
  template <class Receiver, class Error>
  void operator()(Receiver&& receiver, Error&& failure) const noexcept {
    std::forward<Receiver>(receiver).set_error(std::forward<Error>(failure));
  }
};
struct set_stopped_t {
  template <class Receiver>
  void operator()(Receiver&& receiver) const noexcept {
    std::forward<Receiver>(receiver).set_stopped();
  }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

template <class... Signature>
struct completion_signatures {};

struct empty_env {};
struct get_env_t {
  template <class Object>
  auto operator()(const Object& object) const noexcept {
    if constexpr (requires { object.get_env(); })
      return object.get_env();
    else
      return empty_env();
  }
};
inline constexpr get_env_t get_env{};

struct never_stop_token {
  static constexpr bool stop_requested() noexcept { return false; }
  static constexpr bool stop_possible() noexcept { return false; }
  bool operator==(const never_stop_token&) const = default;
};
struct get_stop_token_t {
  template <class Environment>
  auto operator()(const Environment& environment) const noexcept {
    if constexpr (requires { environment.query(*this); })
      return environment.query(*this);
    else
      return never_stop_token();
  }
};
inline constexpr get_stop_token_t get_stop_token{};

template <class Completion>
struct get_completion_scheduler_t {
  template <class Environment>
  auto operator()(const Environment& environment) const noexcept {
    return environment.query(*this);
  }
};
template <class Completion>
inline constexpr get_completion_scheduler_t<Completion> get_completion_scheduler{};

enum class forward_progress_guarantee : std::uint8_t { concurrent, parallel, weakly_parallel };
struct get_forward_progress_guarantee_t {};

#endif

}  // namespace execution

namespace detail {
inline namespace QIO_EXECUTION_TAG {

// --- stop tokens of any kind ---

template <class Receiver>
using stop_token_of =
    std::remove_cvref_t<decltype(execution::get_stop_token(execution::get_env(std::declval<const Receiver&>())))>;

/// A token whose type says that no stop will be requested.
template <class Token>
concept unstoppable = requires { requires !Token::stop_possible(); };

template <class Token, class Callback>
struct stop_callback_for {
  using type = std::stop_callback<Callback>;
};
template <class Token, class Callback>
  requires requires { typename Token::template callback_type<Callback>; }
struct stop_callback_for<Token, Callback> {
  using type = typename Token::template callback_type<Callback>;
};

struct no_stop_callback {};

/// Room for the callback of a token; of an unstoppable one, none.
template <class Token, class Callback>
struct stop_callback_slot_of {
  using type = std::optional<typename stop_callback_for<Token, Callback>::type>;
};
template <unstoppable Token, class Callback>
struct stop_callback_slot_of<Token, Callback> {
  using type = no_stop_callback;
};
template <class Token, class Callback>
using stop_callback_slot = typename stop_callback_slot_of<Token, Callback>::type;

template <class Receiver>
bool is_stop_requested(const Receiver& receiver) noexcept {
  return execution::get_stop_token(execution::get_env(receiver)).stop_requested();
}

/// Whether an operation that ended like this is stopped. One of a context that has ended was not canceled, but refused,
/// although errc::context_closed compares equal to std::errc::operation_canceled.
inline bool is_stop(const error& failure) noexcept {
  return failure == std::errc::operation_canceled && failure != errc::context_closed && failure.transferred() == 0;
}

// --- the loop that senders and their states belong to ---

/// Refers to a loop that may have ended. Its address may be used while it is the running one of this thread, and while
/// something is posted to it or in flight there.
struct loop_reference {
  mailbox* loop;
  loop_number number;

  bool is_running_here() const noexcept { return running_loop == number; }
};

/// The loop of a context, or of a file of a context.
template <class Where>
loop_reference loop_reference_to(const Where& where) noexcept {
  static_assert(engine<typename Where::engine_type>,
                "qio: a sender needs a context, or a file that was opened on one: open(context, ...)");
  const auto loop = file_access::loop_of(where);
  QIO_REQUIRE_AT(loop != nullptr, "a scheduler or sender of a moved-from context was requested", caller());
  return {loop.get(), loop->number()};
}

// --- the scheduler ---

template <class Receiver>
class schedule_state final : posted {
 public:
  using operation_state_concept = execution::operation_state_tag;

  schedule_state(loop_reference on, Receiver&& receiver) noexcept : on_(on), receiver_(std::move(receiver)) {}
  schedule_state(const schedule_state&) = delete;
  schedule_state& operator=(const schedule_state&) = delete;
  ~schedule_state() {
    if (!is_posted) return;
    on_.loop->require_no_other_runs(
        "the state of schedule() was destroyed before it completed, while another thread ran its context");
    on_.loop->withdraw(*this);
  }

  void start() & noexcept {
    run = [](posted& node) noexcept { static_cast<schedule_state&>(node).complete(); };
    if (on_.is_running_here() && !on_.loop->closed()) return on_.loop->post(*this);
    if (on_.is_running_here() || !mailbox::post_to(on_.number, *this)) execution::set_stopped(std::move(receiver_));
  }

 private:
  void complete() noexcept {
    if (on_.loop->closed() || is_stop_requested(receiver_))
      execution::set_stopped(std::move(receiver_));
    else
      execution::set_value(std::move(receiver_));
  }

  loop_reference on_;
  Receiver receiver_;
};

class context_scheduler;

/// The environment of senders: the scheduler of the context where they complete.
class sender_attributes {
 public:
  explicit sender_attributes(loop_reference on) noexcept : on_(on) {}
  inline context_scheduler query(execution::get_completion_scheduler_t<execution::set_value_t>) const noexcept;

 private:
  loop_reference on_;
};

class schedule_sender {
 public:
  using sender_concept = execution::sender_tag;

  explicit schedule_sender(loop_reference on) noexcept : on_(on) {}

  template <class Self, class... Environment>
  static consteval auto get_completion_signatures() noexcept {
    return execution::completion_signatures<execution::set_value_t(), execution::set_stopped_t()>();
  }
  sender_attributes get_env() const noexcept { return sender_attributes(on_); }
  template <class Receiver>
  schedule_state<Receiver> connect(Receiver receiver) const noexcept {
    return schedule_state<Receiver>(on_, std::move(receiver));
  }

 private:
  loop_reference on_;
};

/// The result of get_scheduler(). Trivially copyable. It may outlive its context, and does not keep it alive.
class context_scheduler {
 public:
  using scheduler_concept = execution::scheduler_tag;

  explicit context_scheduler(loop_reference on) noexcept : on_(on) {}

  schedule_sender schedule() const noexcept { return schedule_sender(on_); }
  bool operator==(const context_scheduler& other) const noexcept { return on_.number == other.on_.number; }
  execution::forward_progress_guarantee query(execution::get_forward_progress_guarantee_t) const noexcept {
    return execution::forward_progress_guarantee::parallel;
  }
  context_scheduler query(execution::get_completion_scheduler_t<execution::set_value_t>) const noexcept {
    return *this;
  }

 private:
  loop_reference on_;
};

context_scheduler sender_attributes::query(
    execution::get_completion_scheduler_t<execution::set_value_t>) const noexcept {
  return context_scheduler(on_);
}

// --- operations ---

/// What the completions of an operation are called by.
template <class Operation>
struct completions_of;
template <class Engine, class Answer, class Control, class Work>
struct completions_of<operation<Engine, Answer, Control, Work>> {
  using signatures = execution::completion_signatures<execution::set_value_t(Answer), execution::set_error_t(error),
                                                      execution::set_stopped_t()>;
};
template <class Engine, class Control, class Work>
struct completions_of<operation<Engine, void, Control, Work>> {
  using signatures = execution::completion_signatures<execution::set_value_t(), execution::set_error_t(error),
                                                      execution::set_stopped_t()>;
};

template <class Make>
concept makes_operation = requires { typename completions_of<std::invoke_result_t<Make&>>::signatures; };

/// Posted to start on the loop's thread, and later to cancel there: never both at the same time.
template <class Make, class Receiver>
class operation_state final : posted {
  using operation_type = std::invoke_result_t<Make&>;
  using result_type = typename operation_type::result_type;
  using token_type = stop_token_of<Receiver>;
  static constexpr bool is_stoppable = !unstoppable<token_type>;

 public:
  using operation_state_concept = execution::operation_state_tag;

  template <class From>
  operation_state(loop_reference on, From&& make, Receiver&& receiver)
      : on_(on), make_(std::forward<From>(make)), receiver_(std::move(receiver)) {}
  operation_state(const operation_state&) = delete;
  operation_state& operator=(const operation_state&) = delete;
  ~operation_state() { forget_stop(); }  // before the operation, whose destructor cancels it and waits

  void start() & noexcept {
    if (on_.is_running_here()) return begin();
    run = [](posted& node) noexcept { static_cast<operation_state&>(node).begin(); };
    if (!mailbox::post_to(on_.number, *this)) execution::set_error(std::move(receiver_), error(errc::context_closed));
  }

 private:
  // Called by the thread that requests the stop. It must not touch the engine, so it has the loop's thread cancel.
  struct stop_notice {
    operation_state* self;
    void operator()() const noexcept {
      self->run = [](posted& node) noexcept { static_cast<operation_state&>(node).operation_->cancel(); };
      self->on_.loop->post(*self);
    }
  };
  // The operation is started last, because its completion may destroy this object. What requests a stop before that
  // only posts.
  void begin() noexcept {
    if constexpr (is_stoppable) {
      const token_type token = execution::get_stop_token(execution::get_env(receiver_));
      if (token.stop_requested()) return execution::set_stopped(std::move(receiver_));
      if (token.stop_possible()) stopper_.emplace(token, stop_notice{this});
    }
    operation_.emplace(make_).start([this](result_type answer) { complete(std::move(answer)); });
  }

  void complete(result_type answer) noexcept {
    forget_stop();
    operation_.reset();  // here, because any thread may destroy a state that has completed
    if (!answer) {
      const error failure = answer.error();
      if (is_stop(failure))
        execution::set_stopped(std::move(receiver_));
      else
        execution::set_error(std::move(receiver_), error(failure));
    } else if constexpr (std::is_void_v<typename result_type::value_type>) {
      execution::set_value(std::move(receiver_));
    } else {
      execution::set_value(std::move(receiver_), std::move(answer).value());
    }
  }

  void forget_stop() noexcept {
    // Waits for a stop that another thread is requesting at this moment; nothing is posted after it.
    if constexpr (is_stoppable) stopper_.reset();
    if (!is_posted) return;
    on_.loop->require_no_other_runs(
        "the state of a sender was destroyed before it completed, while another thread ran its context");
    on_.loop->withdraw(*this);
  }

  loop_reference on_;
  Make make_;
  Receiver receiver_;
  operation_slot<operation_type> operation_;
  QIO_NO_UNIQUE_ADDRESS stop_callback_slot<token_type, stop_notice> stopper_;
};

template <class Make>
class operation_sender {
 public:
  using sender_concept = execution::sender_tag;

  operation_sender(loop_reference on, Make&& make) : on_(on), make_(std::move(make)) {}

  template <class Self, class... Environment>
  static consteval auto get_completion_signatures() noexcept {
    return typename completions_of<std::invoke_result_t<Make&>>::signatures();
  }
  sender_attributes get_env() const noexcept { return sender_attributes(on_); }
  template <class Receiver>
  operation_state<Make, Receiver> connect(Receiver receiver) && noexcept(std::is_nothrow_move_constructible_v<Make>) {
    return operation_state<Make, Receiver>(on_, std::move(make_), std::move(receiver));
  }
  template <class Receiver>
  operation_state<Make, Receiver> connect(Receiver receiver) const& noexcept(
      std::is_nothrow_copy_constructible_v<Make>) {
    return operation_state<Make, Receiver>(on_, make_, std::move(receiver));
  }

 private:
  loop_reference on_;
  Make make_;
};

}  // namespace QIO_EXECUTION_TAG
}  // namespace detail

/// The scheduler of a context, or of the context of a file. Its schedule() is a sender that completes inside the
/// context's run() or poll(), with set_value(); with set_stopped() if a stop was requested before, if the context is
/// being destroyed, or if it has been destroyed: then on the thread that starts it. Any thread may connect and start
/// it. It allocates nothing; starting it on a thread that does not run the context takes a lock of the process.
///
/// Two schedulers are equal if they are of the same context. A scheduler may outlive the context.
template <class Where>
detail::context_scheduler get_scheduler(const Where& where) noexcept {
  return detail::context_scheduler(detail::loop_reference_to(where));
}

/// A sender of the operation that `make()` returns: `qio::as_sender(file, [&] { return file.async_read_at(0, block);
/// })`. `where` is the context, or a file of the context, to which the operation belongs.
///
/// The sender is a description: movable, copyable if `make` is, and valid to connect as often as the program likes.
/// connect() copies or moves `make` into the operation state, which cannot move and contains the operation. Nothing is
/// allocated. Any thread may connect and start it. start() calls `make()` and starts the operation: at once on the
/// thread that runs the context, from within run() or poll(); on any other, and outside these, it has the context do
/// so. Everything that `make` refers to, and the file and the buffers, must exist until the completion. `make` must not
/// throw.
///
/// It completes once, on the context's thread, from within run() or poll(), with
/// - set_value(answer), or set_value() if the answer is void: the operation succeeded, even if a stop was requested;
/// - set_stopped(): the operation was canceled, and reports no byte transferred, or it was not started because of a
/// stop
///   request;
/// - set_error(qio::error): anything else. An operation that was canceled after it had moved bytes has the error
///   std::errc::operation_canceled, and error.transferred() is their number.
///
/// If the context has ended before start(), it completes at once with errc::context_closed, on the thread that calls
/// start(), and `make` is not called.
///
/// A stop of the receiver's stop token (get_stop_token of its environment; of any type) cancels the operation, from any
/// thread. A token that cannot be stopped costs nothing. A deadline, or a further token, is an option of the operation.
///
/// An operation state may be destroyed on the context's thread before it has completed. That cancels the operation and
/// waits until the system no longer uses the buffer; the receiver is then not called.
template <class Where, class Make>
detail::operation_sender<Make> as_sender(const Where& where,
                                         Make make) noexcept(std::is_nothrow_move_constructible_v<Make>) {
  static_assert(detail::makes_operation<Make>,
                "qio: the function of as_sender() takes no arguments, and returns an operation: [&] { return "
                "file.async_read_at(offset, buffer); }");
  return detail::operation_sender<Make>(detail::loop_reference_to(where), std::move(make));
}

/// The common operations as senders: see as_sender(). They refer to the file or the context, and to the memory of the
/// buffer, and copy everything else. A stop token in their options is referred to as well.
namespace senders {

/// Like basic_file::async_read_at(). Completes with the bytes read.
template <class File, class Buffer>
auto read_at(File& from, std::uint64_t offset, Buffer&& buffer) {
  static_assert(detail::is_borrowed<Buffer>,
                "qio: this buffer is a temporary that is destroyed before the sender starts");
  return as_sender(from, [&from, offset, memory = std::span<std::byte>(std::forward<Buffer>(buffer))] {
    return from.async_read_at(offset, memory);
  });
}
/// The same, with a deadline.
template <class File, class Buffer>
auto read_at(File& from, std::uint64_t offset, Buffer&& buffer, const operation_options& options) {
  static_assert(detail::is_borrowed<Buffer>,
                "qio: this buffer is a temporary that is destroyed before the sender starts");
  return as_sender(from, [&from, offset, memory = std::span<std::byte>(std::forward<Buffer>(buffer)), options] {
    return from.async_read_at(offset, memory, options);
  });
}

/// Like basic_file::async_write_at(). Completes with the bytes written, which are all.
template <class File, class Buffer>
auto write_at(File& to, std::uint64_t offset, Buffer&& buffer) {
  static_assert(detail::is_borrowed<Buffer>,
                "qio: this buffer is a temporary that is destroyed before the sender starts");
  return as_sender(to, [&to, offset, memory = std::span<const std::byte>(std::forward<Buffer>(buffer))] {
    return to.async_write_at(offset, memory);
  });
}
/// The same, with a deadline, or as a durable or untorn write.
template <class File, class Buffer>
auto write_at(File& to, std::uint64_t offset, Buffer&& buffer, const write_options& options) {
  static_assert(detail::is_borrowed<Buffer>,
                "qio: this buffer is a temporary that is destroyed before the sender starts");
  return as_sender(to, [&to, offset, memory = std::span<const std::byte>(std::forward<Buffer>(buffer)), options] {
    return to.async_write_at(offset, memory, options);
  });
}

/// Like basic_file::async_sync(). Completes without a value.
template <class File>
auto sync(File& synced, sync_kind kind = sync_kind::everything) {
  return as_sender(synced, [&synced, kind] { return synced.async_sync(kind); });
}
/// The same, with a deadline.
template <class File>
auto sync(File& synced, sync_kind kind, const operation_options& options) {
  return as_sender(synced, [&synced, kind, options] { return synced.async_sync(kind, options); });
}

/// Like async_call(): a worker thread of the context calls `function()`. Completes with what it returned.
template <class Engine, class Function>
auto call(const basic_context<Engine>& on, Function function, const operation_options& options = {}) {
  return as_sender(on, [&on, function, options] { return async_call(on, function, options); });
}

}  // namespace senders

QIO_END_NAMESPACE
