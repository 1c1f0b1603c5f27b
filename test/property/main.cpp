// Random sequences of operations on one file, or of appends to one log, on each engine and in all modes, compared with
// a model in memory, like the file system exerciser fsx. After a mismatch it prints the seed, the shortest failing
// sequence of that seed, and the command that repeats it. Exit status: 0 all agree, 1 a mismatch, 77 the engine is not
// available here.
#include "engines.hpp"
#include "log_plan.hpp"
#include "log_player.hpp"
#include "model.hpp"
#include "os.hpp"
#include "place.hpp"
#include "plan.hpp"
#include "player.hpp"
#include "scheduled.hpp"
#include "tally.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace property {
namespace {

struct arguments {
  std::string engine;  ///< empty: all
  std::uint64_t seed = 1, seeds = 25, steps = 100;
  std::vector<std::uint64_t> only;      ///< numbers of steps; empty: all
  std::optional<std::uint64_t> damage;  ///< after this step
  bool log = false;                     ///< sequences of a log, not of a file
  std::vector<std::string> needs;       ///< actions that must be supported
};

constexpr int passed = 0, failed = 1, skipped = 77;

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

using numbers = std::vector<std::uint64_t>;

void check_contents(const std::vector<std::byte>& found, const model& right) {
  require(found.size() == right.size(), "at the end the file has " + std::to_string(found.size()) + " bytes");
  right.expect(0, found, "at the end");
}

/// A sequence of operations on a file.
template <class EngineType>
class file_sequence {
 public:
  using Engine = EngineType;
  using tally = property::tally;
  static constexpr const char* name = "";
  static constexpr const char* option = "";
  static constexpr std::uint64_t damaged_byte = 0;  ///< by --damage

  file_sequence(place<Engine>& where, std::uint64_t seed, const surroundings& possible, tally& counts)
      : where_(where), seed_(seed), in_(surroundings_of(seed, possible)), player_(where, seed, in_, counts) {}

  void play(std::uint64_t number) { player_.play(make_step(seed_, number, in_), number); }
  void finish() { check_contents(where_.contents(), player_.finish()); }

  static std::string text(std::uint64_t seed, const surroundings& possible) {
    const surroundings in = surroundings_of(seed, possible);
    std::string open;
    for (const mode each : in.modes) open += ' ' + std::string(property::name(each));
    if (in.contexts > 1) open += ", shared with a second context";
    return "on a file of at most " + std::to_string(in.limit) + " bytes, open as:" + open;
  }
  static std::string text(std::uint64_t seed, std::uint64_t number, const surroundings& possible) {
    return property::text(make_step(seed, number, surroundings_of(seed, possible)));
  }

 private:
  place<Engine>& where_;
  std::uint64_t seed_;
  const surroundings in_;
  player<Engine> player_;
};

/// A sequence of appends to a log.
template <class EngineType>
class log_sequence {
 public:
  using Engine = EngineType;
  using tally = log_tally;
  static constexpr const char* name = ", a log";
  static constexpr const char* option = " --log";
  static constexpr std::uint64_t damaged_byte = 2 * 4096;  // of the first batch; a copy of the header may be lost

  log_sequence(place<Engine>& where, std::uint64_t seed, const surroundings& possible, tally& counts)
      : seed_(seed),
        in_(log_surroundings_of(seed, possible)),
        player_(make_log_player<Engine>(where, seed, in_, counts)) {}

  void play(std::uint64_t number) { player_->play(make_log_step(seed_, number, in_), number); }
  void finish() { player_->finish(); }

  static std::string text(std::uint64_t seed, const surroundings& possible) {
    const log_surroundings in = log_surroundings_of(seed, possible);
    return "on a " + std::string(property::name(in.mode)) + " log with extents of " + std::to_string(in.extent) +
           " bytes and batches of at most " + std::to_string(in.largest_batch);
  }
  static std::string text(std::uint64_t seed, std::uint64_t number, const surroundings& possible) {
    return property::text(make_log_step(seed, number, log_surroundings_of(seed, possible)));
  }

 private:
  std::uint64_t seed_;
  const log_surroundings in_;
  std::unique_ptr<any_log_player> player_;
};

template <class Sequence>
class sequences {
  using Engine = typename Sequence::Engine;

