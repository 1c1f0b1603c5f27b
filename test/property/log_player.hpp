// Carries out the steps of a sequence that appends to a log, and compares what is found with the model.
#pragma once

#include "log_model.hpp"
#include "log_plan.hpp"
#include "place.hpp"
#include "world.hpp"
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace property {

/// Shows what a run has covered.
struct log_tally {
  std::uint64_t operations() const { return appended; }
  std::string text() const {
    return "  records acknowledged: " + std::to_string(acknowledged) + "; destroyed: " + std::to_string(destroyed) +
           "; failed: " + std::to_string(failed) +
           "; found, though not acknowledged: " + std::to_string(found_unacknowledged) +
           "\n  trims: " + std::to_string(trims) +
           "; of which began behind the first record: " + std::to_string(dropping) +
           "\n  logs opened: " + std::to_string(opened) + "; with a torn batch: " + std::to_string(torn) +
           "; not opened: " + std::to_string(not_opened) + '\n';
  }

  std::uint64_t appended = 0, acknowledged = 0, destroyed = 0, failed = 0, found_unacknowledged = 0;
  std::uint64_t trims = 0, dropping = 0;
  std::uint64_t opened = 0, torn = 0, not_opened = 0;
};

class any_log_player {
 public:
  virtual ~any_log_player() = default;
  virtual void play(const log_step& step, std::uint64_t number) = 0;
  virtual void finish() = 0;
};

template <class Engine, class Mode>
class log_player final : public any_log_player {
 public:
  log_player(place<Engine>& where, std::uint64_t seed, const log_surroundings& in, log_tally& counts)
      : where_(where), seed_(seed), in_(in), counts_(counts), world_(where) {
    random_numbers random(seed_, 0);
    renew_context(random);
    open(random);
  }

  void play(const log_step& step, std::uint64_t number) override {
    random_numbers random(seed_, ~number);
    if (step.what == log_step::kind::append) {
      if (!log_) open(random);
      if (log_) append(step, random);
      return;
    }
    if (step.what == log_step::kind::rival) return compete(random);
    log_.reset();
    if (step.what == log_step::kind::reread) read(random);
    if (step.what == log_step::kind::lose_header) lose_header(random);
    if (step.what == log_step::kind::restart) renew_context(random);
    open(random);
  }

  void finish() override {
    random_numbers random(seed_, 0);
    log_.reset();
    read(random);
    counts_.appended += model_.appended();
    counts_.acknowledged += model_.acknowledged();
    counts_.found_unacknowledged += model_.found_unacknowledged();
  }

 private:
  using log_type = qio::log_writer<Mode, Engine>;
  using append_type = decltype(std::declval<log_type&>().append({}));
  using answer_type = typename append_type::result_type;

  /// An append with a callback.
  struct started {
    started(log_type& to, std::vector<std::byte>&& bytes) : record(std::move(bytes)), append(to.append(record)) {}

    std::vector<std::byte> record;
    int completions = 0;
    append_type append;  // last, because it uses the record
  };

  qio::basic_context<Engine>& context() { return world_.context(0); }

  void renew_context(random_numbers& random) {
    world_.close_all(0);
    succeeded(world_.make_context(0, random), "create the context");
  }

  // --- opening: what is found is compared with the model ---

  auto new_file(random_numbers& random) {
    using enum qio::inline_transfers;
    const qio::open_options options = {.inline_reads = random.one_of({never, automatic, always}),
                                       .inline_writes = random.one_of({never, automatic, always})};
    return succeeded(qio::basic_file<Mode>::open(context(), where_.path(), qio::access::read_write,
                                                 qio::creation::if_needed, options),
                     "open the file");
  }

  auto visitor(bool is_durable) {
    return [this, is_durable](const qio::log_record& each) {
      model_.find(each.number, each.bytes, is_durable);
      return true;
    };
  }

  void open(random_numbers& random) {
    auto opened = context().run(qio::open_log(new_file(random), visitor(true), options()));
    if (!opened) {
      require(may_fail(opened.error()), "open the log: " + opened.error().message());
      ++counts_.not_opened;
      model_.give_up();
      return;
    }
    model_.end(true);
    exists_ = true;
    ++counts_.opened;
    counts_.torn += opened.value().recovered().tail == qio::log_end::torn;
    log_.emplace(std::move(opened).value());
  }

  qio::log_options options() const {
    qio::log_options made{.extent = in_.extent, .largest_batch = in_.largest_batch, .id = seed_ + 1};
    made.checksums = in_.checksums;
    return made;
  }

  // No other writer can open the log, but readers can.
  void compete(random_numbers& random) {
    if (!log_) return;
    const auto rival = context().run(qio::open_log(new_file(random), visitor(true), options()));
    require(!rival && rival.error() == qio::errc::log_is_open, "a second writer has opened the log");
    read(random);
  }

  void lose_header(random_numbers& random) {
    if (!exists_) return;
    auto file = new_file(random);
    constexpr std::size_t copy_bytes = 4096;
    auto memory = succeeded(qio::aligned_buffer::allocate(copy_bytes), "allocate memory");
    // The other copy must be there: an opening that has failed may have torn it.
    const std::uint64_t lost = random.below(2) * copy_bytes, other = copy_bytes - lost;
    auto bytes = std::span(memory.data(), memory.size());
    if (!context().run(file.async_read_at(other, bytes))) return;
    if (!qio::detail::log_format::file_header::load_from(memory.data(), other)) return;
    random.fill(bytes);
    const auto written = context().run(file.async_write_at(lost, bytes));
    require(written || may_fail(written.error()), "overwrite a copy of the header");
  }

  void read(random_numbers& random) {
    if (!exists_) return;
    auto file = new_file(random);
    // read_log() neither syncs nor drops pages: after a failed write, it may show what the disk does not have.
    const bool is_durable = !may_fail(qio::error(std::make_error_code(std::errc::io_error)));
    const qio::log_contents found = succeeded(context().run(qio::read_log(file, visitor(is_durable))), "read the log");
    require(found.tail != qio::log_end::damaged, "read the log: it is damaged");
    model_.end(is_durable);
  }

  bool may_fail(const qio::error& failure) const {
    transfer durable_write;
    durable_write.what = action::write;
    durable_write.durable = true;
    return where_.may_fail(durable_write, failure);
  }

  // --- appending ---

  void append(const log_step& step, random_numbers& random) {
    is_ending_ = false;
    std::vector<std::unique_ptr<started>> kept, destroyed_later;
    {
      qio::task_scope scope(context());
      std::optional<qio::task_scope> destroyed_scope(std::in_place, context());
      for (const appender& each : step.appenders) {
        if (each.how == way::awaited)
          (each.ending == ending::none ? scope : *destroyed_scope).spawn(append_all(each));
        else
          start(each, each.ending == ending::none ? kept : destroyed_later);
      }
      if (step.trims != 0) (step.is_trim_destroyed ? *destroyed_scope : scope).spawn(trim(step.trims));
      if (step.polls) context().poll();
      counts_.destroyed += destroyed_scope->size();
      destroyed_scope.reset();
      for (const auto& each : destroyed_later) counts_.destroyed += each->completions == 0;
      destroyed_later.clear();
      end(step, random);
      require(scope.is_empty(), "a task did not end");
    }
    for (const auto& each : kept)
      require(each->completions == 1, "an append completed " + std::to_string(each->completions) + " times");
    require(wrong_.empty(), wrong_);
    if (log_ && log_->failure().exists()) log_.reset();
    if (!log_) open(random);
  }

  void end(const log_step& step, random_numbers& random) {
    is_ending_ = step.end != log_step::finale::wait;
    if (step.end == log_step::finale::destroy_context) {
      world_.close_all(0);  // while the log exists
      log_.reset();
      return renew_context(random);
    }
    if (step.end == log_step::finale::destroy_log) log_.reset();
    context().run();
  }

  void start(const appender& plan, std::vector<std::unique_ptr<started>>& all) {
    for (const std::size_t length : plan.records) {
      auto made = std::make_unique<started>(*log_, model_.next(length));
      made->append.start([this, one = made.get()](answer_type answer) {
        ++one->completions;
        note(one->record, answer);
      });
      if (plan.ending == ending::destroyed_at_once)
        ++counts_.destroyed;
      else
        all.push_back(std::move(made));
    }
  }

  qio::task<void> append_all(appender plan) {
    for (const std::size_t length : plan.records) {
      if (!log_) co_return;  // it was destroyed
      const std::vector<std::byte> record = model_.next(length);
      const answer_type answer = co_await log_->append(record);
      note(record, answer);
      if (!answer) co_return;
    }
  }

  qio::task<void> trim(std::uint64_t eighths) {
    if (!log_) co_return;
    const std::uint64_t kept = model_.trim(eighths);
    const answer_type first = co_await log_->trim(kept);
    try {
      if (first) {
        require(first.value() <= kept, "a trim has dropped records that it was to keep");
        model_.drop(first.value());
        ++counts_.trims;
        counts_.dropping += first.value() > 1;
      } else {
        check_failure(first.error(), "a trim failed: ");
      }
    } catch (const mismatch& found) {
      if (wrong_.empty()) wrong_ = found.what();
    }
  }

  void check_failure(const qio::error& failure, const char* what) const {
    const bool is_early = is_ending_ && failure == std::errc::operation_canceled;
    require(is_early || may_fail(failure), what + failure.message());
  }

  // Nothing is thrown here, because callbacks must not throw.
  void note(const std::vector<std::byte>& record, const answer_type& answer) {
    if (!answer) ++counts_.failed;
    try {
      if (answer) return model_.acknowledge(record, answer.value());
      check_failure(answer.error(), "an append failed: ");
    } catch (const mismatch& found) {
      if (wrong_.empty()) wrong_ = found.what();
    }
  }

  place<Engine>& where_;
  std::uint64_t seed_;
  const log_surroundings in_;
  log_tally& counts_;
  log_model model_;
  bool exists_ = false;     // the log was opened
  bool is_ending_ = false;  // the log or the context is being destroyed
  std::string wrong_;       // the first thing that was, in an append
  world<Engine> world_;
  std::optional<log_type> log_;
};

template <class Engine>
std::unique_ptr<any_log_player> make_log_player(place<Engine>& where, std::uint64_t seed, const log_surroundings& in,
                                                log_tally& counts) {
  if constexpr (place<Engine>::can_map)
    if (in.mode == mode::mapped) return std::make_unique<log_player<Engine, qio::mapped>>(where, seed, in, counts);
  if (in.mode == mode::direct) return std::make_unique<log_player<Engine, qio::direct>>(where, seed, in, counts);
  if (in.mode == mode::uncached) return std::make_unique<log_player<Engine, qio::uncached>>(where, seed, in, counts);
  return std::make_unique<log_player<Engine, qio::cached>>(where, seed, in, counts);
}

}  // namespace property
