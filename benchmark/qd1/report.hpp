// SPDX-License-Identifier: BSL-1.0
// What a run found out: plain data, filled by the measuring parts, printed by the table, JSON, .hgrm and HTML writers.
// Latencies are in nanoseconds.
#pragma once

#include "enumerators.hpp"
#include "machine/advice.hpp"
#include "machine/counters.hpp"
#include "machine/facts.hpp"
#include "modes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

enum class operation : std::uint8_t { read, write };
template <>
struct enumerators<operation> {
  static constexpr std::string_view names[] = {"read", "write"};
};

enum class form : std::uint8_t { blocking, asynchronous };
template <>
struct enumerators<form> {
  static constexpr std::string_view names[] = {"blocking", "asynchronous"};
};

/// Whether the pages were in memory before a read.
enum class temperature : std::uint8_t { warm, cold };
template <>
struct enumerators<temperature> {
  static constexpr std::string_view names[] = {"warm", "cold"};
};

/// The hint that the system gets about the order of reads (qio::access_pattern).
enum class advice : std::uint8_t { normal, random, sequential };
template <>
struct enumerators<advice> {
  static constexpr std::string_view names[] = {"normal", "random", "sequential"};
};

/// When a write is complete: accepted by the page cache or the device, written through (O_DSYNC), or flushed by a sync
/// after it.
enum class durability : std::uint8_t { accepted, written_through, flushed };
template <>
struct enumerators<durability> {
  static constexpr std::string_view names[] = {"accepted", "written through", "flushed"};
};

/// In which order offsets come.
enum class order : std::uint8_t { random, sequential, zipf };
template <>
struct enumerators<order> {
  static constexpr std::string_view names[] = {"random", "sequential", "zipf"};
};

/// How much is in flight at once, by whom, and where.
struct load {
  std::uint64_t workers = 1;          ///< threads for each target, each with a context of its own
  std::uint64_t depth = 1;            ///< transfers that each of them keeps in flight
  std::uint64_t targets = 1;          ///< files or devices that are used at once
  std::optional<std::uint64_t> only;  ///< of the targets given, the one that is used alone, counted from 0
  qd1::order order = order::random;
  std::optional<double> theta = {};  ///< of the order zipf: see measure/zipf.hpp
  double share = 1;  ///< fraction of the operations in this series; the others are in flight at the same time

  std::uint64_t in_flight() const { return workers * depth * targets; }
  /// One transfer at a time, in any order.
  bool is_single() const {
    load other = *this;
    other.order = qd1::order::random;
    other.theta.reset();
    return other == load();
  }
  friend bool operator==(const load&, const load&) = default;
};

/// What one series measures. Two series are comparable if these agree.
struct work {
  qd1::mode mode = mode::direct;
  qd1::operation operation = operation::read;
  qd1::form form = form::blocking;
  qd1::temperature temperature = temperature::warm;   ///< of reads that are not direct
  qd1::advice advice = advice::normal;                ///< of reads that are not direct
  qd1::durability durability = durability::accepted;  ///< of writes
  std::uint64_t block = 4096;                         ///< bytes a transfer
  std::uint64_t working_set = 0;                      ///< bytes from which the offsets are chosen
  std::optional<double> rate;                         ///< open loop: operations a second; else closed loop
  bool poisson = false;                               ///< open loop: intervals distributed exponentially
  /// Bytes that were left for the pages of the file and this process; none: memory was not made short (qd1 memory).
  std::optional<std::uint64_t> memory;
  qd1::load load;

  friend bool operator==(const work&, const work&) = default;
};

/// A 95 % confidence interval.
struct interval {
  double low = 0;
  double high = 0;
};

/// What a 95 % interval covers.
enum class scope : std::uint8_t {
  within_run,   ///< what this run would have measured if it had continued under the same conditions
  between_runs  ///< what another run of the same thing measures on average
};
template <>
struct enumerators<scope> {
  static constexpr std::string_view names[] = {"within this run", "between runs"};
};

/// A figure, and how far it can be trusted.
struct estimate {
  double value = 0;
  std::optional<qd1::interval> interval = {};  ///< none: too little is known to say
  qd1::scope scope = qd1::scope::within_run;
  std::string withheld = {};  ///< why there is no interval, where one is usual; empty: there is one
};

