#include "plan.hpp"

#include "random.hpp"

#include <algorithm>
#include <utility>

namespace property {
namespace {

constexpr std::uint64_t page = 4096;

bool is_view(action what) { return what == action::look || what == action::change; }

mode one_mode(random_numbers& random, const surroundings& in, bool direct) {
  if (direct) return mode::direct;
  std::vector<mode> others = in.modes;
  std::erase(others, mode::direct);
  return others[random.below(others.size())];
}

// Always draws, so that the rest of a step is the same where nothing can be shared.
std::size_t one_context(random_numbers& random, const surroundings& in) { return random.below(2) % in.contexts; }

action one_action(random_numbers& random, const surroundings& in, mode by) {
  if (by == mode::mapped && random.one_in(2)) return random.one_of({action::look, action::change});
  if (random.one_in(30) && in.has_writeback) return action::writeback;
  if (random.one_in(15)) return random.one_of({action::allocate, action::discard, action::zero});
  return random.one_in(30) ? action::sync : random.one_of({action::read, action::write});
}

ending one_ending(random_numbers& random, const surroundings& in, const transfer& of) {
  if (of.what == action::resize || of.what > action::zero)
    return random.one_of({ending::canceled_at_once, ending::destroyed_at_once});
  const ending elsewhere = in.threads_stop ? ending::stopped_elsewhere : ending::deadline;
  if (of.how == way::awaited) return random.one_of({ending::deadline, ending::stopped_before, elsewhere});
  return random.one_of({ending::deadline, ending::stopped_before, ending::stopped_later, elsewhere,
                        ending::canceled_at_once, ending::canceled_later, ending::destroyed_at_once,
                        ending::destroyed_later});
}

// [from, to) or a part of it: often one that touches a neighboring range, is small, or consists of whole pages.
void choose_range(random_numbers& random, transfer& of, std::uint64_t from, std::uint64_t to, std::uint64_t unit) {
  if (from == to) {
    of.offset = from;
    return;
  }
  std::uint64_t begin = random.one_in(2) ? from : from + random.below(to - from);
  std::uint64_t end = random.one_in(2) ? to : begin + random.below(to - begin + 1);
  if (random.one_in(3)) end = std::min(end, begin + random.below(2 * page));
  const std::uint64_t grain = random.one_in(3) ? page : unit;
  begin = std::min((begin + grain - 1) / grain * grain, to);
  end = std::max(begin, end / grain * grain);
  of.offset = begin;
  of.bytes = static_cast<std::size_t>(end - begin);
}

std::size_t choose_pieces(random_numbers& random) {
  if (random.one_in(2)) return 0;
  return static_cast<std::size_t>(random.one_in(20) ? 1 + random.below(2000) : 1 + random.below(6));
}

void choose_way(random_numbers& random, transfer& of) {
  if (is_view(of.what) || random.one_in(5)) return;
  if (of.mode == mode::mapped && (of.what == action::resize || of.what == action::allocate || copies(of.what))) return;
  of.how = random.one_of({way::awaited, way::started, way::started});
}

bool may_then_sync(const transfer& of) {
  return of.what == action::write && of.how != way::blocking && !of.batch && !of.durable;
}

// Shortens a direct write to an untorn one, if there is one in its range.
void make_untorn(const qio::atomic_write_limits& limits, transfer& of) {
  if (of.mode != mode::direct || of.what != action::write || of.batch || of.then_sync || limits.largest == 0) return;
  std::uint64_t bytes = limits.largest;
  const auto begin = [&] { return (of.offset + bytes - 1) / bytes * bytes; };
  while (bytes >= limits.smallest && begin() + bytes > of.offset + of.bytes) bytes /= 2;
  if (bytes < limits.smallest) return;
  of.offset = begin();
  of.bytes = static_cast<std::size_t>(bytes);
  of.pieces = 0;
  of.untorn = true;
}

step transfers(random_numbers& random, const surroundings& in) {
  step made;
  const bool direct = in.has(mode::direct) && random.one_in(in.modes.size());
  const std::uint64_t unit = direct ? in.unit : 1;
  const std::size_t count = random.one_in(3) ? 1 : 1 + random.below(8);
  std::vector<std::uint64_t> cuts = {0, in.limit};
  while (cuts.size() <= count) cuts.push_back(random.below(in.limit) / unit * unit);
  std::sort(cuts.begin(), cuts.end());
  const bool undisturbed = random.one_in(2);
  for (std::size_t i = 0; i < count; ++i) {
    transfer each;
    each.mode = one_mode(random, in, direct);
    each.context = one_context(random, in);
    each.what = one_action(random, in, each.mode);
    if (in.asynchronous) choose_way(random, each);
    each.keep_size = each.what == action::allocate;  // nothing but writes may extend the file here
    // Zeros of a part of a page are written to the cache, which direct transfers must not meet.
    choose_range(random, each, cuts[i], cuts[i + 1], direct && is_of_space(each.what) ? page : unit);
    if (!is_view(each.what) && !is_of_space(each.what)) each.pieces = choose_pieces(random);
    each.batch = random.one_in(2) && each.pieces != 0 && (each.what == action::read || each.what == action::write);
    each.kind = random.one_of({qio::sync_kind::data, qio::sync_kind::data_and_size, qio::sync_kind::everything});
    each.durable = random.one_in(8) && each.what == action::write;
    if (random.one_in(8)) each.then_sync = may_then_sync(each);
    if (random.one_in(4)) make_untorn(in.untorn, each);
    const bool may_be_bounced = each.what == action::read    ? each.batch || each.pieces == 0
                                : each.what == action::write ? each.pieces == 0
                                                             : false;
    each.bounced = random.one_in(3) && may_be_bounced && !each.untorn && !each.then_sync;
    if (each.how != way::blocking && !undisturbed && random.one_in(2)) each.ending = one_ending(random, in, each);
    each.patience_us = static_cast<unsigned>(random.below(200));
    made.transfers.push_back(each);
  }
  for (std::size_t i = count; i > 1; --i) std::swap(made.transfers[i - 1], made.transfers[random.below(i)]);
  made.polls = random.one_in(2);
  return made;
}

// context.run() must not wait for an operation whose file is closed or whose context is destroyed.
void choose_finale(random_numbers& random, const surroundings& in, step& of) {
  if (!in.asynchronous || !random.one_in(12)) return;
  of.end = random.one_of({step::finale::close_file, step::finale::destroy_context, step::finale::crash});
  if (of.end == step::finale::crash && !in.crashes) of.end = step::finale::close_file;
  of.mode = of.transfers.front().mode;
  of.context = of.transfers.front().context;
  for (transfer& each : of.transfers) {
    if (each.how == way::awaited) each.how = way::started;
    each.then_sync = false;  // its file must not be destroyed
    // A file that is used through a pool may be closed, but not destroyed.
    if (of.end == step::finale::close_file) each.bounced = false;
  }
}

// What may change the size, or look at the whole file: nothing else is in flight.
step alone(random_numbers& random, const surroundings& in, action what) {
  transfer made;
  made.what = what;
  made.mode = in.modes[random.below(in.modes.size())];
  made.context = one_context(random, in);
  const auto place = [&] {
    const std::uint64_t at = random.below(in.limit + 1);
    return random.one_in(3) || what == action::clone ? at / page * page : at;
  };
  made.offset = place();
  if (what != action::resize) {
    made.from = place() / page / 2 * page;
    made.bytes = static_cast<std::size_t>(place() / 4);
    if (what == action::clone) made.bytes = std::max<std::size_t>(made.bytes / page, 1) * page;
    if (what == action::copy) made.from += random.below(2 * page);
    if (random.one_in(4)) made.bytes = static_cast<std::size_t>(in.limit);  // to the end
    if (what == action::clone && random.one_in(8)) made.offset += 100;
    made.source = one_context(random, in);
    made.keep_size = random.one_in(2);
  }
  if (in.asynchronous) choose_way(random, made);
  if (made.how == way::started && random.one_in(3)) made.ending = one_ending(random, in, made);
  step only;
  only.transfers.push_back(made);
  return only;
}

name_change one_change(random_numbers& random, const surroundings& in) {
  using enum name_change::kind;
  name_change made;
  made.what = random.one_of(
      {replace_file, replace_file, rename, rename, link, remove, give_name, give_name, copy_file, read_file, list});
  made.how = random.one_of({qio::if_exists::fail, qio::if_exists::replace, qio::if_exists::exchange});
  made.from = random.below(side_names.size());
  made.to = random.below(side_names.size());
  made.bytes = static_cast<std::size_t>(random.below(3 * page));
  made.piece = 1 + static_cast<std::size_t>(random.below(2 * page));
  made.block_bytes = random.one_of<std::size_t>({0, page, 2 * page});
  made.streams = random.one_in(2);
  made.durable = random.one_in(24) && made.what != read_file && made.what != list;
  made.asynchronous = in.asynchronous && random.one_in(2);
  return made;
}

step change_names(random_numbers& random, const surroundings& in) {
  step made;
  made.what = step::kind::names;
  made.context = one_context(random, in);
  for (std::uint64_t left = 1 + random.below(8); left != 0; --left) made.changes.push_back(one_change(random, in));
  return made;
}

std::string_view name(way how) {
  constexpr std::string_view names[] = {"blocking", "awaited", "started"};
  return names[static_cast<std::size_t>(how)];
}

// Empty for the first one, which is often the only one.
std::string of_context(std::size_t context) { return context == 0 ? "" : " of the second context"; }

std::string_view name(ending ending) {
  constexpr std::string_view names[] = {"",
                                        "with a deadline",
                                        "stopped before",
                                        "stopped later",
                                        "stopped by another thread",
                                        "canceled at once",
                                        "canceled later",
                                        "destroyed at once",
                                        "destroyed later"};
  return names[static_cast<std::size_t>(ending)];
}

}  // namespace

std::string_view name(mode mode) {
  constexpr std::string_view names[modes] = {"cached", "uncached", "direct", "mapped"};
  return names[static_cast<std::size_t>(mode)];
}

std::string_view name(action action) {
  constexpr std::string_view names[actions] = {"read",      "write",     "sync",     "resize",  "look",
                                               "change",    "writeback", "allocate", "discard", "zero",
                                               "next_data", "clone",     "copy"};
  return names[static_cast<std::size_t>(action)];
}

bool surroundings::has(property::mode mode) const { return std::find(modes.begin(), modes.end(), mode) != modes.end(); }

surroundings surroundings_of(std::uint64_t seed, surroundings possible) {
  random_numbers random(seed, 0);
  possible.limit = page * random.one_of<std::uint64_t>({4, 16, 64, 128});
  // One mode, or any combination.
  if (random.one_in(2)) {
    possible.modes = {possible.modes[random.below(possible.modes.size())]};
  } else {
    const std::vector<mode> all = possible.modes;
    const std::uint64_t chosen = 1 + random.below((std::uint64_t(1) << all.size()) - 1);
    possible.modes.clear();
    for (std::size_t i = 0; i < all.size(); ++i)
      if ((chosen >> i & 1) != 0) possible.modes.push_back(all[i]);
    if (!possible.mapped_shows_direct && possible.has(mode::mapped)) std::erase(possible.modes, mode::direct);
  }
  if (random.one_in(2)) possible.contexts = 1;
  return possible;
}

step make_step(std::uint64_t seed, std::uint64_t number, const surroundings& in) {
  random_numbers random(seed, number + 1);
  const std::uint64_t dice = random.below(100);
  if (dice < 10) return alone(random, in, action::resize);
  if (dice >= 94) {
    using enum action;
    return alone(random, in, random.one_of({allocate, discard, zero, next_data, next_data, clone, clone, copy}));
  }
  if (dice >= 90) return change_names(random, in);
  step made;
  if (dice >= 88 && in.crashes) {
    made.what = step::kind::crash;
    return made;
  }
  if (dice < 13) {
    made.what = dice == 10 ? step::kind::restart : step::kind::reopen;
    made.mode = in.modes[random.below(in.modes.size())];
    made.context = one_context(random, in);
    made.on_all_contexts = random.one_in(2) && in.contexts > 1;
    made.asynchronously = in.asynchronous && random.one_in(2);
    return made;
  }
  made = transfers(random, in);
  choose_finale(random, in, made);
  if (in.asynchronous) {
    made.join = random.one_of({step::joining::all, step::joining::scope, step::joining::each, step::joining::first});
    made.posted = random.one_in(3);
  }
  return made;
}

std::string text(const transfer& transfer) {
  std::string line = std::string(name(transfer.mode)) + ' ' + std::string(name(transfer.what));
  if (transfer.context != 0) line += " on the second context";
  if (transfer.what == action::resize) line += " to " + std::to_string(transfer.offset);
  if (copies(transfer.what))
    line +=
        " from " + std::to_string(transfer.from) + (transfer.source != 0 ? " of the second context's file to" : " to");
  if (transfer.what == action::allocate && transfer.keep_size) line += ", keeping the size,";
  if (transfer.what != action::resize && transfer.what != action::sync)
    line += ' ' + std::to_string(transfer.offset) + " + " + std::to_string(transfer.bytes);
  if (transfer.pieces != 0) line += " in " + std::to_string(transfer.pieces) + " buffers";
  if (transfer.batch) line += ", a batch";
  if (transfer.bounced) line += ", bounced";
  if (transfer.durable) line += ", durable";
  if (transfer.untorn) line += ", untorn";
  if (transfer.then_sync) line += ", then a sync";
  if (!is_view(transfer.what)) line += ", " + std::string(name(transfer.how));
  if (transfer.ending != ending::none) line += ", " + std::string(name(transfer.ending));
  if (transfer.ending == ending::deadline) line += " of " + std::to_string(transfer.patience_us) + " us";
  return line;
}

std::string text(const name_change& change) {
  using enum name_change::kind;
  constexpr std::string_view how[] = {"without replacing", "replacing", "exchanging"};
  const std::string from = side_names[change.from], to = side_names[change.to];
  const std::string end =
      std::string(change.durable ? ", durable" : "") + (change.asynchronous ? ", on a worker\n" : "\n");
  const std::string bytes = std::to_string(change.bytes) + " bytes";
  const std::string stream = " as a stream, by " + std::to_string(change.piece);
  if (change.what == list) return "list the names" + end;
  if (change.what == read_file) return "read " + from + stream + end;
  if (change.what == copy_file) return "copy " + from + " to " + to + end;
  if (change.what == give_name)
    return "give the name " + from + " to a file of " + bytes + ", written" + stream + ", " +
           std::string(how[static_cast<std::size_t>(change.how)]) + end;
  if (change.what == replace_file) return "replace " + from + " by " + bytes + (change.streams ? stream : "") + end;
  if (change.what == remove) return "remove " + from + end;
  if (change.what == link) return "give " + from + " the name " + to + end;
  return "rename " + from + " to " + to + ", " + std::string(how[static_cast<std::size_t>(change.how)]) + end;
}

std::string text(const step& step) {
  if (step.what == step::kind::crash) return "crash\n";
  if (step.what == step::kind::restart) return "close and reopen everything\n";
  if (step.what == step::kind::reopen)
    return "close and reopen the " + std::string(name(step.mode)) + " file" +
           (step.on_all_contexts ? " of both contexts" : of_context(step.context)) +
           (step.asynchronously ? " on a worker\n" : "\n");
  std::string lines;
  for (const name_change& each : step.changes) lines += text(each);
  for (const transfer& each : step.transfers) lines += text(each) + '\n';
  if (step.posted) lines += "… the started ones by posted calls\n";
  if (step.join == step::joining::scope) lines += "… the awaited ones in a task_scope\n";
  if (step.join == step::joining::each) lines += "… the awaited ones in a task_scope, joined one by one\n";
  if (step.join == step::joining::first) lines += "… the awaited ones in when_any\n";
  if (step.end == step::finale::close_file)
    lines += "… while the " + std::string(name(step.mode)) + " file" + of_context(step.context) + " is closed\n";
  if (step.end == step::finale::destroy_context)
    lines += std::string("… while the ") + (step.context == 0 ? "" : "second ") + "context is destroyed\n";
  if (step.end == step::finale::crash) lines += "… in which the disk crashes\n";
  return lines;
}

}  // namespace property
