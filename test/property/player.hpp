// Carries out the steps of a sequence and compares the results with the model.
#pragma once

#include "crash.hpp"
#include "flight.hpp"
#include "model.hpp"
#include "plan.hpp"
#include "side_names.hpp"
#include "tally.hpp"
#include "world.hpp"
#include <qio/bounced.hpp>
#include <qio/qio.hpp>
#include <qio/when_any.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace property {

template <class Engine>
class player {
 public:
  static constexpr bool is_async = world<Engine>::is_async;
  static constexpr bool may_crash = place<Engine>::repeats;

  player(place<Engine>& where, std::uint64_t seed, const surroundings& in, tally& counts)
      : where_(where), seed_(seed), in_(in), counts_(counts), world_(where) {
    random_numbers random(seed_, 0);
    open_all(random);
    if constexpr (may_crash) {
      where_.keep_names();
      crash_.begin(model_);
    }
  }

  void play(const step& step, std::uint64_t number) {
    random_numbers random(seed_, ~number);
    if (step.what == step::kind::restart)
      restart(random);
    else if (step.what == step::kind::reopen)
      reopen(step, random);
    else if (step.what == step::kind::names)
      for (const name_change& each : step.changes) names_.change(each, step.context, text(each), random);
    else if (step.what == step::kind::crash)
      crash(random);
    else
      transfers(step, random);
    check_size(random);
    check_views();
  }

  /// Closes everything. The contents that the file must have now.
  const model& finish() {
    close_all();
    return model_;
  }

 private:
  using context_type = typename world<Engine>::context_type;
  using flight_type = flight<Engine>;
  using flights = std::deque<flight_type>;  // a deque, so that they stay in place

  // --- opening and closing ---

  void open_all(random_numbers& random) {
    for (std::size_t context = 0; context < in_.contexts; ++context) open_all(context, random);
  }
  void open_all(std::size_t context, random_numbers& random) {
    succeeded(world_.make_context(context, random), "create the context");
    for (const mode each : in_.modes) open(each, context, random);
  }
  void open(mode which, std::size_t context, random_numbers& random, bool asynchronously = false) {
    if (!world_.is_open(which)) has_failed_to_sync_[index_of(which)] = false;
    succeeded(world_.open(which, context, random, asynchronously), "open");
  }
  void close_all() {
    for (std::size_t context = 0; context < in_.contexts; ++context) close_all(context);
  }
  void close_all(std::size_t context) {
    forget_mapping(context);
    world_.close_all(context);
  }
  void close(mode which, std::size_t context, bool asynchronously = false) {
    if (which == mode::mapped) forget_mapping(context);
    world_.close(which, context, asynchronously);
  }
  void forget_mapping(std::size_t context) {
    std::erase_if(views_, [context](const kept_view& each) { return each.context == context; });
    cut_by_others_[context] = false;
  }
  void restart(random_numbers& random) {
    close_all();
    open_all(random);
  }
  void reopen(const step& step, random_numbers& random) {
    std::vector<std::size_t> contexts = {step.context};
    if (step.on_all_contexts) contexts.push_back(1 - step.context);
    for (const std::size_t each : contexts) close(step.mode, each, step.asynchronously);
    for (const std::size_t each : contexts) open(step.mode, each, random, step.asynchronously);
  }

  /// The disk crashes, perhaps with operations in flight.
  void crash(random_numbers& random) {
    if constexpr (may_crash) {
      where_.crash();
      close_all();
      open_all(random);
      const auto found = where_.contents();
      crash_.expect(found);
      model_.take(found);
      crash_.begin(model_);
      names_.recover(0);
      ++counts_.crashes;
    }
  }

  // --- transfers ---

  void transfers(const step& step, random_numbers& random) {
    flights all;
    std::vector<transfer> planned = step.transfers;
    heed_each_other(planned);
    for (const transfer& each : planned) {
      const std::size_t unit = each.mode == mode::direct && !each.bounced ? in_.unit : 1;
      all.emplace_back(each, unit, random_numbers(seed_, random.below(~std::uint64_t(0))));
      if (copies(each.what)) all.back().data = model_.part(each.from, each.bytes);
    }
    if constexpr (is_async) {
      fly(step, all, random);
    } else {
      for (flight_type& each : all) perform(each);
    }
    if (step.end == step::finale::crash) return judge_crash(all, random);
    judge(step, all, random);
    const auto on_second = [](const transfer& each) { return each.context != 0; };
    const auto second = std::count_if(planned.begin(), planned.end(), on_second);
    counts_.steps_on_both += second != 0 && static_cast<std::size_t>(second) != planned.size();
  }

