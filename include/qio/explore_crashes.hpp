// SPDX-License-Identifier: BSL-1.0
// Systematic crash tests: runs a program on a simulated disk, cuts the power at each of its system calls, and checks
// what recovery makes of every state that the disk may be left in.
#pragma once

#include <qio/configuration.hpp>
#include <qio/engine/simulated.hpp>
#include <qio/simulation/chance.hpp>
#include <qio/simulation/disk.hpp>
#include <qio/simulation/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

/// Options of explore_crashes().
struct explore_crashes_options {
  /// The disk: its sector, faults and seed. The seed decides the order of operations that overlap, which faults occur
  /// and which states are tried if there are too many to try all of them.
  simulation_options disk = {};

  /// Makes the files that the program finds. No faults occur while it runs, and everything is durable afterwards.
  std::function<void(simulated_disk&)> prepare = {};

  /// Also explores the runs in which one sync, or one durable write, fails: each in turn. See
  /// simulation_options::sync_errors for what that leaves.
  bool failing_syncs = false;

  /// How many combinations of surviving changes are tried each time that the power is cut. If there are more, those
  /// with the fewest lost changes are tried first, then a quarter as many with the fewest surviving ones, and a quarter
  /// as many that the seed chooses. 12 sectors that have been written over make 4096 combinations.
  std::uint64_t most_combinations = 16384;

  /// How many system calls the power is left on, at most: bounds the exploration of a program that ends only when its
  /// operations fail.
  std::uint64_t most_calls = 1000;

  /// Only this state is tried: crash_failure::state of a failure to repeat.
  std::string state = {};
};

/// A state in which the check has failed.
struct crash_failure {
  std::string reason;                   ///< what the check returned
  std::uint64_t system_calls = 0;       ///< how many the program had made when the power failed
  std::string state;                    ///< repeats it: explore_crashes_options::state
  std::vector<std::string> operations;  ///< that the program had made, and what has survived of each

  /// The reason, the operations and the state, in lines.
  std::string story() const {
    std::string all = reason + "\nThe power failed after these operations:\n";
    for (std::size_t each = 0; each != operations.size(); ++each)
      all += "  " + std::to_string(each + 1) + ". " + operations[each] + '\n';
    return all + "Repeat it with the option .state = \"" + state + "\"\n";
  }
};

/// The result of explore_crashes().
struct crash_exploration {
  std::uint64_t crashes = 0;       ///< how often the power was cut at another place, or after another sync had failed
  std::uint64_t combinations = 0;  ///< of surviving changes that were tried
  std::uint64_t states = 0;        ///< checked: two combinations often leave the same state
  /// Whether each state was checked that a power cut may leave, with this order of overlapping operations and these
  /// faults. False if there were more combinations or system calls than the options allow, and after a failure.
  bool exhaustive = true;
  std::optional<crash_failure> failure = {};  ///< the first one
};

namespace detail {

/// Answers with the choices that it was made with, then with the same default for all others, and notes them.
class choice_sequence final : public crash_choices {
 public:
  using values = std::vector<std::uint64_t>;
  enum class others : std::uint8_t { survive, are_lost, by_chance };
  struct choice {
    std::uint64_t value, most;
  };
  /// A choice, and what it was about.
  struct effect {
    crash_choice::kind what;
    values calls;
    std::uint64_t offset, bytes, value, most;
  };

  choice_sequence(values first, others rest, chance* chances = nullptr) noexcept
      : first_(std::move(first)), rest_(rest), chances_(chances) {}

  /// Which sync fails: 1 for the first one, 0 for none.
  void fail_sync(std::uint64_t number) noexcept { failing_ = number; }
  bool has_failed_sync() const noexcept { return failing_ != 0 && syncs_ >= failing_; }
  void record(std::vector<effect>& effects) noexcept { effects_ = &effects; }

  std::uint64_t choose(const crash_choice& about, std::uint64_t most) override {
    if (most == 0) return 0;
    const std::size_t at = made_.size();
    const std::uint64_t value = at < first_.size() ? (std::min)(first_[at], most) : default_of(most);
    made_.push_back({value, most});
    if (effects_ != nullptr)
      effects_->push_back(
          {about.what, values(about.calls.begin(), about.calls.end()), about.offset, about.bytes, value, most});
    return value;
  }
  bool sync_fails() override { return ++syncs_ == failing_; }

