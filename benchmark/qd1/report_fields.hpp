// SPDX-License-Identifier: BSL-1.0
// The members of a report by name. JSON output, JSON input and docs/report.schema.json come from here.
#pragma once

#include "failure.hpp"
#include "fields/fields.hpp"
#include "machine/fields.hpp"
#include "report.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tuple>

namespace qd1 {

inline void require_ascending(std::string_view what, double low, double high) {
  if (low > high) throw usage_error(fmt::format("{}: from {} to {} is reversed", what, low, high));
}

template <>
struct fields<load> {
  using self = load;
  static constexpr auto name = "load";
  static constexpr auto about = "How much is in flight at once (of qd1 run: 1 of each), and the order of the offsets";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"workers", &self::workers, "threads for each target", presence::always, 1},
                 member{"depth", &self::depth, "transfers that each of them keeps in flight", presence::always, 1},
                 member{"targets", &self::targets, "files or devices that are used at once", presence::always, 1},
                 member{"only", &self::only, "the target that is used alone, counted from 0"},
                 member{"order", &self::order},
                 member{"zipf_theta", &self::theta,
                        "of the order zipf: the k-th most popular block is chosen with a probability proportional to "
                        "1 / k^theta",
                        presence::later},
                 member{"share", &self::share,
                        "share of the operations in this series; the others are in flight at the same time"}};
  static void check(const load& from) {
    if (!(from.share > 0 && from.share <= 1))
      throw usage_error(fmt::format("share: {}; it must be more than 0 and at most 1", from.share));
    if ((from.order == order::zipf) != from.theta.has_value())
      throw usage_error("zipf_theta: it must be a number with the order zipf, and null with any other");
    if (from.theta && !(*from.theta >= least_theta && *from.theta <= greatest_theta))
      throw usage_error(
          fmt::format("zipf_theta: {}; it must be a number from {} to {}", *from.theta, least_theta, greatest_theta));
  }
};

template <>
struct fields<work> {
  using self = work;
  static constexpr auto name = "work";
  static constexpr auto about = "What the series measures; two are comparable if these agree";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{
      member{"mode", &self::mode},
      member{"operation", &self::operation},
      member{"form", &self::form},
      member{"temperature", &self::temperature},
      member{"advice", &self::advice},
      member{"durability", &self::durability},
      member{"block", &self::block, "bytes of a transfer"},
      member{"working_set", &self::working_set, "bytes from which the offsets are chosen"},
      member{"rate", &self::rate, "of an open loop: operations per second"},
      member{"poisson", &self::poisson},
      member{"memory", &self::memory, "bytes left for pages and the process: of qd1 memory", presence::later},
      member{"load", &self::load, "", presence::later}};
};

template <>
struct fields<interval> {
  using self = interval;
  static constexpr auto name = "interval";
  static constexpr auto about = "95 % confidence: its low and high end";
  static constexpr auto shape = layout::array;
  static constexpr auto list = std::tuple{member{"low", &self::low}, member{"high", &self::high}};
  static void check(const interval& from) { require_ascending(name, from.low, from.high); }
};

template <>
struct fields<estimate> {
  using self = estimate;
  static constexpr auto name = "estimate";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"value", &self::value}, member{"interval", &self::interval, "null: too little is known"},
                 member{"scope", &self::scope, "what the interval covers", presence::later},
                 member{"withheld", &self::withheld, "why there is no interval", presence::later}};
};

template <>
struct fields<percentile> {
  using self = percentile;
  static constexpr auto name = "percentile";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"fraction", &self::fraction}, member{"samples_needed", &self::samples_needed},
                 member{"ns", &self::value, "null: too few samples"}};
};

template <>
struct fields<bin> {
  using self = bin;
  static constexpr auto name = "bin";
  static constexpr auto about = "nanoseconds and count; each sample is within 0.1 % of its bin";
  static constexpr auto shape = layout::array;
  static constexpr auto list = std::tuple{member{"ns", &self::ns}, member{"count", &self::count}};
};

template <>
struct fields<latency> {
  using self = latency;
  static constexpr auto name = "latency";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{member{"samples", &self::samples},
                                          member{"min_ns", &self::min},
                                          member{"max_ns", &self::max},
                                          member{"mean_ns", &self::mean},
                                          member{"percentiles", &self::percentiles},
                                          member{"bins_ns", &self::bins, "ascending, none empty"},
                                          member{"shares", &self::shares,
                                                 "for each bin: part of the samples in it and below, of repeated "
                                                 "runs with the same weight; empty: as the bins count",
                                                 presence::later}};
  static void check(const latency& from) { require_ascending("min_ns and max_ns", from.min, from.max); }
};

