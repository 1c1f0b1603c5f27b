// power_cut write DIRECTORY NOTES
//   appends durable records until it is killed, and notes the acknowledged ones in NOTES, on another file system
// power_cut log DIRECTORY DRIVE RECORDS
//   appends RECORDS records with each writer, and marks the acknowledged ones in the log of the drive: see
//   marks_in_log.hpp
// power_cut rename DIRECTORY NOTES
//   renames a file durably
// Both replace a file (replace_file) again and again, whose contents show which version they are.
// power_cut verify DIRECTORY NOTES
//   after the power cut: checks that every noted record, and the new name, is there
// power_cut verify_moment DIRECTORY NOTES
//   the same for a power cut at any moment of a log; notes whether unflushed data is lost
//
// Like a database: a record counts once sync() or a durable write has returned.
#include "marks_in_log.hpp"
#include "notes.hpp"
#include <qio/names.hpp>
#include <qio/qio.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t record = 4096;
constexpr std::array<std::string_view, 8> writers = {
    "cached",         "direct",         "mapped",         "asynchronous",
    "durable cached", "durable direct", "durable mapped", "durable asynchronous"};

void fill(std::span<std::byte> memory, std::uint64_t number) {
  for (std::size_t at = 0; at < memory.size(); at += sizeof number) std::memcpy(&memory[at], &number, sizeof number);
}

/// Called when `records` records of a writer are known to be durable.
using acknowledge = std::function<void(std::string_view writer, std::uint64_t records)>;

template <class File>
bool append(File& file, std::uint64_t offset, std::span<const std::byte> memory) {
  return file.write_at(offset, memory) && file.sync(qio::sync_kind::data_and_size);
}

template <class File>
qio::task<bool> async_append(File& file, std::uint64_t offset, std::span<const std::byte> memory) {
  co_return co_await file.async_write_at(offset, memory) && co_await file.async_sync(qio::sync_kind::data_and_size);
}

// Four writers that write and sync, and four whose writes are durable when they complete.
class all_writers {
 public:
  all_writers(const std::string& directory, acknowledge done) : directory_(directory), done_(std::move(done)) {
    qio::sync_directory(directory).value();
  }

  /// Appends with each writer. False if one of them failed.
  bool append_record(std::uint64_t number) {
    fill(memory_, number);
    const auto at = number * record;
    const auto is_done = [&](std::string_view writer, bool durable) {
      if (durable) done_(writer, number + 1);
      return durable;
    };
    return is_done("cached", append(cached_, at, memory_)) && is_done("direct", append(direct_, at, memory_)) &&
           is_done("mapped", append(mapped_, at, memory_)) &&
           is_done("asynchronous", context_.run(async_append(asynchronous_, at, memory_))) &&
           is_done("durable cached", durable_cached_.write_at(at, memory_).has_value()) &&
           is_done("durable direct", durable_direct_.write_at(at, memory_).has_value()) &&
           is_done("durable mapped", durable_mapped_.write_at(at, memory_).has_value()) &&
           is_done("durable asynchronous", context_.run(durable_asynchronous_.async_write_at(at, memory_)).has_value());
  }

 private:
  static constexpr auto access = qio::access::read_write;
  static constexpr auto creation = qio::creation::always_new;
  static constexpr qio::open_options durably{.durable_writes = true};

  std::string path(std::string_view name) const { return in(directory_, name); }

  std::string directory_;
  acknowledge done_;
  qio::aligned_buffer memory_ = qio::aligned_buffer::allocate(record).value();
  qio::context context_ = qio::context::create().value();
  qio::cached_file cached_ = qio::cached_file::open(path("cached"), access, creation).value();
  qio::direct_file direct_ = qio::direct_file::open(path("direct"), access, creation).value();
  qio::mapped_file mapped_ = qio::mapped_file::open(path("mapped"), access, creation).value();
  qio::async_direct_file asynchronous_ =
      qio::direct_file::open(context_, path("asynchronous"), access, creation).value();
  qio::cached_file durable_cached_ = qio::cached_file::open(path("durable cached"), access, creation, durably).value();
  qio::direct_file durable_direct_ = qio::direct_file::open(path("durable direct"), access, creation, durably).value();
  qio::mapped_file durable_mapped_ = qio::mapped_file::open(path("durable mapped"), access, creation, durably).value();
  qio::async_cached_file durable_asynchronous_ =
      qio::cached_file::open(context_, path("durable asynchronous"), access, creation, durably).value();
};

// --- A file that is replaced: its contents are those of one version, whole ---

constexpr std::size_t version_bytes = 20'000;

std::vector<std::byte> version(std::uint64_t number) {
  std::vector<std::byte> made(version_bytes);
  fill(made, number);
  return made;
}

void replace(const std::string& directory, std::uint64_t number) {
  qio::replace_file(in(directory, "replaced"), version(number)).value();
}

// Whether the file is a version that is not older than `acknowledged`. There is none before the first.
bool is_replaced(const std::string& directory, std::uint64_t acknowledged) {
  const auto file = qio::cached_file::open(in(directory, "replaced"));
  if (!file && acknowledged == 0 && file.error() == std::errc::no_such_file_or_directory) return true;
  std::vector<std::byte> found(version_bytes + 1);
  const std::size_t bytes = file ? file.value().read_at(0, found).value() : 0;
  found.resize(bytes);
  std::uint64_t number = 0;
  if (bytes >= sizeof number) std::memcpy(&number, found.data(), sizeof number);
  if (bytes == version_bytes && number >= acknowledged && found == version(number)) return true;
  std::printf("replaced file: version %ju acknowledged, %zu bytes of version %ju found\n", std::uintmax_t{acknowledged},
              bytes, std::uintmax_t{number});
  return false;
}