  /// Nothing may read past the end while an operation may change the size. Nothing may write to a mapping while another
  /// operation extends the file (basic_file, "Threads").
  void heed_each_other(std::vector<transfer>& planned) const {
    const std::uint64_t size = model_.size();
    const bool extends = std::any_of(planned.begin(), planned.end(), [&](const transfer& each) {
      return each.what == action::write && each.bytes != 0 && each.offset + each.bytes > size;
    });
    for (transfer& each : planned) {
      if (each.what == action::resize && !in_.mapped_may_be_cut && in_.has(mode::mapped)) {
        each.mode = mode::mapped;
        each.how = way::blocking;
        each.ending = ending::none;
      }
      const std::uint64_t grain = each.mode != mode::direct ? 1 : is_of_space(each.what) ? page : in_.unit;
      // Where only reading and writing can copy a range of a direct file, it must be aligned.
      if (copies(each.what) && each.mode == mode::direct) {
        for (std::uint64_t* const at : {&each.offset, &each.from}) *at = *at / page * page;
        each.bytes = model_.readable(each.from, each.bytes) / page * page;
      }
      if (!extends || planned.size() == 1) continue;
      if (is_async && each.mode == mode::mapped && each.how == way::blocking) {
        if (each.what == action::change) each.what = action::look;
        if (each.what == action::write) each.how = way::started;
      }
      if (each.what == action::write) continue;
      each.bytes = model_.readable(each.offset, each.bytes) / grain * grain;
      if (each.bytes == 0) each.offset = 0;
    }
  }

  void fly(const step& step, flights& all, random_numbers& random) {
    std::array<std::vector<flight_type*>, 2> awaited;  // of each context
    std::vector<std::stop_source> elsewhere;
    for (flight_type& each : all) {
      if (each.plan.how == way::blocking) continue;
      if (each.plan.ending == ending::stopped_before) each.stop.request_stop();
      if (each.plan.ending == ending::stopped_elsewhere) elsewhere.push_back(each.stop);
      world_.with(each.plan.mode, each.plan.context, [&](auto& file) { prepare(file, each); });
      if (each.plan.how == way::awaited) awaited[each.plan.context].push_back(&each);
    }
    if (step.posted)
      start_by_posts(step, all);
    else
      for (flight_type& each : all)
        if (each.plan.how == way::started) start(each);
    std::jthread stopper;
    if (!elsewhere.empty())
      stopper = std::jthread([&elsewhere] {
        for (std::stop_source& source : elsewhere) source.request_stop();
      });
    for (flight_type& each : all)
      if (each.plan.how == way::blocking) perform(each);
    if (step.polls) poll();
    for (flight_type& each : all)
      if (each.plan.how == way::started) disturb(each);
    for (std::size_t context = 0; context < in_.contexts; ++context)
      if (!awaited[context].empty()) join(step.join, world_.context(context), awaited[context]);
    end(step, random);
  }

  // The contexts take turns: both belong to this thread.
  void poll() {
    for (std::size_t context = 0; context < in_.contexts; ++context) world_.context(context).poll();
  }
  void run() {
    for (std::size_t context = 0; context < in_.contexts; ++context) world_.context(context).run();
  }

  static void join(step::joining how, context_type& context, const std::vector<flight_type*>& awaited) {
    if (how == step::joining::first) return race(context, awaited);
    if (how == step::joining::scope) return context.run(scoped(context, awaited));
    if (how == step::joining::each) return context.run(one_by_one(context, awaited));
    std::vector<qio::task<void>> tasks;
    for (flight_type* const each : awaited) tasks.push_back(each->operation.awaited(each->result));
    context.run(qio::when_all(std::move(tasks)));
  }

  static qio::task<void> scoped(context_type& context, const std::vector<flight_type*>& awaited) {
    qio::task_scope scope(context);
    for (flight_type* const each : awaited) scope.spawn(each->operation.awaited(each->result));
    co_await scope.join();
  }

  static qio::task<void> one_by_one(context_type& context, const std::vector<flight_type*>& awaited) {
    qio::task_scope scope(context);
    for (flight_type* const each : awaited) {
      while (scope.size() >= 2) require(co_await scope.join_one(), "join_one(): none, though two were in flight");
      scope.spawn(each->operation.awaited(each->result));
    }
    while (co_await scope.join_one()) {}
    require(scope.is_empty(), "join_one(): none, though the scope is not empty");
  }