 public:
  sequences(const arguments& wanted, const surroundings& possible) : wanted_(wanted), possible_(possible) {}

  /// False if there was a mismatch.
  bool play_all() {
    for (std::uint64_t seed = wanted_.seed; seed != wanted_.seed + wanted_.seeds; ++seed) {
      say(name() + ", seed " + std::to_string(seed));  // first, in case the program crashes
      const auto found = play(seed, all_steps());
      if (!found) continue;
      report(seed, *found);
      return false;
    }
    say(name() + ": " + std::to_string(wanted_.seeds) + " seeds, " + std::to_string(counts_.operations()) +
        " operations\n" + counts_.text());
    return true;
  }

 private:
  struct failed_play {
    numbers steps;  ///< up to and including the one that failed
    std::string what;
  };

  static std::string engine() { return std::string(engine_name<Engine>()); }
  static std::string name() { return engine() + Sequence::name; }

  numbers all_steps() const {
    if (!wanted_.only.empty()) return wanted_.only;
    numbers all(wanted_.steps);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  std::optional<failed_play> play(std::uint64_t seed, const numbers& steps) {
    place<Engine> where(seed);
    numbers done;
    try {
      Sequence now(where, seed, possible_, counts_);
      for (const std::uint64_t number : steps) {
        done.push_back(number);
        now.play(number);
        if (wanted_.damage == number) where.damage(Sequence::damaged_byte);
      }
      now.finish();
      return std::nullopt;
    } catch (const std::exception& thrown) {
      return failed_play{done, thrown.what()};
    }
  }

  // Drops parts, halves at first, as long as the rest still fails.
  failed_play shortened(std::uint64_t seed, failed_play shortest) {
    for (std::size_t part = shortest.steps.size() / 2; part != 0; part /= 2) {
      for (std::size_t at = 0; at + part <= shortest.steps.size();) {
        numbers fewer = shortest.steps;
        const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(at);
        fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(part));
        if (auto still = play(seed, fewer))
          shortest = std::move(*still);
        else
          at += part;
      }
    }
    return shortest;
  }

  void report(std::uint64_t seed, const failed_play& first) {
    say("MISMATCH after " + std::to_string(first.steps.size()) + " steps: " + first.what);
    const failed_play shortest = shortened(seed, first);
    std::string only;
    say("the shortest failing sequence, " + Sequence::text(seed, possible_));
    if (const std::string on = place<Engine>(seed).text(); !on.empty()) say("on " + on);
    for (const std::uint64_t number : shortest.steps) {
      say("step " + std::to_string(number) + ":\n" + Sequence::text(seed, number, possible_));
      only += (only.empty() ? "" : ",") + std::to_string(number);
    }
    say("fails with: " + shortest.what + "\nplay again: property" + Sequence::option + " --engine " + engine() +
        " --seed " + std::to_string(seed) + " --seeds 1 --only " + only);
  }

