#include "log_plan.hpp"

#include "random.hpp"
#include <qio/log/format.hpp>

namespace property {
namespace {

// Often short, sometimes as long as a batch allows.
std::size_t one_length(random_numbers& random, const log_surroundings& in) {
  constexpr std::size_t shortest = 8;  // it begins with its identity
  const std::uint64_t longest = qio::detail::log_format::longest_record(in.largest_batch);
  const std::uint64_t most = random.one_in(20) ? longest : random.one_of<std::uint64_t>({shortest, 100, 600, 3000});
  return static_cast<std::size_t>(random.one_in(4) ? most : shortest + random.below(most - shortest + 1));
}

appender one_appender(random_numbers& random, const log_surroundings& in) {
  appender made;
  made.how = random.one_of({way::awaited, way::started});
  made.records.resize(static_cast<std::size_t>(1 + random.below(5)));
  for (std::size_t& each : made.records) each = one_length(random, in);
  if (!random.one_in(5)) return made;
  const bool at_once = random.one_in(2) && made.how == way::started;
  made.ending = at_once ? ending::destroyed_at_once : ending::destroyed_later;
  return made;
}

}  // namespace

log_surroundings log_surroundings_of(std::uint64_t seed, const surroundings& possible) {
  random_numbers random(seed, 0);
  log_surroundings made;
  made.mode = possible.modes[random.below(possible.modes.size())];
  made.extent = random.one_of<std::uint64_t>({16 * 1024, 64 * 1024, 256 * 1024});
  made.largest_batch = random.one_of<std::uint64_t>({4096, 5000, 16 * 1024});
  made.checksums = random.one_in(2);
  return made;
}

log_step make_log_step(std::uint64_t seed, std::uint64_t number, const log_surroundings& in) {
  random_numbers random(seed, number + 1);
  log_step made;
  if (random.one_in(10)) {
    using enum log_step::kind;
    made.what = random.one_of({reopen, reread, restart, rival, lose_header});
    return made;
  }
  const std::uint64_t count = random.one_in(3) ? 1 : 1 + random.below(8);
  for (std::uint64_t i = 0; i < count; ++i) made.appenders.push_back(one_appender(random, in));
  made.polls = random.one_in(2);
  if (random.one_in(6)) made.end = random.one_of({log_step::finale::destroy_log, log_step::finale::destroy_context});
  if (random.one_in(4)) made.trims = 1 + random.below(8);
  made.is_trim_destroyed = made.trims != 0 && random.one_in(4);
  return made;
}

std::string text(const log_step& step) {
  if (step.what == log_step::kind::reopen) return "close and reopen the log\n";
  if (step.what == log_step::kind::reread) return "close the log, read it, and reopen it\n";
  if (step.what == log_step::kind::restart) return "close the log, and reopen it on a new context\n";
  if (step.what == log_step::kind::rival) return "try to open the log again, and read it, while it is open\n";
  if (step.what == log_step::kind::lose_header) return "close the log, overwrite a copy of its header, and reopen it\n";
  std::string lines;
  for (const appender& each : step.appenders) {
    lines += each.how == way::awaited ? "a task appends records of" : "callbacks: append records of";
    for (const std::size_t length : each.records) lines += ' ' + std::to_string(length);
    lines += " bytes";
    if (each.ending == ending::destroyed_at_once) lines += ", destroyed at once";
    if (each.ending == ending::destroyed_later) lines += ", destroyed later";
    lines += '\n';
  }
  if (step.trims != 0) {
    lines += "a task drops " + std::to_string(step.trims) + "/8 of the records";
    lines += step.is_trim_destroyed ? ", destroyed later\n" : "\n";
  }
  if (step.polls) lines += "… a turn of the context\n";
  if (step.end == log_step::finale::destroy_log) lines += "… while the log is destroyed, and reopened\n";
  if (step.end == log_step::finale::destroy_context) lines += "… while the context is destroyed\n";
  return lines;
}

}  // namespace property