  static void race(context_type& context, const std::vector<flight_type*>& awaited) {
    for (flight_type* const each : awaited) each->competes = awaited.size() > 1;
    const auto first = context.run(qio::when_any([&awaited](const std::stop_token& stop) {
      std::vector<qio::task<void>> tasks;
      for (flight_type* const each : awaited) tasks.push_back(stoppable(*each, stop));
      return tasks;
    }));
    require(!awaited[first.index]->is_lost(), "when_any: the first one has not finished");
    for (flight_type* const each : awaited)
      if (each->is_lost()) each->destroy();  // it has not started
  }

  static qio::task<void> stoppable(flight_type& each, std::stop_token stop) {
    const std::stop_callback on_stop(stop, [&each] { each.operation.cancel(); });
    co_await each.operation.awaited(each.result);
  }

  void end(const step& step, random_numbers& random) {
    if (step.end == step::finale::crash) return;
    if (step.end == step::finale::destroy_context) {
      close_all(step.context);
      open_all(step.context, random);  // with operations in flight on the other context
    }
    if (step.end == step::finale::close_file) close(step.mode, step.context);
    run();
    if (step.end == step::finale::close_file) open(step.mode, step.context, random);
  }

  /// Another thread posts, if there may be one, while this one polls the contexts or waits for each call.
  void start_by_posts(const step& step, flights& all) {
    std::array<std::deque<qio::posted_call>, 2> calls;  // of each context
    std::array<std::size_t, 2> left{};
    for (flight_type& each : all) {
      if (each.plan.how != way::started) continue;
      std::size_t& left_here = left[each.plan.context];
      calls[each.plan.context].emplace_back([&each, &left_here] {
        start(each);
        --left_here;
      });
      ++left_here;
    }
    counts_.posted += left[0] + left[1];
    const auto post = [this, &calls] {
      for (std::size_t context = 0; context < in_.contexts; ++context)
        for (qio::posted_call& each : calls[context]) world_.context(context).post(each);
    };
    std::jthread poster;  // joined before the calls are destroyed
    if (in_.threads_stop)
      poster = std::jthread(post);
    else
      post();
    while (step.polls && left[0] + left[1] != 0) poll();
    for (std::size_t context = 0; context < in_.contexts; ++context)
      while (left[context] != 0) world_.context(context).run_one();
  }

  static void start(flight_type& each) {
    each.operation.start(each.result);
    if (each.plan.ending == ending::canceled_at_once) each.operation.cancel();
    if (each.plan.ending == ending::destroyed_at_once) each.destroy();
  }

  void disturb(flight_type& each) {
    if (each.plan.ending == ending::stopped_later) each.stop.request_stop();
    if (each.plan.ending == ending::canceled_later) each.operation.cancel();
    if (each.plan.ending == ending::destroyed_later && each.is_lost()) each.destroy();
  }

  template <class File>
  void prepare(File& file, flight_type& each) {
    const transfer& plan = each.plan;
    if (plan.bounced) return prepare_bounced(file, each);
    const auto make = [&](auto how) {
      if (each.is_controlled() || plan.durable || plan.untorn)
        each.operation.make_controlled(how, each.options(where_));
      else
        each.operation.make_plain(how);
    };
    const bool single = plan.pieces == 0;
    if (plan.batch && plan.what == action::read)
      return make([&](auto&... options) { return file.async_read_many(each.batch.reads, options...); });
    if (plan.batch) return make([&](auto&... options) { return write_many(file, each, options...); });
    if (plan.then_sync) return prepare_then_sync(file, each);
    if (is_of_space(plan.what)) return prepare_space(file, each);
    switch (plan.what) {
      case action::read:
        if (single)
          make([&](auto&... options) { return file.async_read_at(plan.offset, each.memory.single(), options...); });
        else
          make([&](auto&... options) { return file.async_read_at(plan.offset, each.memory.into(), options...); });
        break;
      case action::write:
        if (single)
          make([&](auto&... options) { return write(file, plan, each.memory.single(), options...); });
        else
          make([&](auto&... options) { return write(file, plan, each.memory.from(), options...); });
        break;
      case action::sync: make([&](auto&... options) { return file.async_sync(plan.kind, options...); }); break;
      case action::writeback:
        make([&](auto&... options) { return file.async_start_writeback(plan.offset, plan.bytes, options...); });
        break;
      default:
        if constexpr (!File::mode_type::is_mapped)
          each.operation.make_plain([&] { return file.async_resize(plan.offset); });
    }
  }

