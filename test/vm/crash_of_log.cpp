// crash_of_log write DIRECTORY DRIVE SEED
//   appends records to logs (log_writer.hpp) of three modes at once, and marks the acknowledged ones in the log of the
//   drive: see marks_in_log.hpp
// crash_of_log verify DIRECTORY NOTES
//   after a power cut at any moment of that: opens each log, and checks that all records that NOTES has as acknowledged
//   are there, that none is torn, that a batch which `replay` tore is recognized, and that the log goes on
#include "marks_in_log.hpp"
#include "notes.hpp"
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

/// The records of a log follow from its identity, which is stored in the file, so a record out of place is noticed.
std::vector<std::byte> record_of(std::uint64_t log, std::uint64_t number) {
  std::mt19937_64 random(log * 1'000'003 + number);
  const std::size_t length = random() % (random() % 8 == 0 ? 5000 : 600);
  std::vector<std::byte> made(length);
  for (std::byte& each : made) each = static_cast<std::byte>(random());
  return made;
}

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

/// Compares the records of a log with what they must be.
struct compared_records {
  std::uint64_t log;
  std::uint64_t found = 0;

  bool operator()(const qio::log_record& each) {
    ++found;
    return each.number == found && std::ranges::equal(each.bytes, record_of(log, found));
  }
};

template <class Mode>
struct one_log {
  std::string path;
  std::uint64_t id;

  /// Opens the log. It grows by a few batches at a time, so that a crash meets growth, too.
  qio::task<qio::result<qio::log_writer<Mode>>> open(const qio::context& on, compared_records& found) const {
    auto file = qio::basic_file<Mode>::open(on, path, qio::access::read_write, qio::creation::if_needed);
    if (!file) co_return file.error();
    co_return co_await qio::open_log(std::move(file).value(), std::ref(found),
                                     {.extent = 32 * 1024, .largest_batch = 8 * 1024, .id = id});
  }
};

template <class Log>
qio::task<void> append(Log& log, std::uint64_t id, std::uint64_t expected, std::function<void()> mark) {
  const std::vector<std::byte> record = record_of(id, expected);
  const auto number = co_await log.append(record);
  require(number.has_value(), "an append failed");
  require(number.value() == expected, "an append has another number");
  mark();
}

/// Opens the log a few times, and appends groups of records.
template <class Mode>
qio::task<void> write_log(const qio::context& on, one_log<Mode> which, std::string name, marks_in_log& marks,
                          const std::string& directory) {
  std::mt19937_64 random(which.id);
  std::uint64_t last = 0;
  for (int opened = 0; opened < 2; ++opened) {
    compared_records found{which.id};
    auto ready = co_await which.open(on, found);
    auto log = std::move(ready).value();
    require(found.found == last, "a log that was closed has other records");
    qio::sync_directory(directory).value();
    for (int round = 0; round < 4; ++round) {
      std::vector<qio::task<void>> group;
      for (std::uint64_t left = 1 + random() % 4; left != 0; --left) {
        ++last;
        group.push_back(append(log, which.id, last,
                               [&marks, name, number = last] { marks.add(name + '=' + std::to_string(number)); }));
      }
      co_await qio::when_all(std::move(group));
    }
  }
  marks.add(name + " complete=1");
}

/// Calls `with` for each log. `replay` knows them by their identities, of which the last digit is the log's.
template <class Function>
void for_each_log(const std::string& directory, std::uint64_t seed, Function&& with) {
  const std::string of_seed = in(directory, std::to_string(seed));  // others may be there
  with(one_log<qio::cached>{of_seed + " cached", seed * 10 + 1}, "cached log");
  with(one_log<qio::direct>{of_seed + " direct", seed * 10 + 2}, "direct log");
  with(one_log<qio::mapped>{of_seed + " mapped", seed * 10 + 3}, "mapped log");
}

int write(const std::string& directory, const std::string& drive, std::uint64_t seed) {
  marks_in_log marks(drive);
  marks.add("seed=" + std::to_string(seed));
  qio::context context = qio::context::create().value();
  std::vector<qio::task<void>> all;
  for_each_log(directory, seed, [&](auto which, std::string_view name) {
    all.push_back(write_log(context, which, std::string(name), marks, directory));
  });
  context.run(qio::when_all(std::move(all)));
  return 0;
}

/// What a recovery must find.
struct expectation {
  std::uint64_t acknowledged;
  bool torn;
};

// Throws if something is missing. Returns whether there was a torn batch.
template <class Mode>
qio::task<bool> verify_log(const qio::context& on, one_log<Mode> which, expectation expected) {
  compared_records found{which.id}, again{which.id};
  bool torn = false;
  {
    auto opened = co_await which.open(on, found);
    require(opened.has_value(), opened ? "" : opened.error().message());
    torn = opened.value().recovered().tail == qio::log_end::torn;
    require(found.found >= expected.acknowledged,
            std::to_string(expected.acknowledged) + " records acknowledged, " + std::to_string(found.found) + " found");
    require(torn || !expected.torn, "a torn batch was not recognized");
    co_await append(opened.value(), which.id, found.found + 1, [] {});
  }
  const auto reopened = co_await which.open(on, again);
  require(reopened.has_value(), reopened ? "" : reopened.error().message());
  require(again.found == found.found + 1, "an append after the recovery is not there");
  require(reopened.value().recovered().tail == qio::log_end::clean, "the tail is torn after the recovery");
  co_return torn;
}

int verify(const std::string& directory, const std::string& notes) {
  int status = 0;
  std::uint64_t torn = noted(notes, "torn batches");
  qio::context context = qio::context::create().value();
  for_each_log(directory, noted(notes, "seed"), [&](auto which, std::string_view name) {
    const expectation expected{noted(notes, name), noted(notes, "torn " + std::to_string(which.id)) != 0};
    if (expected.acknowledged == 0 && !std::filesystem::exists(which.path)) return;
    try {
      torn += context.run(verify_log(context, which, expected)) && expected.torn;
    } catch (const std::exception& failure) {
      std::printf("%s: %s\n", std::string(name).c_str(), failure.what());
      status = 1;
    }
  });
  note(notes, "torn batches", torn);
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view task = count > 3 ? arguments[1] : "";
  if (task == "write" && count == 5) return write(arguments[2], arguments[3], std::stoull(arguments[4]));
  if (task == "verify" && count == 4) return verify(arguments[2], arguments[3]);
  std::fprintf(stderr, "usage: %s write DIRECTORY DRIVE SEED | verify DIRECTORY NOTES\n", arguments[0]);
  return 2;
}