template <>
struct fields<slice> {
  using self = slice;
  static constexpr auto name = "slice";
  static constexpr auto about = "A part of the time of a series";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{
      member{"start", &self::start, "seconds of the series measured before"},
      member{"seconds", &self::seconds},
      member{"operations", &self::operations},
      member{"mean_ns", &self::mean},
      member{"max_ns", &self::max},
      member{"p50_ns", &self::p50, "where slices are a second long", presence::later},
      member{"p99_ns", &self::p99, "where slices are a second long", presence::later},
      member{"cached_pages", &self::cached_pages, "of the targets, at the slice's end", presence::later},
      member{"dirty_bytes", &self::dirty_bytes,
             "including writeback; of the machine, or of the control group that makes memory short", presence::later},
      member{"device_in_flight", &self::device_in_flight, "operations that the devices have not completed",
             presence::later}};
};

template <>
struct fields<disturbance> {
  using self = disturbance;
  static constexpr auto name = "disturbance";
  static constexpr auto about = "What else happened during a round; null: the system does not report it";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{
      member{"waited", &self::waited,
             "part of the time that the measuring thread waited for a CPU; several: on average"},
      member{"others", &self::others, "CPUs that other processes and the kernel kept busy, on average"},
      member{"stolen", &self::stolen, "part of all CPU time that went to other guests of the host"},
      member{"throttled", &self::throttled, "how often CPUs were slowed for heat"},
      member{"frequency_mhz", &self::frequency_mhz, "of a CPU, where frequencies are managed, at the round's end"},
      member{"stops", &self::stops, "how often this process was stopped and continued", presence::later}};
};

template <>
struct fields<round_percentile> {
  using self = round_percentile;
  static constexpr auto name = "round_percentile";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{member{"fraction", &self::fraction}, member{"ns", &self::ns}};
};

template <>
struct fields<round> {
  using self = round;
  static constexpr auto name = "round";
  static constexpr auto about = "A part of a series; the series of a run take turns";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"start", &self::start, "seconds since the run began to measure"},
                 member{"processor", &self::processor, "on which it began, by the system's number", presence::later},
                 member{"seconds", &self::seconds, "measured"},
                 member{"samples", &self::samples},
                 member{"mean_ns", &self::mean},
                 member{"quantiles", &self::quantiles, "those for which the round has enough samples"},
                 member{"disturbance", &self::disturbance}};
};

template <>
struct fields<loop_stall> {
  using self = loop_stall;
  static constexpr auto name = "loop_stall";
  static constexpr auto about =
      "How long what was due had to wait for a context's thread in the measured part: see context.stalls()";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"longest_ns", &self::longest, "nothing waited longer"},
                 member{"cause", &self::cause,
                        "what the thread did meanwhile; unknown: a wait before the measured part was longer"},
                 member{"late_turns", &self::late_turns,
                        "turns of the loop that found something due which had waited for 1 ms (1,024 us) or longer"}};
};

template <>
struct fields<service> {
  using self = service;
  static constexpr auto name = "service";
  static constexpr auto about = "What carried out the operations";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{
      member{"engine", &self::engine},
      member{"reason", &self::reason, "why not the engine that was requested"},
      member{"by_call", &self::by_call},
      member{"by_inline", &self::by_inline},
      member{"by_ring", &self::by_ring, "by io_uring or Linux AIO, through a completion port"},
      member{"by_worker", &self::by_worker},
      member{"features", &self::features, "requested and available: polled, in registered memory", presence::later},
      member{"lacking", &self::lacking, "requested and unavailable, with the reason", presence::later},
      member{"stall", &self::stall, "null: not measured on a context", presence::later}};
};

template <>
struct fields<verification> {
  using self = verification;
  static constexpr auto name = "verification";
  static constexpr auto about =
      "Whether direct was direct, by what this process had read, the device's counters and the page cache";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"verdict", &self::result},
                 member{"text", &self::text},
                 member{"device_operations", &self::device_operations},
                 member{"merged_operations", &self::merged_operations,
                        "merged by the kernel with a neighbor before the device got them", presence::later},
                 member{"application_operations", &self::application_operations},
                 member{"fetched_bytes", &self::fetched_bytes, "read from devices by this process", presence::later},
                 member{"cached_pages_before", &self::cached_pages_before},
                 member{"cached_pages_after", &self::cached_pages_after}};
};