  const values& first() const noexcept { return first_; }
  const std::vector<choice>& made() const noexcept { return made_; }
  std::uint64_t default_of(std::uint64_t most) const {
    return rest_ == others::survive ? most : rest_ == others::are_lost ? 0 : chances_->between(0, most);
  }

 private:
  values first_;
  others rest_;
  chance* chances_;
  std::vector<choice> made_;
  std::vector<effect>* effects_ = nullptr;
  std::uint64_t failing_ = 0;
  std::uint64_t syncs_ = 0;
};

/// Calls `visit(choices)` for each sequence of choices, first those with the fewest that differ from the default. It
/// makes the choices, and returns whether to continue. Returns whether all were visited: not more than `limit` are.
template <class Visit>
bool visit_sequences(choice_sequence::others rest, std::uint64_t limit, Visit&& visit) {
  // The places and values of those that differ. Whole sequences would take too much memory: there may be many sectors.
  using differences = std::vector<std::pair<std::size_t, std::uint64_t>>;
  const std::uint64_t same = rest == choice_sequence::others::survive ? ~std::uint64_t(0) : 0;  // at most what there is
  std::deque<differences> next(1);
  bool is_complete = true;
  for (; !next.empty(); next.pop_front()) {
    if (limit-- == 0) return false;
    choice_sequence::values first;
    for (const auto& [at, value] : next.front()) {
      first.resize(at, same);
      first.push_back(value);
    }
    const std::size_t begin = first.size();
    choice_sequence choices(std::move(first), rest);
    if (!visit(choices)) return false;
    // The last choice of its own differs from the default. So each sequence comes from one other only.
    for (std::size_t at = begin; at < choices.made().size(); ++at) {
      const auto [made, most] = choices.made()[at];
      for (std::uint64_t value = most + 1; value-- != 0;) {
        if (value == made) continue;
        if (next.size() > limit) {
          is_complete = false;
          break;
        }
        next.push_back(next.front());
        next.back().emplace_back(at, value);
      }
    }
  }
  return is_complete;
}

class crash_explorer {
 public:
  using program_type = std::function<void(simulated_disk&)>;
  using check_type = std::function<std::string(simulated_disk&)>;

  crash_explorer(const program_type& program, const check_type& check, const explore_crashes_options& options)
      : program_(program), check_(check), options_(options), prepared_(without_faults(options.disk)) {
    if (options.prepare) options.prepare(prepared_);
    prepared_.make_all_durable();
    prepared_.options_ = options.disk;
  }

  crash_exploration run() {
    if (!options_.state.empty()) {
      repeat();
      return std::move(found_);
    }
    std::uint64_t first_call = 0;  // before it, a run with this failing sync is like one without
    for (std::uint64_t failing_sync = 0;; ++failing_sync) {
      std::optional<std::uint64_t> reached;
      for (std::uint64_t calls = first_call;; ++calls) {
        if (calls > options_.most_calls) {
          found_.exhaustive = false;
          break;
        }
        const cut_result result = cut({failing_sync, calls});
        if (found_.failure) break;
        if (result.was_explored && !reached) reached = calls;
        if (result.program_ended) break;
      }
      if (found_.failure || !options_.failing_syncs || !reached) break;
      first_call = *reached;
    }
    if (found_.failure) found_.exhaustive = false;
    return std::move(found_);
  }

 private:
  using others = choice_sequence::others;
  using values = choice_sequence::values;

  struct place {
    std::uint64_t failing_sync;  // 0: none
    std::uint64_t calls;         // then the power fails
  };
  struct cut_result {
    bool program_ended = true;  // before the power failed
    bool was_explored = false;  // the sync that fails was made
  };

  static simulation_options without_faults(simulation_options options) {
    options.short_transfers = options.interruptions = options.refusals = options.misdirected_writes = 0;
    options.read_errors = options.write_errors = options.sync_errors = 0;
    return options;
  }

