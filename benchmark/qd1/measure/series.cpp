// SPDX-License-Identifier: BSL-1.0
#include "measure/series.hpp"

#include "failure.hpp"
#include "machine/find.hpp"
#include "measure/measure.hpp"
#include "measure/steadiness.hpp"
#include "measure/verification.hpp"
#include "platform/file.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace qd1 {
namespace {

template <class File>
constexpr bool is_mapped = File::mode_type::is_mapped;

void require_alignment(const work& work, const qio::alignment& needed) {
  const std::uint32_t block = work.operation == operation::read ? needed.read : needed.write;
  if (work.block % block == 0) return;
  throw usage_error(
      fmt::format("--block: {} is not a multiple of {}, which direct I/O on this file needs; the next is {}",
                  work.block, block, (work.block / block + 1) * block));
}

// Reads all of the working set, so that what follows is served from memory.
template <class File>
void touch_all(const File& file, const work& work) {
  constexpr std::size_t chunk = std::size_t(1) << 20;
  std::vector<std::byte> memory(chunk);
  for (std::uint64_t at = 0; at < work.working_set; at += chunk) {
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(chunk, work.working_set - at));
    static_cast<void>(file.read_at(at, std::span(memory).first(part)));  // what fails here will fail again, timed
  }
}

std::uint64_t pages(std::uint64_t bytes) { return bytes / qio::platform::page_size(); }

// Cached writes start without pages, like fio's: pages that a large read-ahead has brought come in large folios, and on
// ext4 a small write into one of those walks over all of its blocks (50 µs here, not 2).
bool starts_with_pages(const work& work) {
  if (work.mode == mode::direct || work.temperature == temperature::cold) return false;
  return work.mode == mode::mapped || work.operation == operation::read;
}

// Why the reads cannot be called cold; empty if they can.
std::string why_not_cold(const work& work, const laboratory& laboratory) {
  const auto left = platform::cached_pages(laboratory.file.path(), work.working_set);
  if (!left) return "the system does not tell which pages are in memory, so cold cannot be verified";
  if (*left <= pages(work.working_set) / 100) return {};
  return fmt::format("{} of {} pages stay in memory though they were dropped (mapped, locked or dirty)", grouped(*left),
                     grouped(pages(work.working_set)));
}

template <class File>
void prepare_memory(const File& file, series& out, const laboratory& laboratory) {
  platform::drop_cached_pages(laboratory.file.path());
  if constexpr (is_mapped<File>) {
    if (out.work.advice == advice::random)
      if (const auto all = file.view(0, static_cast<std::size_t>(out.work.working_set)); all)
        platform::advise_random(all.value());
  }
  if (starts_with_pages(out.work)) touch_all(file, out.work);
  if (out.work.temperature == temperature::cold) out.not_available = why_not_cold(out.work, laboratory);
}

limits limits_of(const work& work, limits most) {
  if (work.temperature == temperature::cold) most.samples = std::min(most.samples, work.working_set / work.block / 2);
  return most;
}

// Cold series have none: it would warm what they read.
limits warm_up(const work& work, limits most) {
  if (work.temperature == temperature::cold) return {0, 0};
  return {most.samples / 10, most.seconds / 10};
}

// Once to warm up, whose figures are thrown away, and once in earnest. `transfer(recorder)` is the loop.
template <class Transfer>
void run_twice(series& out, const laboratory& laboratory, Transfer&& transfer) {
  const limits most = limits_of(out.work, laboratory.most);
  recorder unrecorded(laboratory.clock, out.work, warm_up(out.work, most));
  transfer(unrecorded);
  const witness witness(laboratory.machine, laboratory.file.path(), laboratory.file.bytes());
  const double processor = platform::processor_seconds();
  recorder recorder(laboratory.clock, out.work, most);
  transfer(recorder);
  const double spent = platform::processor_seconds() - processor;
  recorder.summarize(out);
  if (out.latency.samples == 0) return;
  out.cpu_ns = spent * 1e9 / static_cast<double>(out.latency.samples);
  out.verification = witness.testify(out.work, out.latency.samples);
  if (out.verification.result == verification::verdict::refuted) out.invalid.push_back(out.verification.text);
  if (out.work.operation == operation::write) out.steady = is_steady(out.slices);
}

// The buffer of all transfers of a series, with contents that do not compress.
qio::aligned_buffer buffer_for(const work& work, const qio::alignment& needed) {
  auto buffer = qio::aligned_buffer::allocate(static_cast<std::size_t>(work.block),
                                              std::max<std::size_t>(needed.memory, qio::default_buffer_alignment));
  if (!buffer) throw usage_error(fmt::format("--block: {}: {}", work.block, buffer.error().message()));
  splitmix64 random(work.block);
  for (std::byte& each : buffer.value()) each = static_cast<std::byte>(random());
  return std::move(buffer).value();
}

