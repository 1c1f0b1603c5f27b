// SPDX-License-Identifier: BSL-1.0
// How long the operations of contexts take: histograms, and the operations that took longest. An opt-in header.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/latency_bins.hpp>
#include <qio/configuration.hpp>
#include <qio/io_class.hpp>
#include <qio/observer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Any thread counts and reads. Each number is exact; numbers that are read while others count may be of different
/// moments.
class latency_counts {
 public:
  void record(std::uint64_t ns) noexcept {
    bins_[latency_bins::index_of(ns)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(ns, std::memory_order_relaxed);
  }
  std::uint64_t of_bin(std::size_t index) const noexcept { return bins_[index].load(std::memory_order_relaxed); }
  std::uint64_t sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, latency_bins::count> bins_{};
  std::atomic<std::uint64_t> sum_ = 0;  // nanoseconds
};

/// `value` / 10^places as a decimal number, whatever the program's locale, after spaces up to `width`.
inline std::string decimal(std::uint64_t value, unsigned places, std::size_t width = 0) {
  std::string digits = std::to_string(value);
  if (places != 0) {
    if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
    digits.insert(digits.size() - places, 1, '.');
  }
  return digits.size() < width ? std::string(width - digits.size(), ' ') + digits : digits;
}
/// The same of what is a fraction.
inline std::string decimal(double value, unsigned places, std::size_t width = 0) {
  return decimal(static_cast<std::uint64_t>(std::llround(value * std::pow(10.0, places))), places, width);
}

}  // namespace detail

/// A histogram of durations: a value, of 10 KiB. 32 bins of equal width between each power of two of nanoseconds and
/// the next; durations of more than 4.8 hours count as that. Histograms add and subtract without loss. One that was
/// moved from may only be assigned to or destroyed.
class latency_histogram {
 public:
  using duration = std::chrono::nanoseconds;  ///< the unit of its durations

  /// An empty histogram.
  latency_histogram() : bins_(detail::latency_bins::count) {}
  /// The counts so far.
  explicit latency_histogram(const detail::latency_counts& counts) : latency_histogram() {
    for (std::size_t each = 0; each < bins_.size(); ++each) count_ += bins_[each] = counts.of_bin(each);
    sum_ = counts.sum();
  }

  /// How many durations it has.
  std::uint64_t count() const noexcept { return count_; }
  /// Their sum, which is exact. It wraps around after 584 years.
  duration sum() const noexcept { return duration(sum_); }
  /// 0 if it has none.
  duration mean() const noexcept { return duration(count_ == 0 ? 0 : sum_ / count_); }

  /// The bin that a duration was counted in: it was at least `low`, and at most `high`, which is less than 1/32 more.
  struct range {
    duration low{};
    duration high{};
  };

  /// Where the percentile is, such as 99.9: the least duration that is not shorter than so many percent of all. Zero if
  /// there are none. `percent` is from 0 to 100; what is less or more counts as these.
  range percentile(double percent) const noexcept {
    const double share = percent >= 100 ? 1 : percent > 0 ? percent / 100 : 0;
    // 99.9 / 100 is a little more than it should be.
    const double wanted = std::ceil(share * static_cast<double>(count_) * (1 - 1e-12));
    std::uint64_t seen = 0;
    std::size_t last = bins_.size();
    for (std::size_t each = 0; each < bins_.size(); ++each) {
      if (bins_[each] == 0) continue;
      last = each;
      seen += bins_[each];
      if (static_cast<double>(seen) >= wanted) break;
    }
    return last == bins_.size() ? range() : range_of(last);
  }

  /// How many were in bins that end at `limit` or before.
  std::uint64_t count_up_to(duration limit) const noexcept {
    std::uint64_t found = 0;
    for (std::size_t each = 0; each < bins_.size() && range_of(each).high <= limit; ++each) found += bins_[each];
    return found;
  }

  /// `action(range, count)` for each bin that is not empty, from the shortest durations on.
  template <class Action>
  void for_each(Action&& action) const {
    for (std::size_t each = 0; each < bins_.size(); ++each)
      if (bins_[each] != 0) action(range_of(each), bins_[each]);
  }

  /// With what the other has.
  latency_histogram& operator+=(const latency_histogram& other) noexcept {
    for (std::size_t each = 0; each < other.bins_.size(); ++each) bins_[each] += other.bins_[each];
    count_ += other.count_;
    sum_ += other.sum_;
    return *this;
  }
  /// Without what `earlier` has, which was read earlier from the same recorder.
  latency_histogram& operator-=(const latency_histogram& earlier) noexcept {
    for (std::size_t each = 0; each < bins_.size(); ++each) bins_[each] -= earlier.bins_[each];
    count_ -= earlier.count_;
    sum_ -= earlier.sum_;
    return *this;
  }