  // The program, up to the place; what it leaves is in `disk`. It may make choices of its own: see crash_choice.
  void run_program(simulated_disk& disk, const place& where, choice_sequence& choices) {
    disk.copy_state(prepared_);
    disk.chance_.supply(&choices);
    choices.fail_sync(where.failing_sync);
    disk.cut_power_after(where.calls);
#if defined(__cpp_exceptions)
    try {
      program_(disk);
    } catch (...) {
      if (disk.has_power() && !choices.has_failed_sync()) throw;
    }
#else
    program_(disk);
#endif
    disk.chance_.supply(nullptr);
  }

  // Whether the program has turned the power on or off: it is on as long as calls are left.
  bool has_meddled(const simulated_disk& disk, const place& where) const noexcept {
    return disk.has_power() != (disk.calls_ - prepared_.calls_ < where.calls);
  }

  // What a power cut leaves of a disk.
  static void restart(simulated_disk& disk, const simulated_disk& crashed, choice_sequence& choices) {
    disk.copy_state(crashed);
    disk.chance_.supply(&choices);
    disk.restart();
    disk.chance_.supply(nullptr);
  }

  // Nothing if it is as it should be.
  std::string check(simulated_disk& disk) {
#if defined(__cpp_exceptions)
    try {
      return check_(disk);
    } catch (const std::exception& thrown) {
      return std::string("the check threw an exception: ") + thrown.what();
    } catch (...) {
      return "the check threw an exception";
    }
#else
    return check_(disk);
#endif
  }

  // Explores all states that a power cut at one place may leave.
  cut_result cut(const place& where) {
    cut_result result;
    std::uint64_t left = options_.most_combinations;
    found_.exhaustive &= visit_sequences(others::survive, most_runs, [&](choice_sequence& in_run) {
      simulated_disk crashed(options_.disk);
      run_program(crashed, where, in_run);
      if (has_meddled(crashed, where)) {
        found_.failure.emplace();
        found_.failure->reason =
            "explore_crashes: the program has called cut_power_after() or restart(), which is up to the exploration: "
            "leave it out";
        return false;
      }
      result.program_ended &= crashed.has_power();
      // It has ended with its last call, but the next run is the one that never notices the crash.
      if (!crashed.has_power() && crashed.calls_ == prepared_.calls_ + where.calls) return true;
      if (where.failing_sync != 0 && !in_run.has_failed_sync()) return true;
      result.was_explored = true;
      const std::uint64_t before = found_.combinations;
      const std::uint64_t limit = in_run.made().empty() ? left : left / 2;  // the rest is for other runs
      check_states(crashed, where, in_run, (std::max)(limit, least_combinations));
      left -= (std::min)(left, found_.combinations - before);
      return !found_.failure.has_value();
    });
    found_.crashes += result.was_explored;
    return result;
  }

  // Checks what a power cut may leave of one disk, until a check fails.
  void check_states(const simulated_disk& crashed, const place& where, choice_sequence& in_run, std::uint64_t limit) {
    std::set<fingerprint> seen;
    const auto check_state = [&](choice_sequence& choices) {
      ++found_.combinations;
      simulated_disk disk(options_.disk);
      restart(disk, crashed, choices);
      if (!seen.insert(disk.state()).second) return true;
      ++found_.states;
      const std::string reason = check(disk);
      if (reason.empty()) return true;
      fail(reason, crashed, where, in_run.first(), choices.made());
      return false;
    };
    if (visit_sequences(others::survive, limit, check_state) || found_.failure) return;
    found_.exhaustive = false;
    visit_sequences(others::are_lost, limit / 4, check_state);
    for (std::uint64_t more = limit / 4; more != 0 && !found_.failure; --more) {
      choice_sequence choices({}, others::by_chance, &chance_);
      check_state(choices);
    }
  }

  // Reports a failure, with the fewest changes lost that it takes.
  void fail(const std::string& reason, const simulated_disk& crashed, const place& where, const values& in_run,
            std::vector<choice_sequence::choice> made) {
    for (std::size_t at = 0; at < made.size(); ++at)
      for (std::uint64_t more = made[at].most; more > made[at].value; --more) {
        values fewer_lost = values_of(made);
        fewer_lost[at] = more;
        choice_sequence choices(std::move(fewer_lost), others::survive);
        simulated_disk disk(options_.disk);
        restart(disk, crashed, choices);
        if (!check(disk).empty()) {
          made = choices.made();
          break;
        }
      }
    report(where, in_run, values_of(made), reason);
  }
  static values values_of(const std::vector<choice_sequence::choice>& made) {
    values all;
    for (const auto& each : made) all.push_back(each.value);
    return all;
  }

