// SPDX-License-Identifier: BSL-1.0
#include "measure/series.hpp"

#include "failure.hpp"
#include "machine/find.hpp"
#include "measure/alignment.hpp"
#include "measure/measure.hpp"
#include "measure/memory_notes.hpp"
#include "measure/pages.hpp"
#include "measure/service.hpp"
#include "measure/stalls.hpp"
#include "measure/transfer.hpp"
#include "measure/verification.hpp"
#include "measure/with_mode.hpp"
#include "platform/file.hpp"
#include "platform/names.hpp"
#include "platform/process.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

namespace qd1 {
namespace {

template <class File>
constexpr bool is_mapped = File::mode_type::is_mapped;

// Cached writes start without pages, like fio's: pages that a large read-ahead has brought come in large folios, and on
// ext4 a small write into one of those walks over all of its blocks (50 µs here, not 2).
bool starts_with_pages(const work& work) {
  if (!traits(work.mode).keeps_pages || work.temperature == temperature::cold) return false;
  return traits(work.mode).maps || work.operation == operation::read;
}

// Whether what the device has read has to show that reads were cold, since the system does not tell which pages are in
// memory.
bool is_judged_by_device(const run_setup& setup) {
  return !platform::tells_cached_pages() && !count(setup.machine).devices.empty();
}

template <class File>
void prepare_memory(const File& file, tally& series, const run_setup& setup) {
  const work& work = series.subject();
  const std::string& path = setup.file.path();
  starts_with_pages(work) ? fill_cache(path, work.working_set) : platform::drop_cached_pages(path);
  if constexpr (is_mapped<File>) {
    if (starts_with_pages(work)) touch_all(file, work.working_set);
  }
  if (work.temperature != temperature::cold || is_judged_by_device(setup)) return;
  if (std::string reason = empty_cache(path, work.working_set); !reason.empty())
    series.is_not_available(std::move(reason));
}

// Cold rounds have none: it would warm what they read.
limits warm_up(const work& work, limits most) {
  if (work.temperature == temperature::cold) return {0, 0};
  return {most.samples / 10, most.seconds / 10};
}

// Once to warm up, whose figures are thrown away, and once in earnest. `transfer(recorder)` is the loop.
template <class Transfer>
void run_twice(tally& series, const run_setup& setup, const round_plan& plan, Transfer&& transfer) {
  const work& work = series.subject();
  recorder unrecorded(setup.clock, work, warm_up(work, plan.most));
  transfer(unrecorded);
  const witness witness(setup.machine, setup.file.path(), work.working_set);
  const double processor = platform::processor_seconds();
  const auto cycles = setup.cycles == nullptr ? std::nullopt : setup.cycles->counted();
  recorder recorder(setup.clock, work, plan.most, plan.schedule);
  transfer(recorder);
  if (plan.schedule != nullptr) plan.schedule->pause(recorder.last());
  const double spent = platform::processor_seconds() - processor;
  const auto cycles_after = cycles ? setup.cycles->counted() : std::nullopt;
  series.add(recorder,
             {plan.start, plan.processor, spent, cycles_after ? std::optional(*cycles_after - *cycles) : std::nullopt,
              witness.testify(work, recorder.samples(), recorder.seconds(), spent)});
}

template <class File>
void measure_blocking(tally& series, File& file, const run_setup& setup, const offset_source& next_offset,
                      const round_plan& plan) {
  const work& work = series.subject();
  auto buffer = buffer_for(work, file.alignment());
  stamps stamps(plan.seed);
  const transfer_loop loop{work, setup.clock, next_offset, buffer.view(0, static_cast<std::size_t>(work.block)),
                           stamps};
  std::uint64_t samples = 0;
  run_twice(series, setup, plan, [&](recorder& recorder) {
    transfer_blocking(file, loop, recorder);
    samples = recorder.samples();
  });
  series.is_served_by(is_mapped<File> ? "memory copies" : "system calls", "");
  series.add(service{.engine = {}, .reason = {}, .by_call = samples});
  if (!starts_with_pages(work) || work.operation != operation::read || !series.wants_more()) return;
  if (const auto ns = read_in_batches(file, loop, plan.most.seconds / 10)) series.add_batched(*ns);
}

template <class Context, class File>
void measure_asynchronous(tally& series, Context& context, File& file, const run_setup& setup,
                          const offset_source& next_offset, const round_plan& plan) {
  const work& work = series.subject();
  auto buffer = buffer_for(work, file.alignment());
  stamps stamps(plan.seed);
  const transfer_loop loop{work, setup.clock, next_offset, buffer.view(0, static_cast<std::size_t>(work.block)),
                           stamps};
  qio::file_statistics before;
  qio::stall_statistics stalls_before;
  run_twice(series, setup, plan, [&](recorder& recorder) {
    before = file.statistics();
    stalls_before = context.stalls();
    transfer_asynchronously(context, file, loop, recorder);
  });
  const qio::file_statistics& after = file.statistics();
  series.add(service{.engine = {},
                     .reason = {},
                     .by_inline = after.served_inline - before.served_inline,
                     .by_ring = after.served_by_ring - before.served_by_ring,
                     .by_worker = after.served_by_worker - before.served_by_worker,
                     .stall = stall_between(stalls_before, context.stalls())});
}

// So that neither what is still to be written back nor pages that writing has brought meet the next series.
template <class File>
void leave_as_found(File& file, tally& series, const run_setup& setup) {
  if (series.subject().operation != operation::write) return;
  if (!traits(series.subject().mode).is_direct) series.note(throttling_note());
  if (auto synced = file.sync(); !synced) series.is_invalid("sync afterwards: " + synced.error().message());
  if (!starts_with_pages(series.subject())) platform::drop_cached_pages(setup.file.path());
}

// Opens by `open`, which answers with a file, and hands it on.
template <class Open, class Use>
void with_file(tally& series, const run_setup& setup, Open&& open, Use&& use) {
  const work& work = series.subject();
  // Windows drops no pages of a file that is open with the cache.
  if (work.temperature == temperature::cold) platform::drop_cached_pages(setup.file.path());
  auto opened = open(setup.file.path(), work.operation == operation::read ? qio::access::read : qio::access::read_write,
                     qio::creation::open_existing, how_to_open(work));
  if (!opened) return series.is_not_available(opened.error().message());
  auto& file = opened.value();
  require_alignment(work, file.alignment());
  prepare_memory(file, series, setup);
  if (!series.wants_more()) return;
  const auto hits_before = memory_limit_hits();
  use(file);
  series.note(memory_limit_note(hits_before));
  leave_as_found(file, series, setup);
}

template <class Mode, class Context>
void measure_on(tally& series, qio::result<Context> created, const run_setup& setup, const offset_source& next_offset,
                const round_plan& plan) {
  const platform::engine* const wanted = platform::engine_named(setup.engine);
  if (!created && wanted == nullptr) return series.is_not_available(created.error().message());
  const service by =
      created ? service_by(created.value().explain()) : service{.engine = {}, .reason = created.error().message()};
  series.is_served_by(by.engine, by.reason);
  if (wanted != nullptr && by.engine != wanted->name)
    return series.is_not_available(fmt::format("{}: {}", wanted->name, by.reason));
  Context& context = created.value();
  const auto open = [&](const auto&... how) { return qio::basic_file<Mode>::open(context, how...); };
  with_file(series, setup, open,
            [&](auto& file) { measure_asynchronous(series, context, file, setup, next_offset, plan); });
}

template <class Mode>
void measure_in(tally& series, const run_setup& setup, const offset_source& next_offset, const round_plan& plan) {
  if (series.subject().form == form::blocking) {
    const auto open = [](const auto&... how) { return qio::basic_file<Mode>::open(how...); };
    return with_file(series, setup, open,
                     [&](auto& file) { measure_blocking(series, file, setup, next_offset, plan); });
  }
  qio::context_options options;
  if (const platform::engine* const wanted = platform::engine_named(setup.engine)) options.engine = wanted->kind;
  measure_on<Mode>(series, qio::context::create(options), setup, next_offset, plan);
}

std::string why_not_advised(const work& work) {
  const bool uses_mapping = traits(work.mode).maps && work.form == form::blocking;
  if (work.advice == advice::normal || !uses_mapping || platform::takes_advice_on_mappings()) return {};
  return "this system takes no advice on mappings";
}

}  // namespace

void measure_round(tally& to, const run_setup& setup, const offset_source& next_offset, const round_plan& plan) {
  for (std::string& reason : std::array{why_not_cached(to.subject(), setup.file.path()),
                                        why_not_written_through(to.subject()), why_not_advised(to.subject())})
    if (!reason.empty()) return to.is_not_available(std::move(reason));
  if (plan.processor) platform::go_to_processor(*plan.processor);
  with_mode(to.subject().mode, [&]<class Mode> { measure_in<Mode>(to, setup, next_offset, plan); });
}

}  // namespace qd1
