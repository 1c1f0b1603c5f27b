// SPDX-License-Identifier: BSL-1.0
#include "machine/find.hpp"
#include "measure/measure.hpp"
#include "measure/offsets.hpp"
#include "measure/pages.hpp"
#include "platform/file.hpp"
#include "platform/loop.hpp"
#include "selftest/attack.hpp"
#include "selftest/staged.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <system_error>
#include <vector>

namespace qd1 {
namespace {

namespace fs = std::filesystem;
using placed = const std::string&;  // the directory

constexpr std::uint64_t victim_bytes = std::uint64_t(4) << 20;
constexpr std::uint64_t victim_block = 4096;

report reads_of(placed directory, mode mode, temperature temperature, const limits& most,
                const std::function<offset_source(const std::string& path)>& offsets) {
  const clock clock = clock::calibrated();
  return staged(directory, clock, [&](report& out, const run_setup& setup) {
    out.series = {staged_reads(setup, mode, temperature, most, offsets(setup.file.path()))};
  });
}

// A file with a name, until the end of the attack.
class victim {
 public:
  explicit victim(placed directory)
      : path_(fs::path(directory) / fmt::format("qd1-selftest-{:08x}", std::random_device()())) {}
  victim(const victim&) = delete;
  victim& operator=(const victim&) = delete;
  ~victim() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }

  std::string path() const { return path_.string(); }

  void make_sparse() const {
    const std::ofstream made(path_);
    std::error_code failed;
    fs::resize_file(path_, victim_bytes, failed);
    if (failed) throw usage_error(path() + ": " + failed.message());
  }
  void fill(const std::string& with) const {
    std::ofstream made(path_, std::ios::binary);
    if (!(made << with << std::flush)) throw usage_error(path() + ": it cannot be written");
  }