  const arguments& wanted_;
  const surroundings& possible_;
  typename Sequence::tally counts_;
};

// What the file system lacks. A cloned file may need another alignment (XFS), so this comes first.
template <class Engine, class Missing>
void find_lacks(world<Engine>& probe, surroundings& found, const Missing& missing) {
  probe.with(found.modes.front(), 0, [&](auto& file) {
    const auto look = [&](action what, const auto& tried) {
      if (tried || !is_lacking(tried.error())) return;
      found.lacks[static_cast<std::size_t>(what)] = true;
      missing('/' + std::string(name(what)), tried.error());
    };
    static_cast<void>(file.resize(3 * 4096));
    look(action::allocate, file.allocate(0, 5 * 4096, qio::allocation::keep_size));
    look(action::discard, file.discard(0, 4096));
    look(action::zero, file.zero(0, 4096));
    look(action::next_data, file.next_data(0));
    look(action::clone, file.clone_from(file, {0, 4096}, 8192));
  });
}

// The modes that are available here. Prints the reason for the others.
template <class Engine>
std::optional<surroundings> possible() {
  const std::string engine(engine_name<Engine>());
  place<Engine> where(0);
  random_numbers random(0, 0);
  world<Engine> probe(where);
  const auto missing = [&](std::string_view what, const qio::error& why) {
    say("SKIPPED: property: " + engine + std::string(what) + ": " + why.message());
  };
  if (const auto made = probe.make_context(0, random); !made) {
    missing("", made.error());
    return std::nullopt;
  }
  surroundings found;
  found.asynchronous = world<Engine>::is_async;
  found.contexts = world<Engine>::may_share ? 2 : 1;
  found.threads_stop = os::why_stops_hang.empty() && !place<Engine>::repeats;
  found.has_writeback = place<Engine>::repeats || qio::platform::has_writeback;
  found.mapped_may_be_cut = os::mapped_may_be_cut;
  found.mapped_shows_direct = os::mapped_shows_direct;
  found.crashes = place<Engine>::repeats;
  for (const mode each : {mode::cached, mode::uncached, mode::mapped, mode::direct}) {
    if (each == mode::mapped && !place<Engine>::can_map) continue;
    if (const auto opened = probe.open(each, 0, random); !opened) {
      missing('/' + std::string(name(each)), opened.error());
      continue;
    }
    const qio::alignment needed = probe.with(each, 0, [](auto& file) { return file.alignment(); });
    if (each == mode::direct) found.untorn = probe.with(each, 0, [](auto& file) { return file.atomic_write_limits(); });
    found.unit = std::max<std::size_t>({found.unit, needed.memory, needed.read, needed.write});
    found.modes.push_back(each);
    if (found.modes.size() == 1) find_lacks(probe, found, missing);
  }
  return found;
}

// Whether all that must be supported is.
bool has_needs(const arguments& wanted, const surroundings& in) {
  for (std::size_t what = 0; what < actions; ++what) {
    const std::string action(name(static_cast<property::action>(what)));
    if (!in.lacks[what] || std::count(wanted.needs.begin(), wanted.needs.end(), action) == 0) continue;
    say("FAILED: --needs " + action + ", which is not supported here");
    return false;
  }
  return true;
}

template <class Engine>
int play(const arguments& wanted) {
  if (!wanted.engine.empty() && wanted.engine != engine_name<Engine>()) return skipped;
  const auto in = possible<Engine>();
  if (!in) return skipped;
  if (!has_needs(wanted, *in)) return failed;
  if (!wanted.log) return sequences<file_sequence<Engine>>(wanted, *in).play_all() ? passed : failed;
  if constexpr (world<Engine>::is_async)
    return sequences<log_sequence<Engine>>(wanted, *in).play_all() ? passed : failed;
  return skipped;
}

int play_all(const arguments& wanted) {
  int status = skipped;
  const auto add = [&](int of_one) {
    if (of_one == failed || status == skipped) status = of_one;
  };
  add(play<qio::no_engine>(wanted));
  for (const qio_test::tested_engine& each : qio_test::each_engine) {
    qio_test::current = each;
    add(play<qio::default_engine>(wanted));
  }
  qio_test::current = qio_test::by_default;
  add(play<qio::simulated>(wanted));
  return status;
}

}  // namespace
}  // namespace property

int main(int argc, char** argv) {
  property::arguments wanted;
  CLI::App program("Random operations on one file, compared with a model in memory", "property");
  program.add_option("--engine", wanted.engine, "blocking, ring, aio, workers, default or simulated. Default: all");
  program.add_option("--seed", wanted.seed, "The first seed")->capture_default_str();
  program.add_option("--seeds", wanted.seeds, "The number of seeds, from --seed on")->capture_default_str();
  program.add_option("--steps", wanted.steps, "Steps per sequence, each of one to eight operations")
      ->capture_default_str();
  program.add_option("--only", wanted.only, "Numbers of the steps to run")->delimiter(',');
  program.add_flag("--log", wanted.log, "Append to a log instead, on engines that have a context");
  program.add_option("--needs", wanted.needs, "Operations of a file's space that must be supported: fail otherwise")
      ->delimiter(',');
  program.add_option("--damage", wanted.damage, "Change the file behind the library's back after this step");
  CLI11_PARSE(program, argc, argv);
  return property::play_all(wanted);
}
