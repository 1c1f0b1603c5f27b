// SPDX-License-Identifier: BSL-1.0
#include "measure/data_checks.hpp"

#include "measure/offsets.hpp"
#include "platform/file.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace qd1 {
namespace {

void refuse_reads_without_data(const data_file& file, report& run) {
  const auto missing = platform::bytes_without_data(file.path(), file.bytes());
  if (missing.value_or(0) == 0) return;
  for (series& each : run.series)
    if (each.work.operation == operation::read && each.not_available.empty())
      each.invalid.push_back(
          fmt::format("{} of {} bytes are holes or were never written: they are read without the device",
                      grouped(*missing), grouped(file.bytes())));
}

// Whether the file has lost bytes that are measured on; series are invalid then.
bool refuse_truncated(const data_file& file, report& run) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file.path(), failed)) return false;
  const std::uint64_t left = std::filesystem::file_size(file.path(), failed);
  if (failed || left >= file.bytes()) return false;
  for (series& each : run.series)
    if (each.not_available.empty())
      each.invalid.insert(each.invalid.begin(),
                          fmt::format("the file was truncated during the run, from {} bytes to {}",
                                      grouped(file.bytes()), grouped(left)));
  return true;
}

void notice_cheap_data(const data_file& file, report& run) {
  constexpr std::size_t sample_bytes = 4096;
  constexpr int samples = 64;
  constexpr double incompressible = 7.5;  // random data have 7.95 in so small a sample
  const auto opened = qio::cached_file::open(file.path());
  if (!opened || file.bytes() < sample_bytes) return;
  auto next_offset = random_offsets(run.settings.seed, file.bytes(), sample_bytes);
  std::vector<std::byte> sample(sample_bytes);
  int compressible = 0, repeated = 0;
  std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> seen;  // with where each is
  for (int each = 0; each < samples; ++each) {
    const std::uint64_t offset = next_offset();
    if (!opened.value().read_at(offset, sample)) continue;
    if (entropy(sample) < incompressible) ++compressible;
    if (std::ranges::any_of(seen, [&](const auto& other) { return other.first != offset && other.second == sample; }))
      ++repeated;
    seen.emplace_back(offset, sample);
  }
  if (repeated != 0)
    run.notes.push_back(
        fmt::format("{} of {} sampled blocks of the file repeat another: devices and file systems that deduplicate "
                    "store them once, and may serve them from a cache",
                    repeated, samples));
  if (compressible != 0)
    run.notes.push_back(
        fmt::format("{} of {} sampled blocks of the file compress: devices and file systems that compress "
                    "or deduplicate serve those faster than real data",
                    compressible, samples));
  const std::string compression = run.machine.filesystem.compression.value_or("none");
  if (compressible != 0 && compression != "none")
    run.notes.push_back(
        fmt::format("this file system compresses ({}): fewer bytes were transferred than requested, and "
                    "the figures are not those of the device",
                    compression));
}

bool writes(const report& run) {
  return std::ranges::any_of(run.series, [](const series& each) { return each.work.operation == operation::write; });
}

void notice_shared_blocks(const data_file& file, const std::optional<std::uint64_t>& shared, report& run) {
  if (shared.value_or(0) == 0 || !writes(run)) return;
  run.notes.push_back(
      fmt::format("{} of {} bytes of the file share their blocks with another file or a snapshot: the first write to "
                  "each of them allocates new blocks, and takes longer",
                  grouped(*shared), grouped(file.bytes())));
}

// None of what is not a regular file, and where it is unavailable.
std::optional<std::filesystem::file_time_type> time_of_last_write(const data_file& file) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file.path(), failed)) return std::nullopt;
  const auto time = std::filesystem::last_write_time(file.path(), failed);
  return failed ? std::nullopt : std::optional(time);
}

}  // namespace

// Writing ends the sharing of blocks.
data_checks::data_checks(const data_file& file)
    : file_(file),
      written_(time_of_last_write(file)),
      shared_(file.why_read_only().empty() ? platform::shared_bytes(file.path(), file.bytes()) : std::nullopt) {}

// Only a run that writes nothing itself can tell.
void data_checks::notice_changes(report& run) const {
  if (written_ && !writes(run) && time_of_last_write(file_) != written_)
    run.notes.emplace_back("another process wrote to the file during the run, or changed its length");
}

void data_checks::judge(report& run) const {
  if (refuse_truncated(file_, run)) return;
  refuse_reads_without_data(file_, run);
  notice_cheap_data(file_, run);
  notice_shared_blocks(file_, shared_, run);
  notice_changes(run);
}

double entropy(std::span<const std::byte> data) {
  std::array<double, 256> counts{};
  for (const std::byte each : data) ++counts[static_cast<std::size_t>(each)];
  double bits = 0;
  for (const double count : counts)
    if (count > 0) bits -= count * std::log2(count / static_cast<double>(data.size()));
  return data.empty() ? 0 : bits / static_cast<double>(data.size());
}

}  // namespace qd1
