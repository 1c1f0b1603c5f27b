// SPDX-License-Identifier: BSL-1.0
#include "watch/watch.hpp"

#include "failure.hpp"
#include "machine/find.hpp"
#include "measure/alignment.hpp"
#include "measure/clock.hpp"
#include "measure/data_file.hpp"
#include "measure/interruption.hpp"
#include "measure/measure.hpp"
#include "measure/offsets.hpp"
#include "measure/pages.hpp"
#include "measure/progress.hpp"
#include "measure/stamps.hpp"
#include "measure/transfer.hpp"
#include "measure/verification.hpp"
#include "measure/with_mode.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

namespace qd1 {
namespace {

work work_of(const watch_request& request, std::uint64_t bytes) {
  work made;
  made.mode = request.mode;
  made.operation = request.operation;
  made.block = request.block;
  made.working_set = bytes;
  if (traits(made.mode).keeps_pages && made.operation == operation::read) made.temperature = request.reads;
  if (made.operation == operation::write) made.durability = request.writes;
  return made;
}

std::string target_of(const watch_request& request, const data_file& file) {
  if (!file.is_temporary()) return request.path;
  return "a temporary file in " + (request.path.empty() ? "." : request.path);
}

watch_subject subject_of(const watch_request& request, const data_file& file) {
  watch_subject found{work_of(request, file.bytes()),
                      request.interval,
                      target_of(request, file),
                      find_machine(request.path.empty() ? "." : request.path),
                      {}};
  const auto missing = platform::bytes_without_data(file.path(), file.bytes());
  if (request.operation == operation::read && missing.value_or(0) != 0)
    found.warnings.push_back(
        fmt::format("{} of {} bytes are holes or were never written: they are read without the device",
                    grouped(*missing), grouped(file.bytes())));
  return found;
}

bool is_cold(const work& of) { return of.operation == operation::read && of.temperature == temperature::cold; }

// Pages in memory before the first transfer, as in a series of qd1 run.
template <class File>
void prepare_memory(const File& file, const data_file& data, const work& work) {
  platform::drop_cached_pages(data.path());
  if (!traits(work.mode).keeps_pages || is_cold(work)) return;
  if (work.operation == operation::read) fill_cache(data.path(), data.bytes());
  if constexpr (File::mode_type::is_mapped) touch_all(file, data.bytes());
}

double seconds_now() { return static_cast<double>(platform::monotonic_ns()) * 1e-9; }

// The file is open, and each call of next() is a transfer.
template <class File>
class transfers {
 public:
  transfers(File& file, const data_file& data, const work& work, const clock& clock, std::uint64_t seed)
      : file_(file),
        data_(data),
        work_(work),
        clock_(clock),
        next_offset_(random_offsets(seed, data.bytes(), work.block)),
        buffer_(buffer_for(work, file.alignment())),
        stamps_(seed) {}

  /// Its latency in picoseconds; nothing if it failed: failure().
  std::optional<std::uint64_t> next() {
    if (is_cold(work_))
      if (std::string reason = empty_cache(data_.path(), data_.bytes()); !reason.empty()) return fail(reason);
    const std::uint64_t offset = next_offset_();
    const auto block = buffer_.view(0, static_cast<std::size_t>(work_.block));
    if (work_.operation == operation::write) stamps_.put_on(block);
    const std::uint64_t begin = clock_.before();
    const qio::result<std::size_t> answer = transfer(offset, block);
    const std::uint64_t end = clock_.after();
    if (answer && answer.value() == work_.block) return clock_.picoseconds(end - begin);
    return fail(fmt::format("{} of {} bytes at offset {}: {}", name(work_.operation), work_.block, offset,
                            answer ? fmt::format("{} of {} bytes were transferred", answer.value(), work_.block)
                                   : answer.error().message()));
  }

  const std::string& failure() const noexcept { return failure_; }

 private:
  qio::result<std::size_t> transfer(std::uint64_t offset, std::span<std::byte> block) {
    if (work_.operation == operation::read) return file_.read_at(offset, block);
    if (work_.durability == durability::flushed) return write_and_flush(file_, offset, block);
    return file_.write_at(offset, block);
  }

  std::nullopt_t fail(std::string reason) {
    failure_ = std::move(reason);
    return std::nullopt;
  }