template <class File>
void measure_blocking(series& out, File& file, const laboratory& laboratory, const offset_source& next_offset) {
  auto buffer = buffer_for(out.work, file.alignment());
  const course course{out.work, laboratory.clock, next_offset,
                      buffer.view(0, static_cast<std::size_t>(out.work.block))};
  run_twice(out, laboratory, [&](recorder& recorder) { transfer_blocking(file, course, recorder); });
  out.service.engine = is_mapped<File> ? "memory copies" : "system calls";
  out.service.by_call = out.latency.samples;
  constexpr double batched_seconds = 0.1;
  if (starts_with_pages(out.work) && out.work.operation == operation::read && out.measured())
    out.batched_ns = read_in_batches(file, course, batched_seconds);
}

template <class Context, class File>
void measure_asynchronous(series& out, Context& context, File& file, const laboratory& laboratory,
                          const offset_source& next_offset) {
  auto buffer = buffer_for(out.work, file.alignment());
  const course course{out.work, laboratory.clock, next_offset,
                      buffer.view(0, static_cast<std::size_t>(out.work.block))};
  qio::file_statistics before;
  run_twice(out, laboratory, [&](recorder& recorder) {
    before = file.statistics();
    transfer_asynchronously(context, file, course, recorder);
  });
  const qio::file_statistics& after = file.statistics();
  out.service.by_inline = after.served_inline - before.served_inline;
  out.service.by_ring = after.served_by_ring - before.served_by_ring;
  out.service.by_worker = after.served_by_worker - before.served_by_worker;
}

// Past the background limit the kernel makes those wait who write.
void notice_throttling(series& out) {
  const memory_facts memory = find_memory();
  if (!memory.dirty_bytes || !memory.dirty_background_limit_bytes) return;
  const std::uint64_t waiting = *memory.dirty_bytes + memory.writeback_bytes.value_or(0);
  if (waiting > *memory.dirty_background_limit_bytes)
    out.notes.push_back(
        fmt::format("{} bytes of memory were dirty at its end, the background limit is {}: the kernel was "
                    "writing back, and may have made this wait",
                    grouped(waiting), grouped(*memory.dirty_background_limit_bytes)));
}

// Opens by `open`, which answers with a file, and hands it on.
template <class Open, class Use>
void with_file(series& out, const laboratory& laboratory, Open&& open, Use&& use) {
  auto opened =
      open(laboratory.file.path(), out.work.operation == operation::read ? qio::access::read : qio::access::read_write);
  if (!opened) {
    out.not_available = opened.error().message();
    return;
  }
  auto& file = opened.value();
  require_alignment(out.work, file.alignment());
  prepare_memory(file, out, laboratory);
  if (!out.not_available.empty()) return;
  use(file);
  if (out.work.operation == operation::write && out.work.mode != mode::direct) notice_throttling(out);
  // So that writing back what this series wrote does not disturb the next one.
  if (out.work.operation == operation::write)
    if (auto synced = file.sync(); !synced) out.invalid.push_back("sync afterwards: " + synced.error().message());
}

template <class Mode, class Context>
void measure_on(series& out, qio::result<Context> created, const laboratory& laboratory,
                const offset_source& next_offset) {
  if (!created) {
    out.not_available = created.error().message();
    return;
  }
  Context& context = created.value();
  const qio::explanation facts = context.explain();
  out.service.engine = facts.find("engine")->value;
  if (const qio::fact* fallback = facts.find("fallback")) out.service.reason = fallback->reason;
  if (laboratory.engine == "uring" && out.service.engine != "io_uring") {
    out.not_available = "io_uring: " + out.service.reason;
    return;
  }
  const auto open = [&](const std::string& path, qio::access wanted) {
    return qio::basic_file<Mode>::open(context, path, wanted);
  };
  with_file(out, laboratory, open,
            [&](auto& file) { measure_asynchronous(out, context, file, laboratory, next_offset); });
}

template <class Mode>
void measure_in(series& out, const laboratory& laboratory, const offset_source& next_offset) {
  if (out.work.form == form::blocking) {
    const auto open = [](const std::string& path, qio::access wanted) {
      return qio::basic_file<Mode>::open(path, wanted);
    };
    return with_file(out, laboratory, open, [&](auto& file) { measure_blocking(out, file, laboratory, next_offset); });
  }
  if (laboratory.engine == "pool")
    return measure_on<Mode>(out, qio::basic_context<qio::pool>::create(), laboratory, next_offset);
  measure_on<Mode>(out, qio::context::create(), laboratory, next_offset);
}

std::string why_not_written_through(const work& work) {
  if (work.operation != operation::write || work.durability != durability::written_through) return {};
  if (work.mode == mode::mapped) return "a copy into a mapping cannot be written through; see flushed";
  if (work.form == form::asynchronous) return "the library writes nothing through asynchronously; see flushed";
  return {};
}

}  // namespace

series measure(const work& work, const laboratory& laboratory, const offset_source& next_offset) {
  series out;
  out.work = work;
  out.not_available = why_not_written_through(work);
  if (!out.not_available.empty()) return out;
  switch (work.mode) {
    case mode::direct: measure_in<qio::direct>(out, laboratory, next_offset); break;
    case mode::cached: measure_in<qio::cached>(out, laboratory, next_offset); break;
    case mode::mapped: measure_in<qio::mapped>(out, laboratory, next_offset); break;
  }
  return out;
}

}  // namespace qd1