  /// The percentile distribution in microseconds that HdrHistogram prints (.hgrm), which its plotter reads and qd1
  /// writes. Allocates.
  std::string hgrm() const {
    std::string text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
    const double all = static_cast<double>(count_), average = count_ == 0 ? 0 : static_cast<double>(sum_) / all;
    std::uint64_t seen = 0, largest = 0;
    double squares = 0;
    for_each([&](const range& bin, std::uint64_t count) {
      seen += count;
      largest = static_cast<std::uint64_t>(bin.high.count());
      const double away = static_cast<double>((bin.low + bin.high).count()) / 2 - average;
      squares += static_cast<double>(count) * away * away;
      const double share = static_cast<double>(seen) / all;
      text +=
          detail::decimal(largest, 3, 12) + ' ' + detail::decimal(share, 12, 14) + ' ' + detail::decimal(seen, 0, 10);
      if (seen != count_) text += ' ' + detail::decimal(1 / (1 - share), 2, 14);
      text += '\n';
    });
    const double deviation = count_ == 0 ? 0 : std::sqrt(squares / all);
    text += "#[Mean    = " + detail::decimal(average / 1000, 3, 12) +
            ", StdDeviation   = " + detail::decimal(deviation / 1000, 3, 12) + "]\n" +
            "#[Max     = " + detail::decimal(largest, 3, 12) + ", Total count    = " + detail::decimal(count_, 0, 12) +
            "]\n" + "#[Buckets =           40, SubBuckets     =           32]\n";
    return text;
  }

 private:
  static range range_of(std::size_t index) noexcept {
    using bins = detail::latency_bins;
    const auto at = [](std::uint64_t ns) { return duration(static_cast<duration::rep>(ns)); };
    return {at(bins::lower_end(index)), at(bins::lower_end(index + 1) - 1)};
  }

  std::vector<std::uint64_t> bins_;
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;  // nanoseconds
};

/// What a latency_recorder has counted: a value, of some 250 KiB.
struct latency_statistics {
  /// By operation and path: how long each took, from start to end.
  std::array<std::array<latency_histogram, operation_paths>, operation_kinds> took;
  /// By operation: how long those waited in qio's own queues that had to, for 1 us or longer:
  /// ended_operation::queued().
  std::array<latency_histogram, operation_kinds> queued;
  /// By operation: how many failed, were canceled or timed out. They are in the histograms as well.
  std::array<std::uint64_t, operation_kinds> failed{};

  /// The histogram of one kind and path.
  const latency_histogram& of(operation_kind kind, operation_path path) const noexcept {
    return took[static_cast<std::size_t>(kind)][static_cast<std::size_t>(path)];
  }
  /// The histogram of one kind, all paths together.
  latency_histogram of(operation_kind kind) const {
    latency_histogram all;
    for (const latency_histogram& each : took[static_cast<std::size_t>(kind)]) all += each;
    return all;
  }

  /// Together with those of another recorder.
  latency_statistics& operator+=(const latency_statistics& other) noexcept { return combine<true>(other); }
  /// Since `earlier`, which was read earlier from the same recorder: what happened in between.
  latency_statistics& operator-=(const latency_statistics& earlier) noexcept { return combine<false>(earlier); }

  /// In the text format of Prometheus: histograms `<prefix>_operation_seconds` by `operation` and `path`, and
  /// `<prefix>_queued_seconds` by `operation`, at 24 powers of two from 1 us to 8.4 s (a bin that reaches across one
  /// counts above it), and counters `<prefix>_failed_operations_total`. Operations that never happened are left out.
  /// `labels`, such as `disk="data"`, are added to each line. Allocates.
  std::string prometheus(std::string_view labels = {}, std::string_view prefix = "qio") const {
    std::string out;
    const std::string own = labels.empty() ? std::string() : ',' + std::string(labels);
    const std::string metric = std::string(prefix) + "_operation_seconds",
                      queue = std::string(prefix) + "_queued_seconds",
                      failures = std::string(prefix) + "_failed_operations_total";
    out += "# HELP " + metric + " Latency of operations.\n# TYPE " + metric + " histogram\n";
    for (std::size_t kind = 0; kind < operation_kinds; ++kind)
      for (std::size_t path = 0; path < operation_paths; ++path)
        add(out, metric, took[kind][path],
            label_of(kind) + ",path=\"" + std::string(name_of(static_cast<operation_path>(path))) + '"' + own);
    out += "# HELP " + queue + " Time of operations in the library's queues.\n# TYPE " + queue + " histogram\n";
    for (std::size_t kind = 0; kind < operation_kinds; ++kind) add(out, queue, queued[kind], label_of(kind) + own);
    out += "# HELP " + failures + " Operations that failed or were canceled.\n# TYPE " + failures + " counter\n";
    for (std::size_t kind = 0; kind < operation_kinds; ++kind)
      if (of(static_cast<operation_kind>(kind)).count() != 0)
        out += failures + '{' + label_of(kind) + own + "} " + std::to_string(failed[kind]) + '\n';
    return out;
  }