/// A percentile is printed only if there are samples enough for a two-sided interval, were they independent.
struct percentile {
  double fraction = 0;               ///< 0.99 for p99
  std::uint64_t samples_needed = 0;  ///< for the figure
  std::optional<estimate> value;     ///< ns; none: too few samples
};

/// Samples of nearly the same latency: each is within 0.1 % of `ns`.
struct bin {
  double ns = 0;
  std::uint64_t count = 0;
};

/// A distribution of latencies. `min` and `max` are exact, not those of bins. Mean and percentiles are those of all
/// samples together; of repeated runs, geometric means over the runs.
struct latency {
  std::uint64_t samples = 0;
  double min = 0;
  double max = 0;
  estimate mean;
  std::vector<percentile> percentiles;  ///< p50, p95, p99, p99.9, p99.999
  std::vector<bin> bins;                ///< ascending, none empty
  /// For each bin, part of the samples in it and below, of repeated runs with the same weight. Empty: as `bins` count.
  std::vector<double> shares = {};
};

/// A part of the time of a series, to show how it changed.
struct slice {
  double start = 0;    ///< seconds of the series that had been measured before
  double seconds = 0;  ///< its length
  std::uint64_t operations = 0;
  double mean = 0;  ///< ns
  double max = 0;   ///< ns
  // Where the slices are long enough: qd1 depth.
  std::optional<double> p50 = {}, p99 = {};  ///< ns
  // At the slice's end, where the system reports it.
  std::optional<std::uint64_t> cached_pages = {};  ///< of the targets
  std::optional<std::uint64_t> dirty_bytes =
      {};  ///< with what is being written back; of the machine, or of the control group that makes memory short
  std::optional<std::uint64_t> device_in_flight = {};  ///< operations that the devices have not completed
};

/// What else ran while a round was measured, where the system reports it.
struct disturbance {
  std::optional<double> waited;                ///< part of the time that the measuring thread waited for a processor
  std::optional<double> others;                ///< processors that other processes and the kernel kept busy, on average
  std::optional<double> stolen;                ///< part of all processors' time that went to other guests of the host
  std::optional<std::uint64_t> throttled;      ///< how often processors were slowed, for heat
  std::optional<std::uint64_t> frequency_mhz;  ///< of a processor, where frequencies are managed, at the round's end
  std::optional<std::uint64_t> stops = {};     ///< how often this process was stopped and continued
};

/// A percentile of a round. Its uncertainty is how the rounds differ.
struct round_percentile {
  double fraction = 0;
  double ns = 0;
};

/// A part of a series. A run cycles through its series, and opens the file again for each round, so rounds of one
/// series differ by what the host, the device and chance did over the whole time of the run.
struct round {
  double start = 0;                        ///< seconds since the run began to measure
  std::optional<std::uint64_t> processor;  ///< on which it began, by the system's number
  double seconds = 0;                      ///< that were measured
  std::uint64_t samples = 0;
  double mean = 0;                          ///< ns
  std::vector<round_percentile> quantiles;  ///< those of the percentiles for which it has samples enough
  qd1::disturbance disturbance;
};

/// What a context's thread did while something due waited for it: as qio::stall_cause. `unknown`: before the measured
/// part, something had waited longer.
enum class stall_cause : std::uint8_t { none, program, reading, writing, opening, closing, submitting, unknown };
template <>
struct enumerators<stall_cause> {
  static constexpr std::string_view names[] = {"none",    "program", "reading",    "writing",
                                               "opening", "closing", "submitting", "unknown"};
};

/// How long what was due had to wait for a context's thread in the measured part: see qio::stall_statistics.
struct loop_stall {
  double longest = 0;  ///< ns; nothing waited longer
  stall_cause cause = stall_cause::none;
  std::uint64_t late_turns = 0;  ///< turns that found something due which had waited for 1 ms (1,024 us) or longer

  friend bool operator==(const loop_stall&, const loop_stall&) = default;
};

/// The longest of both, and the turns of both.
inline void add_stall(std::optional<loop_stall>& to, const std::optional<loop_stall>& more) {
  if (!more) return;
  if (!to) to.emplace();
  to->late_turns += more->late_turns;
  if (more->longest <= to->longest) return;
  to->longest = more->longest;
  to->cause = more->cause;
}

