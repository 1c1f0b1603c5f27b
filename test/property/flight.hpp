// A transfer that is carried out: its memory, its operation, and what became of it.
#pragma once

#include "made_by.hpp"
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

/// What became of a transfer, a sync or a resize.
struct outcome {
  int told = 0;
  std::size_t moved = 0;
  std::optional<qio::error> failure;

  void tell(const qio::result<std::size_t>& answer) {
    ++told;
    if (answer)
      moved = answer.value();
    else
      fail(answer.error());
  }
  void tell(const qio::result<void>& answer) {
    ++told;
    if (!answer) fail(answer.error());
  }

 private:
  void fail(const qio::error& why) {
    failure = why;
    moved = static_cast<std::size_t>(why.transferred());
  }
};

/// An operation of any answer, with or without options.
template <class Engine>
class any_operation {
  template <class Answer>
  using plain = qio::operation<Engine, Answer>;
  template <class Answer>
  using controlled = qio::operation<Engine, Answer, typename qio::detail::file_loop<Engine>::control_type>;

 public:
  /// `make(options...)` makes it.
  template <class Make>
  void make_plain(Make make) {
    held_.template emplace<std::invoke_result_t<Make&>>(qio_test::made_by([&] { return make(); }));
  }
  template <class Make>
  void make_controlled(Make make, const qio::operation_options& options) {
    held_.template emplace<std::invoke_result_t<Make&, const qio::operation_options&>>(
        qio_test::made_by([&] { return make(options); }));
  }

  void start(outcome& of) {
    each([&of](auto& operation) {
      using answer = typename std::remove_reference_t<decltype(operation)>::result_type;
      operation.start([&of](answer told) { of.tell(told); });
    });
  }
  void cancel() {
    each([](auto& operation) { operation.cancel(); });
  }
  void destroy() { held_.template emplace<0>(); }

  qio::task<void> awaited(outcome& of) {
    if (auto* const a = std::get_if<plain<std::size_t>>(&held_)) of.tell(co_await *a);
    if (auto* const b = std::get_if<plain<void>>(&held_)) of.tell(co_await *b);
    if (auto* const c = std::get_if<controlled<std::size_t>>(&held_)) of.tell(co_await *c);
    if (auto* const d = std::get_if<controlled<void>>(&held_)) of.tell(co_await *d);
  }

 private:
  template <class Use>
  void each(Use use) {
    std::visit(
        [&](auto& operation) {
          if constexpr (!std::is_same_v<std::remove_reference_t<decltype(operation)>, std::monostate>) use(operation);
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

  bool may_end_early() const { return plan.ending != ending::none; }
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
  /// It was destroyed in flight: nobody knows.
  bool is_lost() const { return result.told == 0; }

  transfer plan;
  std::vector<std::byte> data;  ///< that is written
  room memory;
  std::stop_source stop;
  std::stop_token token = stop.get_token();
  outcome result;
  any_operation<Engine> operation;  // last: it uses the above
};

}  // namespace property
