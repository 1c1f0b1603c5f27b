// A transfer in flight: its memory, its operation and its result.
#pragma once

#include "place.hpp"
#include "plan.hpp"
#include "room.hpp"
#include <qio/qio.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace property {

/// A transfer whose buffers are requests of a batch, at successive places of the file.
struct requests {
  requests(const transfer& plan, const room& memory) {
    std::uint64_t offset = plan.offset;
    for (const std::span<std::byte> piece : memory.pieces()) {
      if (plan.what == action::read)
        reads.push_back({.offset = offset, .buffer = piece});
      else
        writes.push_back({.offset = offset, .buffer = piece});
      offset += piece.size();
    }
  }

  std::vector<qio::read_request> reads;
  std::vector<qio::write_request> writes;
};

/// Whether the system does not have an operation. (Wine has another error for some.)
inline bool is_lacking(const qio::error& failure) {
  return failure == std::errc::operation_not_supported || failure == std::errc::function_not_supported;
}

/// The result of a transfer, a sync or a resize. Of a batch: the bytes before the first failure, in file order.
struct outcome {
  int completions = 0;
  std::size_t moved = 0;
  std::optional<qio::error> failure;
  std::optional<qio::error> sync_failure;  ///< of the sync that follows a write
  std::optional<qio::extent> data;         ///< of a next_data
  const requests* batch = nullptr;
  bool is_miscounted = false;  ///< the batch has returned another number of failures than its answers have

  void complete(const qio::result<std::size_t>& answer) {
    if (batch != nullptr) return complete_batch(answer);
    ++completions;
    if (answer)
      moved = answer.value();
    else
      fail(answer.error());
  }
  void complete(const qio::result<std::optional<qio::extent>>& answer) {
    ++completions;
    if (answer)
      data = answer.value();
    else
      fail(answer.error());
  }
  void complete(const qio::result<void>& answer) {
    ++completions;
    if (!answer) fail(answer.error());
  }
  void complete(const qio::synced_write& answer) {
    complete(answer.written);
    if (!answer.synced) sync_failure = answer.synced.error();
  }

 private:
  void complete_batch(const qio::result<std::size_t>& failures) {
    ++completions;
    std::size_t failed = 0;
    const auto add = [&](const auto& each) {
      if (!each.answer) ++failed;
      if (failure) return;
      moved += each.answer ? each.answer.value() : static_cast<std::size_t>(each.answer.error().transferred());
      if (!each.answer) failure = each.answer.error();
    };
    for (const auto& each : batch->reads) add(each);
    for (const auto& each : batch->writes) add(each);
    is_miscounted = failures ? failures.value() != failed : failed != batch->reads.size() + batch->writes.size();
  }

  void fail(const qio::error& why) {
    failure = why;
    moved = static_cast<std::size_t>(why.transferred());
  }
};

/// An operation whose type depends on the file's.
class other_operation {
 public:
  virtual ~other_operation() = default;
  virtual void start(outcome& of) = 0;
  virtual void cancel() = 0;
  virtual qio::task<void> awaited(outcome& of) = 0;
};

template <class Operation>
class one_operation final : public other_operation {
 public:
  template <class Make>
  explicit one_operation(Make& make) : held_(make()) {}
  void start(outcome& of) override {
    held_.start([&of](typename Operation::result_type given) { of.complete(given); });
  }
  void cancel() override { held_.cancel(); }
  qio::task<void> awaited(outcome& of) override { of.complete(co_await held_); }

 private:
  Operation held_;
};

/// An operation with any type of result, with or without options.
template <class Engine>
class any_operation {
  template <class Answer>
  using plain = qio::operation_slot<qio::operation<Engine, Answer>>;
  template <class Answer>
  using controlled =
      qio::operation_slot<qio::operation<Engine, Answer, typename qio::detail::file_loop<Engine>::control_type>>;

  using other = std::unique_ptr<other_operation>;
  using plain_batch = qio::operation_slot<qio::batch_operation<Engine>>;
  using controlled_batch = qio::operation_slot<qio::operation<
      Engine, std::size_t, qio::detail::control<qio::detail::loop<Engine>, qio::detail::batch>, qio::detail::batch>>;

