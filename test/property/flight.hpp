// A transfer in flight: its memory, its operation and its result.
#pragma once

#include "place.hpp"
#include "plan.hpp"
#include "room.hpp"
#include <qio/qio.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace property {

/// The result of a transfer, a sync or a resize.
struct outcome {
  int completions = 0;
  std::size_t moved = 0;
  std::optional<qio::error> failure;

  void complete(const qio::result<std::size_t>& answer) {
    ++completions;
    if (answer)
      moved = answer.value();
    else
      fail(answer.error());
  }
  void complete(const qio::result<void>& answer) {
    ++completions;
    if (!answer) fail(answer.error());
  }

 private:
  void fail(const qio::error& why) {
    failure = why;
    moved = static_cast<std::size_t>(why.transferred());
  }
};

/// An operation with any type of result, with or without options.
template <class Engine>
class any_operation {
  template <class Answer>
  using plain = qio::operation_slot<qio::operation<Engine, Answer>>;
  template <class Answer>
  using controlled =
      qio::operation_slot<qio::operation<Engine, Answer, typename qio::detail::file_loop<Engine>::control_type>>;

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

  void start(outcome& of) {
    each([&of](auto& operation) {
      using answer = typename std::remove_reference_t<decltype(operation)>::result_type;
      operation.start([&of](answer given) { of.complete(given); });
    });
  }
  void cancel() {
    each([](auto& operation) { operation.cancel(); });
  }
  void destroy() { held_.template emplace<0>(); }

  // By a name, because GCC 12 copies what co_await is given if it is the result of a function, though a reference.
  qio::task<void> awaited(outcome& of) {
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
  }

 private:
  template <class Use>
  void each(Use use) {
    std::visit(
        [&](auto& slot) {
          if constexpr (!std::is_same_v<std::remove_reference_t<decltype(slot)>, std::monostate>) use(*slot);
        },
        held_);
  }

  std::variant<std::monostate, plain<std::size_t>, plain<void>, controlled<std::size_t>, controlled<void>> held_;
};
template <>
class any_operation<qio::no_engine> {};

template <class Engine>
class flight {
 public:
  flight(const transfer& planned, std::size_t unit, random_numbers random)
      : plan(planned),
        data(plan.what == action::write || plan.what == action::change ? plan.bytes : 0),
        memory(plan.bytes, plan.pieces, unit, random) {
    random.fill(data);
    if (!data.empty()) memory.put(data);
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
  std::vector<std::byte> data;  ///< to be written
  room memory;
  std::stop_source stop;
  std::stop_token token = stop.get_token();
  outcome result;
  any_operation<Engine> operation;  // last, because it uses the others
};

}  // namespace property
