// SPDX-License-Identifier: BSL-1.0
#include "series.hpp"

#include "failure.hpp"
#include "measure.hpp"
#include "platform/file.hpp"
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

// Cached writes start without pages, like fio's: pages that a large read-ahead has brought come in large folios, and on
// ext4 a small write into one of those walks over all of its blocks (50 µs here, not 2).
template <class File>
void prepare_memory(const File& file, const work& work, const laboratory& laboratory) {
  const bool needs_pages =
      work.mode == mode::mapped || (work.mode == mode::cached && work.operation == operation::read);
  platform::drop_cached_pages(laboratory.file.path());
  if (needs_pages) touch_all(file, work);
}

limits warm_up(limits most) { return {most.samples / 10, most.seconds / 10}; }

// Once to warm up, whose figures are thrown away, and once in earnest. `transfer(recorder)` is the loop.
template <class Transfer>
void run_twice(series& out, const laboratory& laboratory, Transfer&& transfer) {
  recorder unrecorded(laboratory.clock, out.work, warm_up(laboratory.most));
  transfer(unrecorded);
  const double processor = platform::processor_seconds();
  recorder recorder(laboratory.clock, out.work, laboratory.most);
  transfer(recorder);
  const double spent = platform::processor_seconds() - processor;
  recorder.summarize(out);
  if (out.latency.samples != 0) out.cpu_ns = spent * 1e9 / static_cast<double>(out.latency.samples);
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
  const auto block = buffer.view(0, static_cast<std::size_t>(out.work.block));
  run_twice(out, laboratory, [&](recorder& recorder) {
    transfer_blocking(file, out.work.operation, laboratory.clock, next_offset, block, recorder);
  });
  out.service.engine = is_mapped<File> ? "memory copies" : "system calls";
  out.service.by_call = out.latency.samples;
}

template <class Context, class File>
void measure_asynchronous(series& out, Context& context, File& file, const laboratory& laboratory,
                          const offset_source& next_offset) {
  auto buffer = buffer_for(out.work, file.alignment());
  const auto block = buffer.view(0, static_cast<std::size_t>(out.work.block));
  qio::file_statistics before;
  run_twice(out, laboratory, [&](recorder& recorder) {
    before = file.statistics();
    transfer_asynchronously(context, file, out.work.operation, laboratory.clock, next_offset, block, recorder);
  });
  const qio::file_statistics& after = file.statistics();
  out.service.by_inline = after.served_inline - before.served_inline;
  out.service.by_ring = after.served_by_ring - before.served_by_ring;
  out.service.by_worker = after.served_by_worker - before.served_by_worker;
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
  prepare_memory(file, out.work, laboratory);
  use(file);
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

}  // namespace

series measure(const work& work, const laboratory& laboratory, const offset_source& next_offset) {
  series out;
  out.work = work;
  switch (work.mode) {
    case mode::direct: measure_in<qio::direct>(out, laboratory, next_offset); break;
    case mode::cached: measure_in<qio::cached>(out, laboratory, next_offset); break;
    case mode::mapped: measure_in<qio::mapped>(out, laboratory, next_offset); break;
  }
  return out;
}

}  // namespace qd1