 private:
  template <bool adds>
  latency_statistics& combine(const latency_statistics& other) noexcept {
    const auto one = [](auto& own, const auto& others) { adds ? own += others : own -= others; };
    for (std::size_t kind = 0; kind < operation_kinds; ++kind) {
      for (std::size_t path = 0; path < operation_paths; ++path) one(took[kind][path], other.took[kind][path]);
      one(queued[kind], other.queued[kind]);
      one(failed[kind], other.failed[kind]);
    }
    return *this;
  }

  static std::string label_of(std::size_t kind) {
    return "operation=\"" + std::string(name_of(static_cast<operation_kind>(kind))) + '"';
  }

  static void add(std::string& out, const std::string& metric, const latency_histogram& from,
                  const std::string& labels) {
    if (from.count() == 0) return;
    for (unsigned power = 0; power < 24; ++power) {
      const std::chrono::microseconds limit(std::int64_t(1) << power);
      out += metric + "_bucket{" + labels + ",le=\"" + detail::decimal(static_cast<std::uint64_t>(limit.count()), 6) +
             "\"} " + std::to_string(from.count_up_to(limit)) + '\n';
    }
    out += metric + "_bucket{" + labels + ",le=\"+Inf\"} " + std::to_string(from.count()) + '\n';
    out += metric + "_sum{" + labels + "} " + detail::decimal(static_cast<std::uint64_t>(from.sum().count()), 9) + '\n';
    out += metric + "_count{" + labels + "} " + std::to_string(from.count()) + '\n';
  }
};

/// An operation that took long: see ended_operation for what the members mean.
struct slow_operation {
  operation_kind kind{};                        ///< what it was
  operation_path path{};                        ///< what served it
  std::string file;                             ///< at most the last 255 bytes of its path
  std::uint64_t offset = 0;                     ///< of a transfer
  std::size_t bytes = 0;                        ///< that it was to move
  std::size_t transferred = 0;                  ///< that it has moved
  std::chrono::nanoseconds took{};              ///< from start to end
  std::chrono::nanoseconds queued{};            ///< of that, in qio's own queues
  std::error_code failure;                      ///< none if it succeeded
  std::chrono::system_clock::time_point ended;  ///< by the clock of the wall, also in a simulation

  /// "read of 4096 bytes at 8192 of data.bin took 12.345 ms, 0.100 ms of it in queues, by the ring". Allocates.
  std::string message() const {
    const auto milliseconds = [](std::chrono::nanoseconds time) {
      return detail::decimal(static_cast<std::uint64_t>(time.count()) / 1000, 3) + " ms";
    };
    std::string text(name_of(kind));
    for (char& each : text)
      if (each == '_') each = ' ';
    if (bytes != 0) text += " of " + std::to_string(bytes) + " bytes at " + std::to_string(offset);
    if (!file.empty()) text += " of " + detail::printable(file);
    text += " took " + milliseconds(took);
    if (queued.count() != 0) text += ", " + milliseconds(queued) + " of it in queues";
    text += path == operation_path::inlined ? ", inline"
            : path == operation_path::ring  ? ", by the ring"
                                            : ", by a worker";
    if (failure) text += ", and failed: " + failure.message();
    return text;
  }
};

/// Options of a latency_recorder.
struct latency_recorder_options {
  /// An operation that takes at least as long is slow. Zero: none is.
  std::chrono::nanoseconds slow{};
  /// Called for each slow operation, on the thread of its context, whose operations wait meanwhile. It must not throw,
  /// and must not use the context. If several contexts have the recorder, several threads call it.
  std::function<void(const slow_operation&)> on_slow = {};
  /// Counts only the operations of this class. None: all.
  qio::io_class io_class = {};
};

