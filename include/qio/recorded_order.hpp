// SPDX-License-Identifier: BSL-1.0
// The order in which the operations of a context have ended, to be repeated on a simulated disk. An opt-in header.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/observer.hpp>
#include <qio/traced_operation.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

/// Repeats the completions of a context, as a trace_recorder has kept them, on a simulated disk:
///
///     qio::recorded_order order(trace.operations());
///     qio::simulated_disk disk;
///     disk.repeat(order);
///     auto context = qio::basic_context<qio::simulated>::create({.disk = &disk}).value();
///     run_the_same_program(context);
///     if (!order.is_repeated()) report(order.difference());
///
/// An asynchronous operation then ends when the recorded one with the same kind, file, offset and length has ended, at
/// once if that was served inline; of several, the first that is started is the first that was. An error is the
/// recorded one, after the bytes that were recorded; a call that has failed is not made. Anything else has its real
/// result, so the files should have their former contents, and the disk no faults of its own. Each turn of the context
/// has one completion. Blocking operations take no time. Operations that are not in the recording end at once.
///
/// So a program that depends on nothing but the results and the order of its operations does the same again. Some
/// things are not recorded: what other threads post, and where a context let others go on between operations that it
/// served inline, or what it opened and closed inline (context_options::inline_work, if it is `never`, serves nothing
/// so). Timers expire by the recorded times, roughly: not in the same order for certain. Record one context, without an
/// io_scheduler, from its first operation on, with a trace_recorder that keeps all.
///
/// A value for one thread and one disk, that lives as long as the contexts on it. Allocates.
class recorded_order {
 public:
  /// Repeats `operations`, which are in the order in which they have ended.
  explicit recorded_order(std::vector<traced_operation> operations) : all_(std::move(operations)) {
    std::vector<std::size_t> by_start(all_.size());
    for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    std::ranges::stable_sort(by_start, {}, [&](std::size_t i) { return all_[i].started; });
    for (const std::size_t each : by_start) to_start_[key_of(all_[each])].push_back(each);
    if (!all_.empty()) first_start_ = all_[by_start.front()].started;
  }

  /// How many operations have ended as recorded, and in the recorded order.
  std::size_t repeated() const noexcept { return repeated_; }
  /// Whether all of the recording has been repeated, and nothing else has happened.
  bool is_repeated() const noexcept { return repeated_ == all_.size() && difference_.empty(); }
  /// What was the first difference, for people; empty if there was none so far.
  const std::string& difference() const noexcept { return difference_; }

 private:
  friend class simulated;

  using clock = detail::clock;
  using key = std::tuple<operation_kind, std::string, std::uint64_t, std::size_t>;

  static key key_of(const traced_operation& of) { return {of.kind, of.file, of.offset, of.bytes}; }
  static key key_of(const ended_operation& of) { return {of.kind(), std::string(of.file()), of.offset(), of.bytes()}; }
  bool has(std::size_t number) const noexcept { return number < all_.size(); }

  // --- for the engine ---

  // Which of the recorded operations has been started: its number, which no recorded one has if there is none.
  std::size_t start(const ended_operation& what, clock::time_point now) {
    const key made = key_of(what);
    const auto found = begin(made, now);
    if (found == to_start_.end()) {
      differ(text_of(made) + " is not in the recording");
      return all_.size() + others_++;
    }
    return next_of(found);
  }
  // The same if it was served inline. Otherwise nothing is started, and the number is one that no recorded one has.
  std::size_t start_inline(const ended_operation& what, clock::time_point now) {
    const auto found = begin(key_of(what), now);
    const bool is_inline = found != to_start_.end() && all_[found->second.front()].path == operation_path::inlined;
    return is_inline ? next_of(found) : all_.size();
  }
  // When it is to end, by the clock of the disk.
  clock::time_point end_of(std::size_t number, clock::time_point now) const {
    if (!has(number)) return now;
    return since_ + (all_[number].started + all_[number].took - first_start_);
  }
  std::error_code failure_of(std::size_t number) const noexcept {
    return has(number) ? all_[number].failure : std::error_code();
  }
  std::size_t transferred_by(std::size_t number) const noexcept { return all_[number].transferred; }

  void end(std::size_t number, const ended_operation& as) {
    if (!has(number)) return;
    const traced_operation& recorded = all_[number];
    const std::string what = "operation " + std::to_string(number + 1) + ", " + text_of(key_of(recorded)) + ",";
    // A context learns at the same time that several have ended. What the first one starts may be served inline before
    // the context turns to the next one, though it is behind that in the recording.
    const bool is_inline = recorded.path == operation_path::inlined;
    while (next_ < number && all_[next_].path == operation_path::inlined) ++next_;
    if (is_inline && as.path() != operation_path::inlined)
      differ(what + " was served inline");
    else if (!is_inline && number != next_)
      differ(what + " ended when operation " + std::to_string(next_ + 1) + " was to end");
    else if (as.transferred() != recorded.transferred)
      differ(what + " has moved " + std::to_string(as.transferred()) + " bytes instead of " +
             std::to_string(recorded.transferred));
    else if (as.failure().code() != recorded.failure)
      differ(what + " has ended with " + text_of(as.failure().code()) + " instead of " + text_of(recorded.failure));
    else
      ++repeated_;
    if (!is_inline) next_ = number + 1;
  }

  using starts = std::map<key, std::deque<std::size_t>>;
  // Those that are still to start; the end if there are none.
  starts::iterator begin(const key& of, clock::time_point now) {
    if (!has_begun_) since_ = now;
    has_begun_ = true;
    const auto found = to_start_.find(of);
    return found != to_start_.end() && found->second.empty() ? to_start_.end() : found;
  }
  static std::size_t next_of(starts::iterator where) {
    const std::size_t number = where->second.front();
    where->second.pop_front();
    return number;
  }
  void differ(std::string how) {
    if (difference_.empty()) difference_ = std::move(how);
  }
  static std::string text_of(const key& of) {
    const auto& [kind, file, offset, bytes] = of;
    std::string text = "a " + std::string(name_of(kind));
    std::ranges::replace(text, '_', ' ');
    if (kind == operation_kind::read || kind == operation_kind::write || kind == operation_kind::durable_write)
      text += " of " + std::to_string(bytes) + " bytes at " + std::to_string(offset);
    return file.empty() ? text : text + " of " + detail::printable(file);
  }
  static std::string text_of(std::error_code code) { return code ? "\"" + code.message() + '"' : "success"; }

  std::vector<traced_operation> all_;
  starts to_start_;  // numbers of the recorded ones, by their start
  clock::time_point first_start_{};
  clock::time_point since_{};  // the same on the clock of the disk
  bool has_begun_ = false;
  std::size_t next_ = 0;    // to end, of those that were not served inline
  std::size_t others_ = 0;  // that have been started
  std::size_t repeated_ = 0;
  std::string difference_;
};

QIO_END_NAMESPACE
