// SPDX-License-Identifier: BSL-1.0
// The history of contexts as a trace: which operations were in flight when, for a person to look at. An opt-in header.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/latencies.hpp>
#include <qio/observer.hpp>
#include <qio/traced_operation.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <queue>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

/// Keeps the last operations of contexts, and writes them as a trace that https://ui.perfetto.dev and chrome://tracing
/// open:
///
///     qio::trace_recorder trace(100'000);
///     auto context = qio::context::create({.observer = &trace}).value();
///     ...
///     write_file("trace.json", trace.json());
///
/// What it hears of, and what the times mean, is written at ended_operation and latency_recorder. Keeping an operation
/// takes a lock, and may allocate for the path of its file. Any thread may call the members.
class trace_recorder final : public operation_observer {
 public:
  /// Keeps the last `most` operations, for which it allocates some 100 bytes each, besides their paths.
  explicit trace_recorder(std::size_t most = 65536) : kept_(most) {}

  /// Keeps it. Called by the context.
  void ended(const ended_operation& what) noexcept override {
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) return;
    traced_operation& one = kept_[static_cast<std::size_t>(count_++ % kept_.size())];
    std::string file = std::move(one.file);
    if (!detail::succeeds([&] { file = what.file(); })) file.clear();
    one = {what.kind(),        what.path(),    std::move(file), what.offset(), what.bytes(),
           what.transferred(), what.started(), what.took(),     what.queued(), what.failure().code()};
  }

  /// How many operations have ended, of which the last ones are kept.
  std::uint64_t count() const noexcept {
    const std::lock_guard lock(mutex_);
    return count_;
  }

  /// The operations that are kept, in the order in which they ended, without those that later ones replaced meanwhile.
  /// Allocates. A context whose operation ends meanwhile waits until at most 256 are copied.
  std::vector<traced_operation> operations() const {
    std::vector<traced_operation> all;
    const std::uint64_t end = count();
    all.reserve(static_cast<std::size_t>(detail::lesser_of<std::uint64_t>(end, kept_.size())));
    for (std::uint64_t next = 0; next != end;) {
      const std::lock_guard lock(mutex_);
      next = detail::greater_of(next, count_ - detail::lesser_of<std::uint64_t>(count_, kept_.size()));
      if (next >= end) break;
      for (unsigned i = 0; i < 256 && next != end; ++i, ++next)
        all.push_back(kept_[static_cast<std::size_t>(next % kept_.size())]);
    }
    return all;
  }

  /// The same in the trace event format of Chrome, which is JSON. Operations that overlap are in different rows, so a
  /// row is no thread: the number of rows is how many were in flight at a time. Times are in microseconds since the
  /// first start. Allocates.
  std::string json() const {
    std::vector<traced_operation> all = operations();
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.started < b.started; });
    // The end of the last operation of each row, and its number; the earliest end first.
    using row_end = std::pair<std::chrono::steady_clock::time_point, std::size_t>;
    std::priority_queue<row_end, std::vector<row_end>, std::greater<>> rows;
    std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    const char* separator = "\n";
    for (const traced_operation& each : all) {
      std::size_t number = rows.size();
      if (!rows.empty() && rows.top().first <= each.started) {
        number = rows.top().second;
        rows.pop();
      }
      rows.emplace(each.started + each.took, number);
      out += separator + event(each, all.front().started, number);
      separator = ",\n";
    }
    return out + "\n]}\n";
  }

 private:
  static std::string event(const traced_operation& of, std::chrono::steady_clock::time_point begin, std::size_t row) {
    const auto microseconds = [](std::chrono::nanoseconds time) {
      return detail::decimal(static_cast<std::uint64_t>(time.count()), 3);
    };
    std::string out = "{\"name\":\"" + std::string(name_of(of.kind)) + "\",\"cat\":\"" + std::string(name_of(of.path)) +
                      "\",\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(row + 1) +
                      ",\"ts\":" + microseconds(of.started - begin) + ",\"dur\":" + microseconds(of.took) +
                      ",\"args\":{\"file\":" + quoted(of.file) + ",\"offset\":" + std::to_string(of.offset) +
                      ",\"bytes\":" + std::to_string(of.bytes) + ",\"transferred\":" + std::to_string(of.transferred) +
                      ",\"queued_us\":" + microseconds(of.queued);
    if (of.failure) out += ",\"failure\":" + quoted(of.failure.message());
    return out + "}}";
  }

  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char each : detail::printable(text)) {
      if (each == '"' || each == '\\') out += '\\';
      out += each;
    }
    return out + '"';
  }

  mutable std::mutex mutex_;
  std::vector<traced_operation> kept_;
  std::uint64_t count_ = 0;
};

QIO_END_NAMESPACE
