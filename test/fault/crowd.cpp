// Ten thousand open files and a hundred thousand operations in flight, through a ring that has room for a few.
#include "../engines.hpp"
#include "catch.hpp"
#include "directory.hpp"
#include <qio/qio.hpp>

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using qio::access;
using qio::creation;

constexpr std::size_t file_count = 10'000, operation_count = 100'000;
constexpr std::size_t reads_a_file = 5, writes_a_file = operation_count / file_count - reads_a_file;
constexpr unsigned queue_depth = 8;

using record = std::uint64_t;

/// The record at each place of a file. No two are the same.
record record_of(std::size_t file, std::size_t place) { return (file + 1) * 1000 + place; }
constexpr std::uint64_t offset_of(std::size_t place) { return place * sizeof(record); }
auto bytes_of(record& value) { return std::as_writable_bytes(std::span(&value, 1)); }

/// Why this process may not have so many files open; empty if it may, from now on.
std::string why_not_so_many_files() {
  constexpr rlim_t needed = file_count + 100;
  rlimit files;
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return "getrlimit fails";
  if (files.rlim_cur >= needed) return {};
  files = {needed, files.rlim_max < needed ? needed : files.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &files) == 0 ? "" : "the process may not have 10 000 files open (RLIMIT_NOFILE)";
}

/// The files, with their contents, open on a context.
class crowd {
 public:
  using context = qio::context;
  using file = qio::async_cached_file;

  explicit crowd(const context& on) {
    files.reserve(file_count);
    for (std::size_t number = 0; number < file_count; ++number) {
      // Inline attempts would leave little to the engine.
      files.push_back(qio::cached_file::open(on, path_of(number), access::read_write, creation::only_if_missing,
                                             {.inline_writes = qio::inline_transfers::never})
                          .value());
      std::vector<record> records;
      for (std::size_t place = 0; place < reads_a_file; ++place) records.push_back(record_of(number, place));
      files.back().write_at(0, std::as_bytes(std::span(records))).value();
    }
  }

  /// The number of operations that the statistics of all files count.
  std::uint64_t served() const {
    std::uint64_t all = 0;
    for (const file& each : files) {
      const qio::file_statistics& by = each.statistics();
      all += by.served_inline + by.served_by_ring + by.served_by_worker;
    }
    return all;
  }

  bool holds_what_was_written() const {
    for (std::size_t number = 0; number < file_count; ++number) {
      std::vector<record> found(reads_a_file + writes_a_file);
      if (!files[number].read_at(0, std::as_writable_bytes(std::span(found)))) return false;
      for (std::size_t place = 0; place < found.size(); ++place)
        if (found[place] != record_of(number, place)) return false;
    }
    return true;
  }

  std::vector<file> files;

 private:
  std::string path_of(std::size_t number) const { return where / std::to_string(number).c_str(); }
  qio_test::directory where;
};

/// A transfer of one record, and its result.
template <class File>
class started {
 public:
  started(File& in, std::size_t file, std::size_t place)
      : expected_(record_of(file, place)),
        value_(place < reads_a_file ? 0 : expected_),
        transfer_(place < reads_a_file ? in.async_read_at(offset_of(place), bytes_of(value_))
                                       : in.async_write_at(offset_of(place), bytes_of(value_))) {
    transfer_.start([this](qio::result<std::size_t> told) {
      ++calls;
      failed = !told || told.value() != sizeof(record) || value_ != expected_;
      canceled = !told && told.error() == std::errc::operation_canceled;
    });
  }

  int calls = 0;
  bool failed = true;
  bool canceled = false;

 private:
  record expected_, value_;
  decltype(std::declval<File&>().async_read_at(0, std::span<std::byte>())) transfer_;
};

template <class File>
qio::task<bool> awaited(File& in, std::size_t file, std::size_t place) {
  record value = place < reads_a_file ? 0 : record_of(file, place);
  const auto told = place < reads_a_file ? co_await in.async_read_at(offset_of(place), bytes_of(value))
                                         : co_await in.async_write_at(offset_of(place), bytes_of(value));
  co_return told&& told.value() == sizeof(record) && value == record_of(file, place);
}

/// Calls `start(file, place)` for half of the places of each file.
template <class Start>
void each_other(bool even, Start start) {
  for (std::size_t place = 0; place < reads_a_file + writes_a_file; ++place)
    if ((place % 2 == 0) == even)
      for (std::size_t number = 0; number < file_count; ++number) start(number, place);
}

}  // namespace

TEST_CASE("ten thousand files and a hundred thousand operations go through a small ring") {
  const auto engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers);
  if (const std::string why = why_not_so_many_files(); !why.empty()) QIO_SKIP(why);
  auto context = qio::context::create({.engine = engine, .queue_depth = queue_depth});
  if (!context) QIO_SKIP(context.error().message());
  crowd all(context.value());
  using file = crowd::file;

  std::deque<started<file>> by_callback;
  each_other(
      true, [&](std::size_t number, std::size_t place) { by_callback.emplace_back(all.files[number], number, place); });
  std::vector<qio::task<bool>> by_coroutine;
  each_other(false, [&](std::size_t number, std::size_t place) {
    by_coroutine.push_back(awaited(all.files[number], number, place));
  });
  REQUIRE(by_callback.size() + by_coroutine.size() == operation_count);
  std::size_t told = 0;
  for (const auto& each : by_callback) told += each.calls != 0;
  CHECK(told == 0);  // all of them are in flight, or not yet called back

  std::size_t right = 0;
  for (const bool each : context.value().run(qio::when_all(std::move(by_coroutine)))) right += each;
  context.value().run();
  for (const auto& each : by_callback) right += each.calls == 1 && !each.failed;
  CHECK(right == operation_count);
  CHECK(all.served() == operation_count);
  CHECK(all.holds_what_was_written());
}

TEST_CASE("ten thousand files are closed with a hundred thousand operations in flight") {
  const auto engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers);
  if (const std::string why = why_not_so_many_files(); !why.empty()) QIO_SKIP(why);
  auto context = qio::context::create({.engine = engine, .queue_depth = queue_depth});
  if (!context) QIO_SKIP(context.error().message());
  crowd all(context.value());
  using file = crowd::file;

  std::deque<started<file>> operations;
  for (const bool even : {true, false})
    each_other(even, [&](std::size_t number, std::size_t place) {
      operations.emplace_back(all.files[number], number, place);
    });
  std::size_t closed = 0;
  for (file& each : all.files) closed += each.close().has_value();
  CHECK(closed == file_count);
  context.value().run();
  std::size_t truly_told = 0;
  for (const auto& each : operations) truly_told += each.calls == 1 && (!each.failed || each.canceled);
  CHECK(truly_told == operation_count);
}