  // Runs the program once more, for what it does. It fails for the same reason, if there was one.
  void report(const place& where, const values& in_run, const values& in_crash, const std::string& failed) {
    std::vector<choice_sequence::effect> effects;
    std::vector<simulated_disk::recorded_call> calls;
    choice_sequence of_run(in_run, others::survive), of_crash(in_crash, others::survive);
    of_run.record(effects);
    of_crash.record(effects);
    simulated_disk crashed(options_.disk), disk(options_.disk);
    crashed.record_ = &calls;
    run_program(crashed, where, of_run);
    restart(disk, crashed, of_crash);
    std::set<std::uint64_t> named{0};
    disk.for_each_file([&](const simulated_contents& file) { named.insert(file.number()); });
    std::string reason = check(disk);
    if (reason.empty() && failed.empty()) return;
    if (reason.empty())
      reason = failed + " (not when it ran again: the program and the check must do the same each time)";
    const std::uint64_t made = (std::min)(where.calls, crashed.calls_ - prepared_.calls_);
    found_.failure.emplace(crash_failure{std::move(reason), made, name_of(where, of_run, of_crash), {}});
    for (const auto& each : calls)
      found_.failure->operations.push_back(each.text + fate_of(each, named.contains(each.file), effects));
  }

  // Parts of a call's changes that have survived, or that are lost.
  class fate {
   public:
    void add(const choice_sequence::effect& part) {
      if (part.what == crash_choice::part && !ranges_.empty() && ranges_.back().second == part.offset)
        ranges_.back().second += part.bytes;
      else if (part.what == crash_choice::part)
        ranges_.emplace_back(part.offset, part.offset + part.bytes);
      else
        others_.insert(part.what == crash_choice::names   ? "the name"
                       : part.what == crash_choice::order ? "the size"
                                                          : "sectors that had not begun");
    }
    bool is_empty() const { return ranges_.empty() && others_.empty(); }
    std::string text() const {
      std::string all;
      for (const auto& [begin, end] : ranges_)
        all += (all.empty() ? "" : ", ") + ("bytes " + std::to_string(begin)) + " to " + std::to_string(end - 1);
      for (const std::string& each : others_) all += (all.empty() ? "" : ", ") + each;
      return all;
    }

   private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
    std::set<std::string> others_;
  };

  static std::string fate_of(const simulated_disk::recorded_call& call, bool has_name,
                             const std::vector<choice_sequence::effect>& effects) {
    if (call.call == 0) return {};
    if (!has_name) return ": lost with the name of the file";
    fate kept, lost;
    for (const auto& each : effects) {
      const auto found = std::ranges::find(each.calls, call.call);
      if (found == each.calls.end()) continue;
      const bool is_complete = each.what != crash_choice::in_flight || each.value == each.most;
      const bool survives = is_complete && each.value > static_cast<std::uint64_t>(found - each.calls.begin());
      if (!survives || each.what != crash_choice::in_flight) (survives ? kept : lost).add(each);
    }
    if (kept.is_empty() && lost.is_empty()) return ": durable";
    if (lost.is_empty()) return ": survived";
    if (kept.is_empty()) return ": lost";
    return ": " + kept.text() + " survived; " + lost.text() + " lost";
  }

  // --- the name of a state: <failing sync>:<calls>:<choices while it ran>:<choices of the power cut> ---

  static std::string name_of(const place& where, const choice_sequence& in_run, const choice_sequence& in_crash) {
    std::string name = std::to_string(where.failing_sync) + ':' + std::to_string(where.calls);
    for (const choice_sequence* each : {&in_run, &in_crash}) {
      // Those at the end that leave everything go without saying.
      const auto& made = each->made();
      const auto last =
          std::find_if(made.rbegin(), made.rend(), [](const auto& choice) { return choice.value != choice.most; });
      name += ':';
      for (auto choice = made.begin(); choice != last.base(); ++choice)
        name += (choice == made.begin() ? "" : ",") + std::to_string(choice->value);
    }
    return name;
  }