template <>
struct fields<shortage> {
  using self = shortage;
  static constexpr auto name = "shortage";
  static constexpr auto about = "Memory while the series ran: of qd1 memory";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"how", &self::how, "memory was made short"},
                 member{"dirty_most", &self::dirty_most, "bytes at the ends of the seconds, including writeback"},
                 member{"dirty_limit", &self::dirty_limit},
                 member{"dirty_background_limit", &self::dirty_background_limit},
                 member{"dirty_limit_source", &self::dirty_limit_source},
                 member{"limit_hits", &self::limit_hits, "how often the control group was full"},
                 member{"bound", &self::bound}};
};

template <>
struct fields<contribution> {
  using self = contribution;
  static constexpr auto name = "contribution";
  static constexpr auto about = "What one of several runs contributed to a series of all of them";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"name", &self::name},
                 member{"samples", &self::samples},
                 member{"iops", &self::iops},
                 member{"p50_ns", &self::p50},
                 member{"p99_ns", &self::p99},
                 member{"max_ns", &self::max},
                 member{"straggles", &self::straggles, "the figures in which it lags behind the others; empty: none"},
                 member{"seed", &self::seed, "of repeated runs, like all that follows", presence::later},
                 member{"mean_ns", &self::mean, "", presence::later},
                 member{"percentiles", &self::percentiles, "with intervals within the run", presence::later},
                 member{"cpu_ns", &self::cpu_ns, "", presence::later},
                 member{"cycles_per_operation", &self::cycles, "", presence::later},
                 member{"batched_ns", &self::batched_ns, "", presence::later}};
};

template <>
struct fields<named_estimate> {
  using self = named_estimate;
  static constexpr auto name = "named_estimate";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"figure", &self::figure, "as gates name it"}, member{"value", &self::value}};
};

template <>
struct fields<series> {
  using self = series;
  static constexpr auto name = "series";
  static constexpr auto shape = layout::complete;
  static constexpr auto measured_by = "latency";
  static bool is_measured(const series& of) { return of.measured(); }
  static constexpr auto list = std::tuple{
      member{"work", &self::work},
      member{"not_available", &self::not_available, "why it could not be run; empty: it was"},
      member{"invalid", &self::invalid, "why its figures must not be believed; then there are none"},
      member{"notes", &self::notes},
      member{"complete", &self::complete, "false: interrupted"},
      member{"service", &self::service, "", presence::measured},
      member{"latency", &self::latency, "", presence::measured},
      member{"rounds", &self::rounds, "", presence::measured},
      member{"turns", &self::turns, "the file by which the rounds took turns with other runs; empty: they did not",
             presence::measured_later},
      member{"began", &self::began, "of rounds that took turns: when their start was 0, in seconds since 1970",
             presence::measured_later},
      member{"seconds", &self::seconds, "wall clock time that was measured", presence::measured},
      member{"iops", &self::iops, "", presence::measured},
      computed{"iops_estimate", &iops_estimate,
               "iops with its interval, which follows from the rounds, or from the contributions of repeated runs",
               presence::measured_later},
      member{"bytes_per_second", &self::bytes_per_second, "", presence::measured},
      member{"cpu_ns", &self::cpu_ns, "CPU time per operation", presence::measured},
      member{"cycles_per_operation", &self::cycles,
             "of the program and the kernel, in all threads, as the CPUs count them; null: they cannot be counted",
             presence::measured_later},
      member{"batched_ns", &self::batched_ns, "mean latency of batches timed as one", presence::measured},
      member{"trusted_fraction", &self::trusted_fraction, "percentiles up to it are not the host's noise",
             presence::measured},
      member{"steady", &self::steady, "whether the latency had settled; null: too short to tell", presence::measured},
      member{"unsettled", &self::unsettled, "how it had not settled", presence::measured_later},
      member{"verification", &self::verification, "", presence::measured},
      member{"slices", &self::slices, "", presence::measured},
      member{"shortage", &self::shortage, "", presence::measured_later},
      member{"contributions", &self::contributions, "of several runs, repeated or merged", presence::measured_later},
      member{"between_runs", &self::between_runs,
             "of repeated runs: figures that are not in latency, with intervals between the runs",
             presence::measured_later}};
};

template <>
struct fields<run_pair> {
  using self = run_pair;
  static constexpr auto name = "run_pair";
  static constexpr auto about = "The medians of two runs, one right after the other";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{member{"base_ns", &self::base}, member{"now_ns", &self::now},
                                          member{"base_first", &self::base_first, "chance decided that"}};
};