 private:
  fs::path path_;
};

finding leave_alone(placed directory) {
  const report found = run(short_run(directory, mode::cached));
  if (verdict(found) == exit_pass) return {attack_result::noticed, "it was not refused"};
  const finding why = refused(found, "");
  return why.result == attack_result::untried ? why : finding{attack_result::missed, why.text};
}

finding misalign(placed directory) {
  const auto any_byte = [](const std::string&) -> offset_source {
    return [random = splitmix64(1)]() mutable { return random() % (victim_bytes - victim_block) | 1; };
  };
  report found = reads_of(directory, mode::direct, temperature::warm, {1'000, 0.2}, any_byte);
  if (!why_not_measured(found).empty())
    found = reads_of(directory, mode::cached, temperature::warm, {1'000, 0.2}, any_byte);
  return refused(found, "is not a multiple of");
}

finding read_past_the_end(placed directory) {
  return refused(reads_of(directory, mode::cached, temperature::warm, {1'000, 0.2},
                          [](const std::string&) -> offset_source {
                            return [call = 0]() mutable { return ++call % 100 == 0 ? victim_bytes : 0; };
                          }),
                 "0 of 4096 bytes");
}

finding shorten(placed directory) {
  std::error_code failed;
  const auto truncating = [&failed](const std::string& path) -> offset_source {
    return [&failed, path, call = 0]() mutable {
      if (++call == 300) fs::resize_file(path, victim_bytes / 2, failed);
      return std::uint64_t(0);
    };
  };
  const report found = reads_of(directory, mode::cached, temperature::warm, {1'000, 0.2}, truncating);
  if (failed) return {attack_result::untried, "the file cannot be truncated while it is open: " + failed.message()};
  return refused(found, "truncated during the run");
}

finding use_memory(placed) {
  for (const char* each : {"/dev/shm", "/run", "/tmp"}) {
    std::error_code failed;
    if (!fs::is_directory(each, failed) || find_machine(each).filesystem.type != "tmpfs") continue;
    const report found = run(short_run(each, mode::direct));
    const series& reads = found.series.front();
    if (reads.verification.result == verification::verdict::verified)
      return {attack_result::missed, "it was called verified: " + reads.verification.text};
    return {attack_result::noticed,
            reads.not_available.empty() ? reads.verification.text : "not available: " + reads.not_available};
  }
  return {attack_result::untried, "no file system in memory is known here"};
}

// Reads in the page cache, reported as direct ones: as where a file system accepts direct I/O and does not do it.
finding sell_cached_reads(placed directory) {
  const clock clock = clock::calibrated();
  const report found = staged(directory, clock, [&](report& out, const run_setup& setup) {
    const auto file = qio::cached_file::open(setup.file.path());
    if (!file) throw usage_error(setup.file.path() + ": " + file.error().message());
    fill_cache(setup.file.path(), victim_bytes);
    work claimed;
    claimed.mode = mode::direct;
    claimed.working_set = victim_bytes;
    std::array<std::byte, victim_block> buffer{};
    stamps stamps(1);
    const offset_source offsets = random_offsets(1, victim_bytes, victim_block);
    const witness witness(setup.machine, setup.file.path(), victim_bytes);
    recorder recorder(clock, claimed, {10'000, 0.2});
    repeat({claimed, clock, offsets, buffer, stamps}, recorder,
           [&](std::uint64_t offset) { return file.value().read_at(offset, buffer); });
    tally reads(claimed);
    reads.add(recorder,
              {0, std::nullopt, 0, std::nullopt, witness.testify(claimed, recorder.samples(), recorder.seconds(), 0)});
    out.series = {reads.finished()};
  });
  const finding against = refused(found, "NOT direct");
  return against.result == attack_result::missed ? named(found, "could not be verified") : against;
}

// The second time, a block is in memory.
finding read_cold_blocks_again(placed directory) {
  const report found =
      reads_of(directory, mode::cached, temperature::cold, {4'096, 5}, [](const std::string&) -> offset_source {
        return [call = std::uint64_t(0)]() mutable { return call++ * 67 % 64 * (victim_bytes / 64); };
      });
  const finding all = named(found, "not everything was cold");
  if (all.result != attack_result::missed) return all;
  const finding other = named(found, "cold for the page cache of this file only");
  return other.result == attack_result::missed ? named(found, "NOT cold") : other;
}

finding evict_warm_pages(placed directory) {
  const report found =
      reads_of(directory, mode::cached, temperature::warm, {300, 2}, [](const std::string& path) -> offset_source {
        return [path, next = random_offsets(1, victim_bytes, victim_block)]() mutable {
          platform::drop_cached_pages(path);
          return next();
        };
      });
  if (!found.series.empty() && found.series.front().verification.fetched_bytes.value_or(0) == 0)
    return {attack_result::untried, "no pages could be evicted, or the system does not report reads from devices"};
  return named(found, "NOT WARM");
}

finding punch_holes(placed directory) {
  const victim file(directory);
  file.make_sparse();
  if (!platform::bytes_without_data(file.path(), victim_bytes))
    return {attack_result::untried, "this file system does not report holes, so qd1 cannot notice them"};
  return refused(run(short_run(file.path(), mode::cached)), "holes or were never written");
}

finding use_zeros(placed directory) {
  const victim file(directory);
  file.fill(std::string(victim_bytes, '\0'));
  return named(run(short_run(file.path(), mode::cached)), "sampled blocks of the file compress");
}

finding use_buffered_loop(placed directory) {
  const victim file(directory);
  std::string data(victim_bytes, '\0');
  splitmix64 random(1);
  for (char& each : data) each = static_cast<char>(random());
  file.fill(data);
  const platform::buffered_loop loop(file.path());
  if (!loop.why_not().empty()) return {attack_result::untried, loop.why_not()};
  const report found = run(short_run(loop.path(), mode::direct));
  const finding against = refused(found, "NOT direct");
  return against.result == attack_result::missed ? named(found, "could not be verified") : against;
}

}  // namespace

attack no_attack() { return {"a run that nobody attacks", "not refused", leave_alone}; }

std::vector<attack> attacks_on_files() {
  return {{"offsets that are not multiples of the block", "INVALID", misalign},
          {"reads past the end of the file", "INVALID", read_past_the_end},
          {"a file that is truncated meanwhile", "INVALID", shorten},
          {"reads of a sparse file", "INVALID", punch_holes},
          {"reads of a file of zeros", "a note", use_zeros},
          {"direct reads of a file in memory", "not verified", use_memory},
          {"cached reads, sold as direct", "INVALID, or not verified", sell_cached_reads},
          {"direct reads of a loop device that caches its file", "INVALID, or not verified", use_buffered_loop},
          {"cold reads of the same blocks again", "a note", read_cold_blocks_again},
          {"warm reads of pages that are evicted meanwhile", "a note", evict_warm_pages}};
}

}  // namespace qd1
