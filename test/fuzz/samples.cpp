#include "samples.hpp"

#include "compare/pair_test.hpp"
#include "merge/merge.hpp"
#include "report_fields.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace fuzz {
namespace {

// --- a value for each member, so that a new one is in the samples without further ado ---

template <class T>
void fill(T& value);

template <class T>
void fill(std::optional<T>& value) {
  fill(value.emplace());
}

template <class T>
void fill(std::vector<T>& values) {
  values.resize(1);
  fill(values.front());
}

template <class Struct, class Type>
void fill_member(const qd1::member<Struct, Type>& each, Struct& object) {
  fill(object.*each.pointer);
}

template <class Struct, class Type>
void fill_member(const qd1::computed<Struct, Type>&, Struct&) {}

template <class T>
void fill(T& value) {
  if constexpr (qd1::described<T>)
    std::apply([&](const auto&... each) { (fill_member(each, value), ...); }, qd1::fields<T>::list);
  else if constexpr (std::is_same_v<T, std::string>)
    value = "text";
  else if constexpr (std::is_same_v<T, bool>)
    value = true;
  else if constexpr (!qd1::enumerated<T>)
    value = 1;
}

// --- what has to agree ---

qd1::estimate about(double ns) { return {ns, qd1::interval{ns * 0.98, ns * 1.02}}; }

constexpr std::uint64_t rounds = 5;  // fewer are not compared
constexpr std::uint64_t samples_of_round = 100;

qd1::latency latency_about(double ns) {
  qd1::latency found;
  found.samples = rounds * samples_of_round;
  found.min = ns * 0.9;
  found.max = ns * 4;
  found.mean = about(ns * 1.1);
  found.bins = {{ns * 0.9, 100}, {ns, 250}, {ns * 1.1, 140}, {ns * 4, 10}};
  found.percentiles = {{0.5, 6, about(ns)}, {0.99, 368, about(ns * 4)}, {0.999, 3688, std::nullopt}};
  return found;
}

std::vector<qd1::round> rounds_about(double ns) {
  std::vector<qd1::round> found;
  for (std::uint64_t each = 0; each < rounds; ++each) {
    qd1::round next;
    if (each == 0) fill(next);
    next.start = static_cast<double>(each);
    next.seconds = 1;
    next.processor = each % 2;
    next.samples = samples_of_round;
    next.mean = ns * (1.08 + 0.01 * static_cast<double>(each));
    next.quantiles = {{0.5, ns * (0.98 + 0.01 * static_cast<double>(each))}};
    found.push_back(next);
  }
  return found;
}

// One second each.
std::vector<qd1::slice> slices_about(double ns) {
  std::vector<qd1::slice> found(3);
  for (std::size_t each = 0; each < found.size(); ++each) {
    if (each == 0) fill(found[each]);
    found[each].start = static_cast<double>(each);
    found[each].seconds = 1;
    found[each].operations = 1;
    found[each].mean = ns * (1 + 0.1 * static_cast<double>(each));
    found[each].max = ns * 4;
  }
  return found;
}

qd1::series series_of(const qd1::work& what, double ns) {
  qd1::series found;
  fill(found);
  found.work = what;
  found.not_available.clear();
  found.invalid.clear();
  found.latency = latency_about(ns);
  found.rounds = rounds_about(ns);
  found.slices = slices_about(ns);
  found.iops = 1e9 / ns;
  found.bytes_per_second = found.iops * static_cast<double>(what.block);
  found.trusted_fraction = 0.99;
  found.shortage.reset();
  found.contributions.clear();
  found.verification.result = what.mode == qd1::mode::direct ? qd1::verification::verdict::verified
                                                             : qd1::verification::verdict::not_applicable;
  return found;
}

qd1::detection detection_of(const qd1::work& what) {
  qd1::detection found;
  fill(found);
  found.work = what;
  found.effect = 0.02;
  found.error = 0.05;
  found.not_decidable.clear();
  found.pairs.clear();
  qd1::pair_test test(found.effect, found.error);
  for (int pair = 0; pair < 20; ++pair) {
    found.pairs.push_back({100.0 + pair % 3, 105, pair % 2 == 0});
    test.add(found.pairs.back().base, found.pairs.back().now);
  }
  found.verdict = test.verdict();
  found.ratio = test.ratio();
  return found;
}

// What is known about the machine is the larger part of a report, and the same for all kinds.
qd1::report report_without_series(bool knows_machine) {
  qd1::report found;
  fill(found);
  found.series.clear();
  found.detections.clear();
  if (!knows_machine) {
    found.machine = {};
    found.counters = {};
  }
  found.runs = {"0123456789abcdef"};
  found.started = "2026-01-02T03:04:05Z";
  found.started_seconds = 1'767'323'045;
  found.settings.percentiles = {0.5, 0.99, 0.999};
  found.noise_before = found.noise_after = qd1::noise{1, 42'000, {{2'000, 700}, {42'000, 3}}};
  found.trusted_fraction = 0.99;
  found.machine.devices.resize(2);
  found.machine.devices[0].name = "vda1";
  found.machine.devices[0].over = {"vda"};
  found.machine.devices[1].name = "vda";
  return found;
}

qd1::work work_of(qd1::mode mode, qd1::operation operation, qd1::form form) {
  qd1::work found;
  found.mode = mode;
  found.operation = operation;
  found.form = form;
  found.working_set = 1 << 20;
  return found;
}

qd1::report report_of_run() {
  using enum qd1::mode;
  using enum qd1::operation;
  using enum qd1::form;
  qd1::report found = report_without_series(true);
  found.series = {series_of(work_of(direct, read, blocking), 50'000), series_of(work_of(cached, read, blocking), 900),
                  series_of(work_of(mapped, write, asynchronous), 400), series_of({}, 1), series_of({}, 1)};
  found.series[0].latency.shares = {0.15, 0.65, 0.98, 1};
  found.series[1].latency.mean.withheld = "text";
  found.series[2].work.durability = qd1::durability::flushed;
  found.series[2].work.advice = qd1::advice::random;
  found.series[2].work.rate = 1000;
  found.series[3] = {};
  found.series[3].work = work_of(uncached, read, blocking);
  found.series[3].not_available = "text";
  found.series[4] = {};
  found.series[4].work = work_of(direct, write, blocking);
  found.series[4].invalid = {"text"};
  found.detections = {detection_of(work_of(direct, read, blocking))};
  return found;
}

qd1::report report_of_depth() {
  qd1::report found = report_without_series(false);
  for (const std::uint64_t depth : {1u, 4u}) {
    qd1::work what = work_of(qd1::mode::direct, qd1::operation::read, qd1::form::asynchronous);
    what.load = {2, depth, 2, std::nullopt, qd1::order::zipf, 0.9, 0.5};
    found.series.push_back(series_of(what, 50'000));
  }
  found.series.push_back(found.series.front());
  found.series.back().work.load.targets = 1;
  found.series.back().work.load.only = 1;
  return found;
}

qd1::report report_of_memory() {
  qd1::report found = report_without_series(false);
  for (const auto operation : {qd1::operation::read, qd1::operation::write})
    for (const std::uint64_t left : {1u << 26, 1u << 28}) {
      qd1::work what = work_of(qd1::mode::cached, operation, qd1::form::blocking);
      what.memory = left;
      qd1::series next = series_of(what, 2'000);
      next.rounds.resize(1);
      next.rounds.front().samples = next.latency.samples;
      next.rounds.front().mean = next.latency.mean.value;
      fill(next.shortage);
      next.shortage->bound = qd1::bound::by_dirty_limit;
      found.series.push_back(next);
    }
  return found;
}

// Reports of two series, as one of them, or as all of them together.
std::vector<qd1::named_run> runs_of_the_same() {
  std::vector<qd1::named_run> found;
  for (const char* const each : {"0123456789abcdef", "fedcba9876543210", "00112233445566aa"}) {
    const int number = static_cast<int>(found.size());
    qd1::report run = report_without_series(false);
    run.runs = {each};
    run.started_seconds += 10 * number;
    for (const auto mode : {qd1::mode::direct, qd1::mode::cached})
      run.series.push_back(
          series_of(work_of(mode, qd1::operation::read, qd1::form::blocking), 50'000 * (1 + 0.01 * number)));
    found.push_back({"run " + std::to_string(found.size() + 1), std::move(run)});
  }
  return found;
}

}  // namespace

std::vector<qd1::report> sample_reports() {
  return {report_of_run(), report_of_depth(), report_of_memory(), qd1::repeated(runs_of_the_same()),
          qd1::merged_side_by_side(runs_of_the_same())};
}

}  // namespace fuzz