template <>
struct fields<detection> {
  using self = detection;
  static constexpr auto name = "detection";
  static constexpr auto about =
      "Whether two targets or two modes differ: pairs of runs were made until that was decided";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"work", &self::work, "of the base"},
                 member{"base", &self::base, "the first target or mode"},
                 member{"now", &self::now, "the second"},
                 member{"effect", &self::effect, "the difference to be found, as a fraction"},
                 member{"error", &self::error, "how often the interval may miss the ratio, at any number of pairs"},
                 member{"verdict", &self::verdict},
                 member{"ratio", &self::ratio, "of the medians, second to first; its interval has that error"},
                 member{"pairs", &self::pairs, "in the order of time"},
                 member{"seconds", &self::seconds, "from the first pair to the last"},
                 member{"not_decidable", &self::not_decidable, "why there can be no verdict; empty: there can"},
                 member{"notes", &self::notes, "on a second target"}};
};

template <>
struct fields<timer_facts> {
  using self = timer_facts;
  static constexpr auto name = "clock";
  static constexpr auto shape = layout::complete;
  static constexpr auto list =
      std::tuple{member{"source", &self::source},
                 member{"reason", &self::reason, "why not the TSC"},
                 member{"tick_ns", &self::tick_ns},
                 member{"step_ns", &self::step_ns, "by which it moves, as measured; 0: unknown", presence::later},
                 member{"floor_ns", &self::floor_ns, "cost of reading the clock"},
                 member{"deviation", &self::deviation, "of CLOCK_MONOTONIC over the whole run, relative"}};
};

template <>
struct fields<noise> {
  using self = noise;
  static constexpr auto name = "noise";
  static constexpr auto about = "Gaps in a spinning loop on the measuring CPU";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{member{"seconds", &self::seconds}, member{"max_ns", &self::max_ns},
                                          member{"gaps_ns", &self::gaps, "those longer than a microsecond"}};
};

template <>
struct fields<settings> {
  using self = settings;
  static constexpr auto name = "settings";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{
      member{"path", &self::path, "as given; empty: a temporary file in the current directory"},
      member{"file_size", &self::file_size},
      member{"block", &self::block, "bytes of a transfer; 0: several, see the work of each series"},
      member{"samples", &self::samples, "of a series, at most; 0: no limit"},
      member{"seconds", &self::seconds, "of a series, at most"},
      member{"rounds", &self::rounds},
      member{"engine", &self::engine, "auto, uring, aio, iocp or pool"},
      member{"seed", &self::seed},
      member{"targets", &self::targets, "of qd1 depth: as given", presence::later},
      member{"percentiles", &self::percentiles, "as fractions; empty: the standard ones", presence::later},
      member{"profile", &self::profile, "name of the preset of qd1 run --profile; empty: none", presence::later},
      member{"repeat", &self::repeat, "runs that were requested", presence::later, 1}};
};

template <>
struct fields<run_memory> {
  using self = run_memory;
  static constexpr auto name = "run_memory";
  static constexpr auto about = "Memory before and after one of several runs";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{member{"name", &self::name, "of the run, as contributions have it"},
                                          member{"before", &self::before}, member{"after", &self::after}};
};

template <>
struct fields<report> {
  using self = report;
  static constexpr auto name = "report";
  static constexpr auto shape = layout::complete;
  static constexpr auto list = std::tuple{
      member{"kind", &self::kind, "the command that measured it", presence::later},
      member{"version", &self::version, "of qd1"},
      member{"started", &self::started, "ISO 8601, UTC"},
      member{"started_seconds", &self::started_seconds, "the same, since 1970"},
      member{"command_line", &self::command_line},
      member{"runs", &self::runs, "identities of the runs that it is of; several: repeated, or merged",
             presence::later},
      computed{"checksum", +[](const self&) { return std::string(); },
               "CRC-32 of all other members, with their names in order"},
      computed{"valid", +[](const self& of) { return of.valid(); }, "false: the figures of a series are withheld"},
      member{"complete", &self::complete, "false: interrupted"},
      member{"notes", &self::notes},
      member{"settings", &self::settings},
      member{"clock", &self::clock},
      member{"noise_before", &self::noise_before},
      member{"noise_after", &self::noise_after},
      member{"trusted_fraction", &self::trusted_fraction, "the least of the series'"},
      member{"machine", &self::machine, "as qd1 env --json writes it"},
      member{"advice", &self::advice, "machine settings that affect these results", presence::derived},
      member{"counters", &self::counters, "what the system counted during the run"},
      member{"memory_after", &self::memory_after, "when the run ended; before it: machine.host.memory",
             presence::later},
      member{
          "memory", &self::memory,
          "of several runs: of each; machine.host.memory and memory_after are those of the first and the last, or of "
          "the first",
          presence::later},
      member{"series", &self::series},
      member{"detections", &self::detections,
             "of qd1 run --detect; with two targets, series has those of the first alone", presence::later}};
};

}  // namespace qd1