int write(const std::string& directory, const std::string& notes) {
  all_writers all(directory, [&](std::string_view writer, std::uint64_t records) { note(notes, writer, records); });
  for (std::uint64_t number = 0; all.append_record(number); ++number) {
    replace(directory, number + 1);
    note(notes, "replaced", number + 1);
    // This is not durable. If it is not lost, the power was not cut.
    if (number == 0) std::ofstream(in(directory, "not synced")) << std::string(record, 'x');
  }
  return 1;
}

// Renames a durable file durably.
int rename(const std::string& directory) {
  const std::string before = in(directory, "to be renamed");
  auto file = qio::cached_file::open(before, qio::access::write, qio::creation::always_new).value();
  file.sync().value();
  std::filesystem::rename(before, in(directory, "renamed"));
  qio::sync_directory(directory).value();
  return 0;
}

// Writes without flushing, so the data stays in the drive's cache. The replayed log must lose it.
class unflushed_writer {
 public:
  explicit unflushed_writer(const std::string& directory)
      : file_(qio::direct_file::open(in(directory, "not flushed"), qio::access::write, qio::creation::always_new)
                  .value()) {
    overwrite(0);
    file_.sync().value();
  }
  void overwrite(std::uint64_t number) {
    fill(memory_, number);
    file_.write_at(0, memory_).value();
  }

 private:
  qio::aligned_buffer memory_ = qio::aligned_buffer::allocate(record).value();
  qio::direct_file file_;
};

int log(const std::string& directory, const std::string& drive, std::uint64_t records) {
  marks_in_log marks(drive);
  const auto mark = [&](std::string_view writer, std::uint64_t number) {
    marks.add(std::string(writer) + '=' + std::to_string(number));
  };
  unflushed_writer unflushed(directory);
  all_writers all(directory, mark);
  for (std::uint64_t number = 0; number != records; ++number) {
    if (!all.append_record(number)) return 1;
    replace(directory, number + 1);
    mark("replaced", number + 1);
    unflushed.overwrite(number + 1);
    mark("not flushed", number + 1);
  }
  rename(directory);
  mark("renamed", 1);
  return 0;
}

// The number of acknowledged records that are there.
std::uint64_t found(const std::string& directory, std::string_view writer, std::uint64_t acknowledged) {
  const auto file = qio::cached_file::open(in(directory, writer));
  std::array<std::byte, record> memory, expected;
  std::uint64_t number = 0;
  if (!file) return number;
  for (fill(expected, 0); number < acknowledged; fill(expected, ++number))
    if (file.value().read_at(number * record, memory).value() != record || memory != expected) break;
  return number;
}

bool is_complete(const std::string& directory, std::string_view writer, std::uint64_t acknowledged) {
  const std::uint64_t there = found(directory, writer, acknowledged);
  if (there == acknowledged) return true;
  std::printf("%s: %ju records acknowledged, %ju found\n", std::string(writer).c_str(), std::uintmax_t{acknowledged},
              std::uintmax_t{there});
  return false;
}

bool is_renamed(const std::string& directory) {
  if (std::filesystem::exists(in(directory, "renamed"))) return true;
  std::puts("a name that was made durable is not there");
  return false;
}

int verify(const std::string& directory, const std::string& notes) {
  bool complete = is_renamed(directory) && is_replaced(directory, noted(notes, "replaced"));
  for (const std::string_view writer : writers) {
    const std::uint64_t acknowledged = noted(notes, writer);
    std::printf("%s: %ju records acknowledged\n", std::string(writer).c_str(), std::uintmax_t{acknowledged});
    complete = is_complete(directory, writer, acknowledged) && acknowledged != 0 && complete;
  }
  const auto unsynced = qio::cached_file::open(in(directory, "not synced"));
  const bool was_cut = !unsynced || unsynced.value().size().value() == 0;
  if (!was_cut) std::puts("what was not synced is there, too: the power was not cut");
  return complete && was_cut ? 0 : 1;
}

// Whether the last unflushed write is lost, and the one before is there.
bool is_lost(const std::string& directory, std::uint64_t written) {
  std::array<std::byte, record> memory, before;
  fill(before, written - 1);
  const auto file = qio::cached_file::open(in(directory, "not flushed")).value();
  return file.read_at(0, memory).value() == record && memory == before;
}

// Like verify(), for a moment at which there may be no records yet.
int verify_moment(const std::string& directory, const std::string& notes) {
  bool complete = noted(notes, "renamed") == 0 || is_renamed(directory);
  complete = is_replaced(directory, noted(notes, "replaced")) && complete;
  for (const std::string_view writer : writers)
    if (const std::uint64_t acknowledged = noted(notes, writer); acknowledged != 0)
      complete = is_complete(directory, writer, acknowledged) && complete;
  if (const std::uint64_t written = noted(notes, "not flushed"); written != 0 && is_lost(directory, written))
    note(notes, "lost", 1);
  return complete ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view task = count == 4 || count == 5 ? arguments[1] : "";
  if (task == "write") return write(arguments[2], arguments[3]);
  if (task == "log" && count == 5) return log(arguments[2], arguments[3], std::stoull(arguments[4]));
  if (task == "rename") return rename(arguments[2]);
  if (task == "verify") return verify(arguments[2], arguments[3]);
  if (task == "verify_moment") return verify_moment(arguments[2], arguments[3]);
  std::fprintf(stderr, "usage: %s write|log|rename|verify|verify_moment DIRECTORY …\n", arguments[0]);
  return 2;
}