  template <class File>
  void prepare_space(File& file, flight_type& each) {
    const transfer& plan = each.plan;
    const qio::operation_options options = each.is_controlled() ? each.options(where_) : qio::operation_options();
    any_operation<Engine>& made = each.operation;
    if (plan.what == action::discard)
      return made.make_other([&] { return file.async_discard(plan.offset, plan.bytes, options); });
    if (plan.what == action::zero)
      return made.make_other([&] { return file.async_zero(plan.offset, plan.bytes, options); });
    if (plan.what == action::next_data)
      return made.make_other([&] { return file.async_next_data(plan.offset, options); });
    if constexpr (!File::mode_type::is_mapped) {
      if (plan.what == action::allocate)
        return made.make_other([&] { return file.async_allocate(plan.offset, plan.bytes, kind_of(plan), options); });
      world_.same(file, plan.mode, plan.source, [&](auto& source) {
        const qio::extent what = {plan.from, plan.bytes};
        if (plan.what == action::clone)
          made.make_other([&] { return file.async_clone_from(source, what, plan.offset, options); });
        else
          made.make_other([&] { return file.async_copy_from(source, what, plan.offset, options); });
      });
    }
  }
  static qio::allocation kind_of(const transfer& plan) {
    return plan.keep_size ? qio::allocation::keep_size : qio::allocation::extend;
  }

  template <class File>
  void prepare_then_sync(File& file, flight_type& each) {
    const transfer& plan = each.plan;
    const auto make = [&](const auto& buffer) {
      if (each.is_controlled())
        each.operation.make_other(
            [&] { return file.async_write_and_sync(plan.offset, buffer, plan.kind, each.options(where_)); });
      else
        each.operation.make_other([&] { return file.async_write_and_sync(plan.offset, buffer, plan.kind); });
    };
    if (plan.pieces == 0)
      make(each.memory.single());
    else
      make(each.memory.from());
  }

  template <class File>
  void prepare_bounced(File& file, flight_type& each) {
    const transfer& plan = each.plan;
    const auto bounced = qio::bounced(file, pools_[plan.context], gap_of(plan));
    const auto make = [&](auto how) {
      const qio::operation_options options = each.options(where_);
      if (each.is_controlled() || plan.durable)
        each.operation.make_other([&] { return how(options); });
      else
        each.operation.make_other([&] { return how(); });
    };
    if (plan.batch)
      make([&](auto&... options) { return bounced.async_read_many(each.batch.reads, options...); });
    else if (plan.what == action::read)
      make([&](auto&... options) { return bounced.async_read_at(plan.offset, each.memory.single(), options...); });
    else
      make([&](auto&... options) { return write(bounced, plan, each.memory.single(), options...); });
  }
  static qio::bounce_options gap_of(const transfer& plan) { return {.gap = plan.patience_us * 20}; }

  // `file` may be a bounced one.
  template <class File, class Buffer>
  static auto write(File& file, const transfer& plan, const Buffer& buffer) {
    return file.async_write_at(plan.offset, buffer);
  }
  template <class File, class Buffer>
  static auto write(File& file, const transfer& plan, const Buffer& buffer, const qio::operation_options& ending) {
    return file.async_write_at(
        plan.offset, buffer,
        qio::write_options{
            .durable = plan.durable, .untorn = plan.untorn, .deadline = ending.deadline, .stop = ending.stop});
  }

  template <class File>
  static auto write_many(File& file, flight_type& each) {
    return file.async_write_many(each.batch.writes);
  }
  template <class File>
  static auto write_many(File& file, flight_type& each, const qio::operation_options& ending) {
    return file.async_write_many(
        each.batch.writes,
        qio::write_options{.durable = each.plan.durable, .deadline = ending.deadline, .stop = ending.stop});
  }

  void perform(flight_type& each) {
    world_.with(each.plan.mode, each.plan.context, [&](auto& file) { perform(file, each); });
  }