/// What actually carried out the operations.
struct service {
  std::string engine;           ///< "io_uring", "aio", "pool", or of blocking calls "system calls", "memory copies"
  std::string reason;           ///< why not the engine that was requested
  std::uint64_t by_call = 0;    ///< blocking calls
  std::uint64_t by_inline = 0;  ///< asynchronous, served at once by an attempt that cannot wait
  std::uint64_t by_ring = 0;    ///< by io_uring or Linux AIO, through a completion port
  std::uint64_t by_worker = 0;  ///< by blocking calls on threads of the context
  /// Requested and available ("polled", "in registered memory"), to at least some of the workers.
  std::vector<std::string> features = {};
  /// Requested and unavailable, with the reason: "polled: the device has no queue that can be polled".
  std::vector<std::string> lacking = {};
  std::optional<qd1::loop_stall> stall = {};  ///< of the contexts; none: there were none
};

/// Whether `by_ring` counts what Linux AIO carried out.
inline bool is_by_linux_aio(const service& service) { return service.engine == "aio"; }

/// "io_uring", "io_uring, polled, in registered memory"
inline std::string engine_text(const service& service) {
  std::string text = service.engine;
  for (const std::string& each : service.features) text += ", " + each;
  return text;
}

/// Whether direct was direct, according to the device and the page cache.
struct verification {
  enum class verdict : std::uint8_t { not_applicable, verified, refuted, unknown };
  verdict result = verdict::not_applicable;
  std::string text;  ///< "VERIFIED direct: device ops 1,000,012 / app 1,000,000; pages cached 0 -> 0", or why not
  std::optional<std::uint64_t> device_operations;
  std::uint64_t merged_operations = 0;  ///< that the kernel merged with a neighbor before the device got it
  std::uint64_t application_operations = 0;
  std::optional<std::uint64_t> fetched_bytes = {};  ///< that were read from devices for this process
  std::optional<std::uint64_t> cached_pages_before;
  std::optional<std::uint64_t> cached_pages_after;
};

template <>
struct enumerators<verification::verdict> {
  static constexpr std::string_view names[] = {"not applicable", "verified", "refuted", "unknown"};
};

/// What bound transfers while memory was short: qd1 memory.
enum class bound : std::uint8_t {
  unknown,
  by_nothing,      ///< the device did nearly nothing
  by_latency,      ///< it mostly slept until the device was done, one transfer after the other
  by_dirty_limit,  ///< writers were made to wait, because too much was dirty
  by_reclaim,      ///< allocations waited until other pages had been written back
  by_processor     ///< it mostly computed
};

template <>
struct enumerators<bound> {
  static constexpr std::string_view names[] = {"unknown",          "served from memory",
                                               "latency bound",    "throttled by the dirty limit",
                                               "waits for memory", "CPU bound"};
};

/// What memory was like while a series ran: qd1 memory.
struct shortage {
  std::string how;                          ///< memory was made short: "control group limit of 256 MiB"
  std::optional<std::uint64_t> dirty_most;  ///< bytes at the ends of the seconds, with what is being written back
  /// Bytes; above the middle between the two, the kernel makes writers wait.
  std::optional<std::uint64_t> dirty_limit, dirty_background_limit;
  std::string dirty_limit_source;           ///< "20% of the machine's available memory"
  std::optional<std::uint64_t> limit_hits;  ///< how often the control group was full, and had to evict pages
  qd1::bound bound = bound::unknown;
};

/// What one of several runs contributed to a series that is of all of them.
struct contribution {
  std::string name;  ///< of its report, or "run 2"
  std::uint64_t samples = 0;
  double iops = 0;
  std::optional<double> p50, p99;  ///< ns
  double max = 0;                  ///< ns
  std::string straggles;           ///< the figures in which it lags behind the others; empty: none
  // Of repeated runs, the figures by which the runs are compared.
  std::optional<std::uint64_t> seed = {};
  std::optional<estimate> mean = {};         ///< ns
  std::vector<percentile> percentiles = {};  ///< the intervals are within the run
  std::optional<double> cpu_ns = {}, cycles = {}, batched_ns = {};
};

/// A figure by its name, such as "iops", with its interval.
struct named_estimate {
  std::string figure;
  estimate value;
};