  File& file_;
  const data_file& data_;
  const work& work_;
  const clock& clock_;
  offset_source next_offset_;
  qio::aligned_buffer buffer_;
  stamps stamps_;
  std::string failure_;
};

// Starts of transfers, at multiples of the interval.
class schedule {
 public:
  explicit schedule(double interval) : interval_(interval), begin_(seconds_now()) {}

  /// Waits for the next start, and returns how many have passed without one.
  std::uint64_t wait() {
    next_ += 1;
    const double late = std::floor((seconds_now() - begin_) / interval_) - next_ + 1;
    const double missed = late > 0 ? late : 0;
    next_ += missed;
    while (!interrupted()) {
      const double left = begin_ + next_ * interval_ - seconds_now();
      if (left <= 0) break;
      platform::sleep_unless(interrupted, left);
    }
    return static_cast<std::uint64_t>(missed);
  }

  double elapsed() const { return seconds_now() - begin_; }

 private:
  double interval_;
  double begin_;
  double next_ = 0;  // intervals since the beginning
};

void judge_all(watched& found, const testimony& seen) {
  found.verification = seen.verification;
  judge(found.verification, found.subject.work, seen.evidence);
  if (const std::string doubt = judge_flushes(found.verification, found.subject.work, seen.evidence); !doubt.empty())
    found.verification.text += "; " + doubt;
  found.invalid = found.subject.warnings;
  if (found.verification.result == verification::verdict::refuted) found.invalid.push_back(found.verification.text);
}

template <class File>
void watch_transfers(transfers<File>& source, const watch_request& request, const data_file& data,
                     const watch_observer& observer, watched& found) {
  if (!source.next()) throw usage_error(fmt::format("{}: {}", found.subject.target, source.failure()));
  observer.begins(found.subject);
  const witness witness(found.subject.machine, data.path(), data.bytes());
  const double processor = platform::processor_seconds();
  schedule schedule(request.interval);
  while (!interrupted()) {
    const auto picoseconds = source.next();
    found.seconds = schedule.elapsed();
    if (!picoseconds) break;
    observer.sees(record(found, *picoseconds));
    if (found.latencies.samples() >= request.count) break;
    found.missed += schedule.wait();
  }
  found.failure = source.failure();
  judge_all(found, witness.testify(found.subject.work, found.latencies.samples(), found.seconds,
                                   platform::processor_seconds() - processor));
}

template <class Mode>
void watch_in(const watch_request& request, const data_file& data, const watch_observer& observer, watched& found) {
  const work& work = found.subject.work;
  const auto access = work.operation == operation::read ? qio::access::read : qio::access::read_write;
  auto opened = qio::basic_file<Mode>::open(data.path(), access, qio::creation::open_existing, how_to_open(work));
  if (!opened)
    throw usage_error(fmt::format("{}: {} is not available: {}; choose another mode with --modes", found.subject.target,
                                  name(work.mode), opened.error().message()));
  auto& file = opened.value();
  require_alignment(work, file.alignment());
  prepare_memory(file, data, work);
  const clock clock = clock::calibrated();
  transfers source(file, data, work, clock, request.seed);
  progress::clear();
  watch_transfers(source, request, data, observer, found);
  // So that nothing is written after qd1 has marked the file as its own.
  if (work.operation == operation::write)
    if (const auto synced = file.sync(); !synced && found.failure.empty())
      found.failure = "sync at the end: " + synced.error().message();
}

}  // namespace

watched watch(const watch_request& request, const watch_observer& observer) {
  const data_file data({request.path, request.file_size, request.block, request.overwrite, request.seed});
  if (request.operation == operation::write && !data.why_read_only().empty()) throw usage_error(data.why_read_only());
  watched found;
  found.subject = subject_of(request, data);
  if (const std::string reason = why_not_written_through(found.subject.work); !reason.empty())
    throw usage_error("--writes: " + reason);
  if (const std::string reason = why_not_cached(found.subject.work, data.path()); !reason.empty())
    throw usage_error("--modes: " + reason + "; choose --modes direct");
  if (traits(request.mode).maps && is_cold(found.subject.work))
    throw usage_error("--reads: pages of a mapping stay in memory, so its reads cannot be cold; see --modes cached");
  with_mode(request.mode, [&]<class Mode> { watch_in<Mode>(request, data, observer, found); });
  return found;
}

}  // namespace qd1