  template <class File>
  void perform(File& file, flight_type& each) {
    const transfer& plan = each.plan;
    const room& memory = each.memory;
    const bool single = plan.pieces == 0;
    outcome& result = each.result;
    if (plan.bounced) return perform_bounced(qio::bounced(file, blocking_pool_, gap_of(plan)), each);
    if (plan.batch)
      result.complete(plan.what == action::read ? file.read_many(each.batch.reads)
                                                : file.write_many(each.batch.writes, {.durable = plan.durable}));
    else if (plan.what == action::read)
      result.complete(single ? file.read_at(plan.offset, memory.single()) : file.read_at(plan.offset, memory.into()));
    else if (plan.what == action::write)
      result.complete(
          single ? file.write_at(plan.offset, memory.single(), {.durable = plan.durable, .untorn = plan.untorn})
                 : file.write_at(plan.offset, memory.from(), {.durable = plan.durable}));
    else if (plan.what == action::sync)
      result.complete(file.sync(plan.kind));
    else if (plan.what == action::writeback)
      result.complete(file.start_writeback(plan.offset, plan.bytes));
    else if (plan.what == action::resize)
      result.complete(file.resize(plan.offset));
    else if (is_of_space(plan.what))
      perform_space(file, each);
    else if constexpr (File::mode_type::is_mapped)
      look_or_change(file, each);
  }

  template <class File>
  void perform_space(File& file, flight_type& each) {
    const transfer& plan = each.plan;
    outcome& result = each.result;
    if (plan.what == action::allocate) return result.complete(file.allocate(plan.offset, plan.bytes, kind_of(plan)));
    if (plan.what == action::discard) return result.complete(file.discard(plan.offset, plan.bytes));
    if (plan.what == action::zero) return result.complete(file.zero(plan.offset, plan.bytes));
    if (plan.what == action::next_data) return result.complete(file.next_data(plan.offset));
    world_.same(file, plan.mode, plan.source, [&](auto& source) {
      const qio::extent what = {plan.from, plan.bytes};
      result.complete(plan.what == action::clone ? file.clone_from(source, what, plan.offset)
                                                 : file.copy_from(source, what, plan.offset));
    });
  }

  template <class Bounced>
  static void perform_bounced(const Bounced& bounced, flight_type& each) {
    const transfer& plan = each.plan;
    const std::span<std::byte> memory = each.memory.single();
    each.result.complete(plan.batch ? bounced.read_many(each.batch.reads)
                         : plan.what == action::read
                             ? bounced.read_at(plan.offset, memory)
                             : bounced.write_at(plan.offset, memory, {.durable = plan.durable}));
  }

  // --- views ---

  template <class File>
  void look_or_change(File& file, flight_type& each) {
    const transfer& plan = each.plan;
    const auto view = file.view(plan.offset, plan.bytes);
    if (plan.offset + plan.bytes > model_.size()) {
      require(view ? cut_by_others_[plan.context] : view.error() == qio::errc::beyond_end,
              text(plan) + ": a view past the end");
      return;
    }
    if (!view) throw mismatch(text(plan) + ": " + view.error().message());
    if (plan.what == action::look) {
      model_.expect(plan.offset, view.value(), text(plan));
    } else {
      const auto writable = succeeded(file.writable_view(plan.offset, plan.bytes), text(plan));
      std::copy(each.data.begin(), each.data.end(), writable.begin());
      model_.write(plan.offset, each.data);
    }
    if (views_.size() == most_views) views_.pop_front();
    views_.push_back({plan.context, plan.offset, view.value()});
  }

  // The truncated part of a view must not be touched, even if the file has grown since (resize()).
  void cut_views() {
    for (kept_view& each : views_) each.bytes = each.bytes.first(model_.readable(each.offset, each.bytes.size()));
  }

  // Views stay valid, whatever has happened to the file since.
  void check_views() const {
    for (const kept_view& each : views_)
      model_.expect(each.offset, each.bytes.first(std::min(each.bytes.size(), most_looked_at)), "an earlier view");
  }

  // --- results ---

  void judge(const step& step, flights& all, random_numbers& random) {
    for (flight_type& each : all) {
      if (each.plan.what == action::allocate || makes_zeros(each.plan.what))
        each.result.moved = each.result.failure || each.is_lost() ? 0 : each.plan.bytes;
      judge_ending(step, each);
      if (each.plan.what == action::next_data && !each.is_lost() && !each.result.failure) judge_data(each);
      if (each.plan.what == action::read && !each.is_lost()) judge_read(each);
      if (each.plan.what == action::sync && !each.is_lost()) judge_sync(each);
      if (each.plan.then_sync && !each.is_lost()) judge_sync_after_write(each);
      counts_.count(each.plan, each.result);
    }
    for (const flight_type& each : all)
      if (is_failed_sync(each) && !has_new_handle(step, each.plan.mode))
        has_failed_to_sync_[index_of(each.plan.mode)] = true;
    judge_size(all, random);
    for (flight_type& each : all)
      if (each.plan.what == action::write || makes_zeros(each.plan.what) || copies(each.plan.what)) judge_write(each);
    if constexpr (may_crash) note_durable(all);
  }