/// What pairs of runs decided (qd1 run --detect).
enum class detected : std::uint8_t { none, faster, slower, undecided };
template <>
struct enumerators<detected> {
  static constexpr std::string_view names[] = {"no difference", "FASTER", "SLOWER", "undecided"};
};

/// Two runs of the same work that were made one after the other, in an order that chance decided.
struct run_pair {
  double base = 0;  ///< median [ns]
  double now = 0;
  bool base_first = true;

  friend bool operator==(const run_pair&, const run_pair&) = default;
};

/// Whether two targets, or two modes, differ in some work: pairs of runs were made until that was decided.
struct detection {
  qd1::work work;    ///< of the first of the two
  std::string base;  ///< "a/data", "direct"
  std::string now;
  double effect = 0;  ///< the difference to be found: 0.02
  double error = 0;   ///< how often the interval may miss the ratio
  detected verdict = detected::undecided;
  estimate ratio;  ///< of the medians, now / base
  std::vector<run_pair> pairs;
  double seconds = 0;                   ///< from the first pair to the last
  std::string not_decidable = {};       ///< why there can be no verdict; empty: there can
  std::vector<std::string> notes = {};  ///< on a second target, whose series is not in the report
};

/// The work, and its results.
struct series {
  qd1::work work;
  std::string not_available;         ///< why this could not be run here; empty: it was
  std::vector<std::string> invalid;  ///< why its figures must not be believed; empty: they may
  std::vector<std::string> notes;    ///< other remarks
  bool complete = true;              ///< false: interrupted
  qd1::service service;
  qd1::latency latency;       ///< of all rounds together
  std::vector<round> rounds;  ///< in the order of time
  std::string turns;          ///< the file by which they took turns with those of other runs; empty: they did not
  std::optional<double> began = {};  ///< of those that took turns: where their rounds count from, in s since 1970
  double seconds = 0;                ///< wall clock time of the measured part
  double iops = 0;                   ///< operations / seconds
  double bytes_per_second = 0;
  /// Processor time an operation, user and system, of all threads; none where the system counts it in too large steps,
  /// and in an open loop, which spins between transfers.
  std::optional<double> cpu_ns;
  /// Cycles an operation, of the program and the kernel, in all threads, as the processors themselves count them.
  std::optional<double> cycles;
  std::optional<double> batched_ns;  ///< mean latency, of batches timed as one: free of the clock's own cost
  std::vector<slice> slices;
  qd1::verification verification;
  std::optional<double> trusted_fraction;  ///< percentiles up to this one are not the host's noise
  std::optional<qd1::shortage> shortage;
  std::vector<contribution> contributions;  ///< of several runs: a row for each
  /// Of repeated runs: the figures that `latency` does not have, with their intervals between the runs.
  std::vector<named_estimate> between_runs = {};
  std::optional<bool> steady;  ///< whether the latency had settled; none: too short to tell
  std::string unsettled = {};  ///< what it did instead, in words; empty: nothing

  bool measured() const { return not_available.empty() && invalid.empty() && latency.samples != 0; }
};

/// The number of runs of the same work, one after the other, that the series is of; 0: it is of a single run, or of
/// runs that are not repetitions.
inline std::size_t repetitions(const series& of) {
  return of.latency.mean.scope == scope::between_runs ? of.contributions.size() : 0;
}

/// What the intervals of the series cover: "within this run", "between 5 runs".
inline std::string interval_scope(const series& of) {
  if (of.latency.mean.scope == scope::within_run) return std::string(name(scope::within_run));
  return "between " + std::to_string(of.contributions.size()) + " runs";
}

/// Operations a second with their interval, as tables and gates have them: within the run, or between repeated runs.
estimate iops_estimate(const series& of);

/// Nanoseconds, of all samples with equal weight, whichever round they are in, as rates count them.
inline double mean_of_all(const series& of) {
  double sum = 0;
  std::uint64_t samples = 0;
  for (const round& each : of.rounds) {
    sum += each.mean * static_cast<double>(each.samples);
    samples += each.samples;
  }
  return samples == 0 ? of.latency.mean.value : sum / static_cast<double>(samples);
}