 public:
  /// `make(options...)` returns the operation.
  template <class Make>
  void make_plain(Make make) {
    held_.template emplace<qio::operation_slot<std::invoke_result_t<Make&>>>().emplace(make);
  }
  template <class Make>
  void make_controlled(Make make, const qio::operation_options& options) {
    using slot = qio::operation_slot<std::invoke_result_t<Make&, const qio::operation_options&>>;
    held_.template emplace<slot>().emplace([&] { return make(options); });
  }

  template <class Make>
  void make_other(Make make) {
    held_.template emplace<other>(std::make_unique<one_operation<std::invoke_result_t<Make&>>>(make));
  }

  void start(outcome& of) {
    if (auto* const apart = std::get_if<other>(&held_)) return (*apart)->start(of);
    each([&of](auto& operation) {
      using answer = typename std::remove_reference_t<decltype(operation)>::result_type;
      operation.start([&of](answer given) { of.complete(given); });
    });
  }
  void cancel() {
    if (auto* const apart = std::get_if<other>(&held_)) return (*apart)->cancel();
    each([](auto& operation) { operation.cancel(); });
  }
  void destroy() { held_.template emplace<0>(); }

  // By a name, because GCC 12 copies what co_await is given if it is the result of a function, though a reference.
  qio::task<void> awaited(outcome& of) {
    if (auto* const apart = std::get_if<other>(&held_)) co_await (*apart)->awaited(of);
    if (auto* const a = std::get_if<plain<std::size_t>>(&held_)) {
      auto& held = **a;
      of.complete(co_await held);
    }
    if (auto* const b = std::get_if<plain<void>>(&held_)) {
      auto& held = **b;
      of.complete(co_await held);
    }
    if (auto* const c = std::get_if<controlled<std::size_t>>(&held_)) {
      auto& held = **c;
      of.complete(co_await held);
    }
    if (auto* const d = std::get_if<controlled<void>>(&held_)) {
      auto& held = **d;
      of.complete(co_await held);
    }
    if (auto* const e = std::get_if<plain_batch>(&held_)) {
      auto& held = **e;
      of.complete(co_await held);
    }
    if (auto* const f = std::get_if<controlled_batch>(&held_)) {
      auto& held = **f;
      of.complete(co_await held);
    }
  }

 private:
  template <class Use>
  void each(Use use) {
    std::visit(
        [&](auto& slot) {
          using held = std::remove_reference_t<decltype(slot)>;
          if constexpr (!std::is_same_v<held, std::monostate> && !std::is_same_v<held, other>) use(*slot);
        },
        held_);
  }

  std::variant<std::monostate, plain<std::size_t>, plain<void>, controlled<std::size_t>, controlled<void>, plain_batch,
               controlled_batch, other>
      held_;
};
template <>
class any_operation<qio::no_engine> {};

template <class Engine>
class flight {
 public:
  flight(const transfer& planned, std::size_t unit, random_numbers random)
      : plan(planned),
        data(plan.what == action::write || plan.what == action::change ? plan.bytes : 0),
        memory(plan.bytes, plan.pieces, unit, random),
        batch(plan, memory) {
    if (plan.batch) result.batch = &batch;
    random.fill(data);
    if (!data.empty()) memory.put(data);
    if (makes_zeros(plan.what)) data.assign(plan.bytes, std::byte{0});
  }

  bool may_end_early() const { return plan.ending != ending::none || competes; }
  bool may_be_destroyed() const { return plan.ending >= ending::destroyed_at_once || competes; }
  bool is_controlled() const { return plan.ending >= ending::deadline && plan.ending <= ending::stopped_elsewhere; }
  qio::operation_options options(const place<Engine>& where) const {
    qio::operation_options chosen;
    if (plan.ending == ending::deadline)
      chosen.deadline = where.deadline_in(std::chrono::microseconds(plan.patience_us));
    else
      chosen.stop = token;
    return chosen;
  }

  void destroy() {
    operation.destroy();
    memory.abandon();
  }
  /// It was destroyed in flight: its result is unknown.
  bool is_lost() const { return result.completions == 0; }

  transfer plan;
  bool competes = false;        ///< another one that finishes first may cancel it, or keep it from starting
  std::vector<std::byte> data;  ///< to be written; of a clone or a copy: what is there when it begins
  room memory;
  requests batch;
  std::stop_source stop;
  std::stop_token token = stop.get_token();
  outcome result;
  any_operation<Engine> operation;  // last, because it uses the others
};

}  // namespace property