  /// What a crash must leave from now on.
  void note_durable(const flights& all) {
    const auto syncs = [](const flight_type& each) { return each.plan.what == action::sync || each.plan.then_sync; };
    const auto succeeds = [](const flight_type& each) {
      return !each.is_lost() && !each.result.failure && !each.result.sync_failure;
    };
    const auto is_durable = [&](const flight_type& each) {
      return each.plan.durable && succeeds(each) && !each.data.empty();
    };
    const auto may_have_failed = [&](const flight_type& each) {
      return (syncs(each) || each.plan.durable) && !succeeds(each);
    };
    // Also for a sync of another handle, which may have succeeded after it.
    if (where_.may_fail_to_sync() && std::any_of(all.begin(), all.end(), may_have_failed)) crash_.note_failed_sync();
    if (std::any_of(all.begin(), all.end(), [&](const auto& each) { return syncs(each) && succeeds(each); }))
      crash_.note_sync();
    for (const flight_type& each : all)
      if (is_durable(each)) crash_.note_durable_end(each.plan.offset + each.data.size());
    crash_.note_step(model_);
    for (const flight_type& each : all)
      if (is_durable(each)) crash_.note_durable(each.plan.offset, each.data);
  }

  /// Each operation is carried out, or not, or in part.
  void judge_crash(const flights& all, random_numbers& random) {
    for (const flight_type& each : all) {
      require(each.memory.guards_hold(), text(each.plan) + ": memory next to its buffers has changed");
      counts_.count(each.plan, each.result);
      const transfer& plan = each.plan;
      if (plan.what == action::resize) model_.resize(plan.offset);
      if (plan.what == action::write) model_.write(plan.offset, each.data);
      if (makes_zeros(plan.what))
        model_.write(plan.offset, std::span(each.data).first(model_.readable(plan.offset, plan.bytes)));
    }
    crash_.note_step(model_);
    crash(random);
  }

  void judge_ending(const step& step, const flight_type& each) const {
    const std::string who = text(each.plan);
    if (each.plan.what == action::look || each.plan.what == action::change) return;
    require(each.memory.guards_hold(), who + ": memory next to its buffers has changed");
    require(!each.result.is_miscounted, who + ": the batch counted its failures wrong");
    require(each.result.completions == 1 || (each.may_be_destroyed() && each.is_lost()),
            who + ": completed " + std::to_string(each.result.completions) + " times");
    if (each.is_lost()) return require(each.memory.is_untouched(), who + ": its memory changed after it was destroyed");
    const auto refused = refusal_of(each);
    // Where zeros cannot be made, there are none to make past the end, where no data is either; and space need not be
    // reserved before it.
    const bool has_nothing_to_do =
        makes_zeros(each.plan.what) || each.plan.what == action::next_data
            ? each.plan.offset >= model_.size()
            : each.plan.what == action::allocate && each.plan.offset + each.plan.bytes <= model_.size();
    if (!each.result.failure) return require(!refused || has_nothing_to_do, who + " has succeeded");
    const qio::error& failure = *each.result.failure;
    const bool may_be_cancelled = each.may_end_early() || is_ended(step, each.plan);
    const bool is_early = (failure == std::errc::operation_canceled && may_be_cancelled) ||
                          (failure == std::errc::timed_out && each.plan.ending == ending::deadline);
    if (refused && !is_early) {
      const bool is_right = *refused == std::errc::invalid_argument ? failure.is_qio() && failure == *refused
                                                                    : is_lacking(failure) && !failure.is_qio();
      return require(is_right, who + ": " + failure.message());
    }
    require((is_early || has_failed(each)) && !failure.is_qio(), who + ": " + failure.message());
  }