struct timer_facts {
  std::string source;    ///< "TSC (invariant)", "system counter" (ARM64), "clock_gettime"
  std::string reason;    ///< why it is not the processor's counter
  double tick_ns = 0;    ///< of one count
  double step_ns = 0;    ///< by which it moves, as measured; 0: unknown
  double floor_ns = 0;   ///< median time of two readings with nothing between: no latency below it can be measured
  double deviation = 0;  ///< of CLOCK_MONOTONIC over the whole run, relative
};

/// Gaps in a spinning loop on the measuring CPU: what the host, not the device, adds.
struct noise {
  double seconds = 0;     ///< how long it spun
  double max_ns = 0;      ///< the longest gap
  std::vector<bin> gaps;  ///< those that are more than a microsecond
};

struct settings {
  std::string path;             ///< as given; empty: a temporary file in the current directory
  std::uint64_t file_size = 0;  ///< bytes
  std::uint64_t block = 0;      ///< bytes; 0: several, see the series
  std::uint64_t samples = 0;    ///< at most, a series
  double seconds = 0;           ///< at most, a series
  std::uint64_t rounds = 0;     ///< in which each series was measured
  std::string engine;           ///< "auto", "uring", "aio", "iocp", "pool"
  std::uint64_t seed = 0;
  std::vector<std::string> targets = {};  ///< of qd1 depth: as given
  std::vector<double> percentiles = {};   ///< as requested, as fractions; empty: the standard ones
  std::string profile = {};               ///< of qd1 run --profile: its name
  std::uint64_t repeat = 1;               ///< runs that were requested
};

/// "direct read, blocking, 1 GiB", "mapped read, blocking, cold, advised random, 64 MiB, 1000/s Poisson": the name of a
/// series among those of one run.
std::string title(const work& work);

/// "advised random"; empty for none.
std::string advice_text(const work& work);
/// "mapped (advised random)", or "mapped".
std::string mode_text(const work& work);

/// "random", "sequential", "zipf 1.1"
std::string order_text(const load& load);
/// The beginning of a heading: "Random", "Sequential", "Zipf (theta 1.1)".
std::string order_heading(const load& load);

/// The same with hyphens, for names of files and jobs: "direct-read-blocking-1GiB".
std::string file_title(const work& work);

/// As CrystalDiskMark and KDiskMark name what is measured: "SEQ1M Q8T1", "RND4K Q32T1".
std::string mark_name(const work& work);

/// Memory before and after one of several runs, which may be on different machines.
struct run_memory {
  std::string name;  ///< of the run, as contributions have it
  memory_facts before, after;
};

/// By the command that measures it.
enum class report_kind : std::uint8_t {
  run,    ///< one transfer at a time
  depth,  ///< many in flight
  memory  ///< while memory is short
};
template <>
struct enumerators<report_kind> {
  static constexpr std::string_view names[] = {"run", "depth", "memory"};
};

struct report {
  report_kind kind = report_kind::run;
  std::string version;               ///< of qd1
  std::string started;               ///< ISO 8601, UTC
  std::int64_t started_seconds = 0;  ///< the same, since 1970
  std::string command_line;
  std::vector<std::string> runs = {};  ///< identities of the runs that it is of; several: repeated, or merged
  qd1::settings settings;
  timer_facts clock;
  std::optional<noise> noise_before;
  std::optional<noise> noise_after;
  std::optional<double> trusted_fraction;  ///< the least of the series'
  machine_facts machine;
  std::vector<recommendation> advice;   ///< what about the machine spoils a measurement
  machine_counters counters;            ///< what the system counted during the run
  memory_facts memory_after;            ///< to be compared with machine.host.memory, from before
  std::vector<run_memory> memory = {};  ///< of several runs: the same of each; empty: it is of a single run
  std::vector<qd1::series> series;
  std::vector<detection> detections = {};  ///< of qd1 run --detect
  std::vector<std::string> notes;
  bool complete = true;  ///< false: interrupted; what there is has been written

  bool valid() const {
    for (const qd1::series& each : series)
      if (!each.invalid.empty()) return false;
    return true;
  }
};

/// How a report calls a series: by its title; of a profile "SEQ1M Q8T1 read", "SEQ1M Q8T1 mix, read".
std::string name_among(const report& all, const work& work);

}  // namespace qd1