  // The numbers between two separators; nothing if there is something else.
  static std::optional<values> numbers(std::string_view text) {
    values all;
    while (!text.empty()) {
      const std::size_t end = (std::min)(text.find(','), text.size());
      std::uint64_t number = 0;
      for (const char each : text.substr(0, end)) {
        if (each < '0' || each > '9') return std::nullopt;
        number = number * 10 + static_cast<std::uint64_t>(each - '0');
      }
      all.push_back(number);
      text.remove_prefix((std::min)(end + 1, text.size()));
    }
    return all;
  }

  void repeat() {
    std::vector<values> parts;
    for (std::string_view rest = options_.state;;) {
      const std::size_t end = (std::min)(rest.find(':'), rest.size());
      if (auto part = numbers(rest.substr(0, end))) parts.push_back(std::move(*part));
      if (end == rest.size()) break;
      rest.remove_prefix(end + 1);
    }
    found_.exhaustive = false;
    if (parts.size() != 4 || parts[0].size() != 1 || parts[1].size() != 1) {
      found_.failure.emplace();
      found_.failure->reason =
          "explore_crashes: \"" + options_.state + "\" is no state: copy crash_failure::state of a failure";
      return;
    }
    found_.crashes = found_.combinations = found_.states = 1;
    report({parts[0][0], parts[1][0]}, parts[2], parts[3], {});
  }

  static constexpr std::uint64_t most_runs = 1024;         // that differ in what was in flight, or a sync has lost
  static constexpr std::uint64_t least_combinations = 64;  // for each run

  const program_type& program_;
  const check_type& check_;
  const explore_crashes_options& options_;
  simulated_disk prepared_;
  chance chance_{options_.disk.seed};  // for states that are drawn
  crash_exploration found_;
};

}  // namespace detail

/// Runs `program(disk)` on a simulated disk again and again, cuts the power after each number of its system calls, and
/// once after its end. Each time, it makes every state that the disk may then be left in: see docs/simulation.md for
/// what survives a power cut. It calls `check(disk)` with each state, the power on again. The check recovers what the
/// program has stored, on a context of its own, and returns what is wrong, or an empty string. The first failure ends
/// the exploration.
///
/// The failure is the one after the fewest system calls, and of those one with the fewest lost changes, if all
/// combinations were tried; otherwise those of which one alone could survive, do.
///
/// The program and the check share what the program has promised, in variables that the program sets at its beginning:
/// each run of the program is followed by the checks of the states that it may have left. The check may change the
/// disk, which is a copy. Both must do the same each time, so they use no other threads, clocks or sources of chance.
///
/// The program must not call cut_power_after() or restart(): that is a failure.
///
/// A program whose operations fail may go on, return, or throw any exception: after the power has failed, or a sync as
/// by explore_crashes_options::failing_syncs, that ends it. Other exceptions leave explore_crashes(). An exception that
/// the check throws is a failure.
///
/// A write that is in flight while another operation completes may have begun up to any sector when the power fails.
/// One that nothing overlaps has been carried out, and then any of its sectors may be lost, or not at all. A durable
/// write may lose any of its sectors until it has succeeded. Operations that overlap are explored in one order, which
/// the seed chooses. A crash during recovery is not explored: make recovery the program, and have `prepare` make what
/// it finds.
///
/// Takes about 10 microseconds for each state of a few sectors, milliseconds for one of MiB that are not synced, and
/// the memory of a few copies of the disk. Uses the calling thread, and allocates.
///
///     std::uint64_t promised = 0;
///     const auto found = qio::explore_crashes(
///         [&](qio::simulated_disk& disk) { promised = 0; append_records(disk, promised); },
///         [&](qio::simulated_disk& disk) -> std::string {
///           return count_records(disk) < promised ? "a record is lost" : "";
///         });
///     if (found.failure) std::fputs(found.failure->story().c_str(), stderr);
inline crash_exploration explore_crashes(const std::function<void(simulated_disk&)>& program,
                                         const std::function<std::string(simulated_disk&)>& check,
                                         const explore_crashes_options& options = {}) {
  return detail::crash_explorer(program, check, options).run();
}

QIO_END_NAMESPACE