  /// How an operation must fail, if it must. (Arguments are refused by the library.)
  std::optional<std::errc> refusal_of(const flight_type& each) const {
    const transfer& plan = each.plan;
    const std::uint64_t bytes = each.data.size();
    const bool is_empty = copies(plan.what) ? bytes == 0 : plan.bytes == 0 && plan.what != action::next_data;
    if (!is_of_space(plan.what) || is_empty) return std::nullopt;
    const std::uint64_t apart = std::max(plan.from, plan.offset) - std::min(plan.from, plan.offset);
    if (copies(plan.what) && apart < bytes) return std::errc::invalid_argument;
    if (in_.lacks[static_cast<std::size_t>(plan.what)]) return std::errc::operation_not_supported;
    const bool ends = plan.from + bytes == model_.size() && plan.offset + bytes >= model_.size();
    if (plan.what == action::clone &&
        (plan.from % page != 0 || plan.offset % page != 0 || (bytes % page != 0 && !ends)))
      return std::errc::invalid_argument;
    return std::nullopt;
  }

  /// What it skips are zeros.
  void judge_data(const flight_type& each) const {
    const std::string who = text(each.plan);
    const std::uint64_t from = each.plan.offset, size = model_.size();
    const auto& found = each.result.data;
    if (found)
      require(found->offset >= from && found->bytes != 0 && found->offset + found->bytes <= size,
              who + ": " + std::to_string(found->offset) + " + " + std::to_string(found->bytes));
    const std::size_t hole =
        model_.readable(from, static_cast<std::size_t>((found ? found->offset : size) - std::min(from, size)));
    model_.expect(from, std::vector<std::byte>(hole), who + ": a hole");
  }

  void judge_read(const flight_type& each) const {
    const transfer& plan = each.plan;
    const std::size_t expected = model_.readable(plan.offset, plan.bytes), moved = each.result.moved;
    require(each.result.failure ? moved <= expected : moved == expected,
            text(plan) + ": transferred " + std::to_string(moved) + ", not " + std::to_string(expected));
    model_.expect(plan.offset, each.memory.get(moved), text(plan));
  }

  // After a failed sync, all later ones fail until every file that shares the handle is closed.
  void judge_sync(const flight_type& each) const {
    require(each.result.failure || !has_failed_to_sync_[index_of(each.plan.mode)],
            text(each.plan) + ": succeeds although an earlier one failed");
  }
  void judge_sync_after_write(const flight_type& each) const {
    const std::string who = text(each.plan);
    const outcome& result = each.result;
    if (result.failure)
      return require(result.sync_failure && result.sync_failure->code() == result.failure->code(),
                     who + ": the write failed, and the sync has another result");
    if (!result.sync_failure)
      return require(!has_failed_to_sync_[index_of(each.plan.mode)], who + ": syncs although an earlier sync failed");
    const qio::error& failure = *result.sync_failure;
    const bool is_early = (failure == std::errc::operation_canceled && each.may_end_early()) ||
                          (failure == std::errc::timed_out && each.plan.ending == ending::deadline);
    require(is_early || is_failed_sync(each), who + ", which failed: " + failure.message());
  }
  /// A sync, of its own or after a write, that has failed for the system's reasons.
  bool is_failed_sync(const flight_type& each) const {
    if (each.plan.what == action::sync) return has_failed(each);
    if (!each.plan.then_sync || each.result.failure || !each.result.sync_failure) return false;
    transfer sync = each.plan;
    sync.what = action::sync;
    return where_.may_fail(sync, *each.result.sync_failure);
  }
  bool has_failed(const flight_type& each) const {
    return each.result.failure && where_.may_fail(each.plan, *each.result.failure);
  }
  /// The file of the transfer was closed meanwhile, or its context destroyed.
  static bool is_ended(const step& step, const transfer& of) {
    if (step.end == step::finale::wait || step.context != of.context) return false;
    return step.end == step::finale::destroy_context || step.mode == of.mode;
  }
  /// No file was left that shares the handle when this step closed one.
  bool has_new_handle(const step& step, mode which) const {
    if (in_.contexts > 1) return false;
    return step.end == step::finale::destroy_context || (step.end == step::finale::close_file && step.mode == which);
  }