/// Counts how long the operations of contexts take, by operation and by what served them, and keeps the last 64 slow
/// ones.
///
///     qio::latency_recorder latencies({.slow = 10ms});
///     auto context = qio::context::create({.observer = &latencies}).value();
///     ...
///     std::fputs(latencies.statistics().prometheus().c_str(), stdout);  // on any thread
///
/// One recorder for each context is cheapest, since the counters of one that several contexts have move between the
/// caches of their threads; add their statistics. What it counts, from when to when, is written at ended_operation.
/// Not counted: blocking operations, opens and closes on the context's thread, waits for locks, and what never started.
/// An operation that is destroyed in flight counts as canceled. Reads and writes of bounced(), streams and logs count
/// as the transfers that are made for them.
///
/// Counting an operation takes no lock and allocates nothing, but one clock reading for each, and one for each turn
/// (docs/operate.md has the cost). A slow one takes a lock. The constructor allocates some 260 KiB, and throws
/// std::bad_alloc.
class latency_recorder final : public operation_observer {
 public:
  /// Has counted nothing.
  explicit latency_recorder(latency_recorder_options options = {})
      : slow_(options.slow > std::chrono::nanoseconds(0) ? options.slow : (std::chrono::nanoseconds::max)()),
        on_slow_(std::move(options.on_slow)),
        class_(options.io_class),
        counts_(std::make_unique<counts>()),
        kept_(most_kept) {
    for (slow_operation& each : kept_) each.file.reserve(longest_path);
  }

  /// Counts it. Called by the context.
  void ended(const ended_operation& what) noexcept override {
    if (class_.exists() && !what.is_of(class_)) [[unlikely]]
      return;
    const std::chrono::nanoseconds took = what.took();
    const auto kind = static_cast<std::size_t>(what.kind()), path = static_cast<std::size_t>(what.path());
    counts_->took[kind][path].record(static_cast<std::uint64_t>(took.count()));
    if (took >= slow_ || what.queued() != clock::duration::zero() || what.failure().exists()) [[unlikely]]
      note_more(what);
  }

  /// What was counted so far. Any thread. Allocates some 500 KiB, half of which it frees again.
  latency_statistics statistics() const {
    latency_statistics out;
    for (std::size_t kind = 0; kind < operation_kinds; ++kind) {
      for (std::size_t path = 0; path < operation_paths; ++path)
        out.took[kind][path] = latency_histogram(counts_->took[kind][path]);
      out.queued[kind] = latency_histogram(counts_->queued[kind]);
      out.failed[kind] = counts_->failed[kind].load(std::memory_order_relaxed);
    }
    return out;
  }

  /// How many operations were slow.
  std::uint64_t slow_count() const noexcept {
    const std::lock_guard lock(mutex_);
    return slow_count_;
  }
  /// The last slow operations, at most 64, the oldest first. Any thread. Allocates.
  std::vector<slow_operation> slow_operations() const {
    const std::lock_guard lock(mutex_);
    std::vector<slow_operation> out;
    const std::uint64_t first = slow_count_ - detail::lesser_of<std::uint64_t>(slow_count_, most_kept);
    for (std::uint64_t each = first; each != slow_count_; ++each) out.push_back(kept_[each % most_kept]);
    return out;
  }

 private:
  static constexpr std::size_t most_kept = 64, longest_path = 255;

  struct counts {
    std::array<std::array<detail::latency_counts, operation_paths>, operation_kinds> took;
    std::array<detail::latency_counts, operation_kinds> queued;
    std::array<std::atomic<std::uint64_t>, operation_kinds> failed{};
  };

  using clock = ended_operation::clock;

  QIO_COLD void note_more(const ended_operation& what) noexcept {
    const auto kind = static_cast<std::size_t>(what.kind());
    if (const std::chrono::nanoseconds queued = what.queued(); queued.count() != 0)
      counts_->queued[kind].record(static_cast<std::uint64_t>(queued.count()));
    if (what.failure().exists()) counts_->failed[kind].fetch_add(1, std::memory_order_relaxed);
    if (what.took() >= slow_) note_slow(what);
  }

  void note_slow(const ended_operation& what) noexcept {
    slow_operation now{.kind = what.kind(),
                       .path = what.path(),
                       .file = {},
                       .offset = what.offset(),
                       .bytes = what.bytes(),
                       .transferred = what.transferred(),
                       .took = what.took(),
                       .queued = what.queued(),
                       .failure = what.failure().code(),
                       .ended = std::chrono::system_clock::now()};
    std::string_view path = what.file();
    path.remove_prefix(path.size() - detail::lesser_of(path.size(), longest_path));
    {
      const std::lock_guard lock(mutex_);
      slow_operation& kept = kept_[slow_count_++ % most_kept];
      std::string file = std::move(kept.file);  // which has room
      file = path;
      kept = now;
      kept.file = std::move(file);
    }
    if (!on_slow_) return;
    detail::succeeds([&] { now.file = path; });  // without memory, it has none
    on_slow_(now);
  }

  const std::chrono::nanoseconds slow_;
  const std::function<void(const slow_operation&)> on_slow_;
  const io_class class_;
  const std::unique_ptr<counts> counts_;
  mutable std::mutex mutex_;  // guards what follows
  std::uint64_t slow_count_ = 0;
  std::vector<slow_operation> kept_;
};

QIO_END_NAMESPACE