  // The file contains at least what has been written, and at most what may have been.
  void judge_size(const flights& all, random_numbers& random) {
    std::uint64_t least = model_.size(), most = least;
    for (const flight_type& each : all) {
      const transfer& plan = each.plan;
      if (plan.what == action::resize) {
        const std::uint64_t old = model_.size();
        const bool done = !each.is_lost() && !each.result.failure;
        if (done || (each.is_lost() && size(random) != old)) model_.resize(plan.offset);
        cut_views();
        for (std::size_t context = 0; context < in_.contexts; ++context) {
          const bool is_own = plan.mode == mode::mapped && plan.context == context;
          cut_by_others_[context] = !is_own && (cut_by_others_[context] || model_.size() < old);
        }
        return;
      }
      const bool extends =
          plan.what == action::write || copies(plan.what) || (plan.what == action::allocate && !plan.keep_size);
      if (!extends) continue;
      const std::uint64_t bytes = copies(plan.what) ? each.data.size() : plan.bytes;
      if (!each.result.failure && !each.is_lost())
        require(each.result.moved == bytes, text(plan) + ": transferred " + std::to_string(each.result.moved));
      require(each.result.moved <= bytes, text(plan) + ": transferred more than requested");
      if (each.result.moved != 0) least = std::max(least, plan.offset + each.result.moved);
      const bool is_whole = plan.what == action::allocate || plan.what == action::clone;  // or has no effect
      if (bytes != 0 && !(is_whole && each.result.failure)) most = std::max(most, plan.offset + bytes);
    }
    const std::uint64_t found = least == most ? least : size(random);
    require(found >= least && found <= most, "the file has " + std::to_string(found) + " bytes, not " +
                                                 std::to_string(least) + " to " + std::to_string(most));
    model_.resize(found);
  }

  void judge_write(const flight_type& each) {
    const transfer& plan = each.plan;
    const std::span<const std::byte> data = std::span(each.data).first(model_.readable(plan.offset, each.data.size()));
    const std::size_t moved = std::min(each.result.moved, data.size());
    model_.write(plan.offset, data.first(moved));
    const std::uint64_t begin = plan.offset + moved;
    const std::size_t left = data.size() - moved;
    if (left == 0) return;
    const bool has_no_effect = each.result.failure && (plan.what == action::clone || is_lacking(*each.result.failure));
    const auto found = read_back(begin, left);
    if (has_no_effect) return model_.expect(begin, found, text(plan));
    model_.settle(begin, data.subspan(moved), found, text(plan));
  }

  std::vector<std::byte> read_back(std::uint64_t offset, std::size_t bytes) {
    const mode by = in_.modes.front();
    const std::uint64_t unit = by == mode::direct ? in_.unit : 1;
    const std::uint64_t begin = offset / unit * unit;
    const std::uint64_t end = (offset + bytes + unit - 1) / unit * unit;
    auto memory = qio::aligned_buffer::allocate(static_cast<std::size_t>(end - begin)).value();
    const auto part = memory.view(0, static_cast<std::size_t>(end - begin));
    const std::size_t got =
        world_.with(by, 0, [&](auto& file) { return succeeded(file.read_at(begin, part), "read back"); });
    const auto skipped = static_cast<std::size_t>(offset - begin);
    require(got >= skipped + bytes, "read back: " + std::to_string(got) + " bytes");
    const std::byte* const first = memory.data() + skipped;
    return {first, first + bytes};
  }

  std::uint64_t size(random_numbers& random) {
    const mode by = in_.modes[random.below(in_.modes.size())];
    const std::size_t context = random.below(in_.contexts);
    return world_.with(by, context, [](auto& file) { return succeeded(file.size(), "size"); });
  }
  void check_size(random_numbers& random) {
    const std::uint64_t found = size(random);
    require(found == model_.size(),
            "the file has " + std::to_string(found) + " bytes, not " + std::to_string(model_.size()));
  }

  static qio::bounce_pool new_pool(std::size_t slots) {
    return qio::bounce_pool::allocate({.slots = slots, .slot_bytes = 8192}).value();
  }

  static std::size_t index_of(mode which) { return static_cast<std::size_t>(which); }

  static constexpr std::size_t most_views = 4, most_looked_at = 8192, page = 4096;
  struct kept_view {
    std::size_t context;
    std::uint64_t offset;
    std::span<const std::byte> bytes;
  };

  place<Engine>& where_;
  std::uint64_t seed_;
  const surroundings& in_;
  tally& counts_;
  model model_;
  std::array<qio::bounce_pool, 2> pools_{new_pool(1), new_pool(3)};  // of the contexts
  qio::bounce_pool blocking_pool_ = new_pool(1);
  world<Engine> world_;  // after the pools, so that its contexts end before
  name_player<Engine> names_{where_, world_, counts_};
  crash_model crash_;
  std::deque<kept_view> views_;
  std::array<bool, modes> has_failed_to_sync_{};
  std::array<bool, 2> cut_by_others_{};  // the file, since the mapping of this context was last used
};

}  // namespace property
