// Defects of published programs that lose data in a power failure, as small programs, each with its correction:
// explore_crashes() finds the defects, and nothing in the corrections.
//
// The sources are reports of these programs, and the studies
//   ALICE: Pillai et al., "All File Systems Are Not Created Equal: On the Complexity of Crafting Crash-Consistent
//     Applications", OSDI '14;
//   Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC '20.
// The programs here have the order of the operations in common with their sources, and nothing else.
#include "program.hpp"
#include <qio/explore_crashes.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace simulation;
using qio::explore_crashes;
using qio::simulated_disk;

constexpr std::size_t sector = 512;

// --- blocking operations on a file by its name. A failure is an exception, which ends a program without power. ---

auto open(simulated_disk& disk, const char* path, creation how = creation::if_needed) {
  return program(disk).open(path, how).value();
}
void create(simulated_disk& disk, const char* path) { static_cast<void>(open(disk, path)); }
void write(simulated_disk& disk, const char* path, std::uint64_t offset, std::string_view text) {
  open(disk, path).write_at(offset, std::as_bytes(std::span(text))).value();
}
void append(simulated_disk& disk, const char* path, std::string_view text) {
  auto file = open(disk, path);
  file.write_at(file.size().value(), std::as_bytes(std::span(text))).value();
}
void sync(simulated_disk& disk, const char* path) { open(disk, path).sync().value(); }
void sync_directory(simulated_disk& disk) { disk.sync_directory(".").value(); }

/// All of a file; empty if there is none.
std::string read(simulated_disk& disk, const char* path) {
  if (!disk.exists(path)) return {};
  auto file = open(disk, path);
  std::string text(static_cast<std::size_t>(file.size().value()), ' ');
  file.read_at(0, std::as_writable_bytes(std::span(text))).value();
  return text;
}
std::string part(const std::string& text, std::size_t offset, std::size_t size) {
  return offset < text.size() ? text.substr(offset, size) : std::string();
}

/// Sectors full of a letter.
std::string sectors(std::size_t count, char letter) { return std::string(count * sector, letter); }

/// A sector that begins with a text.
std::string sector_of(std::string text) {
  text.resize(sector, '.');
  return text;
}

std::string checksum(std::string_view text) {
  const auto mix = [](std::uint64_t sum, char each) {
    return (sum ^ static_cast<unsigned char>(each)) * 0x100000001B3u;
  };
  return std::to_string(std::accumulate(text.begin(), text.end(), std::uint64_t(0xCBF29CE484222325u), mix));
}

/// A program, and how what it leaves is checked, with the defect and without it.
struct published {
  std::function<void(simulated_disk&)> prepare = {};
  std::function<void(simulated_disk&, bool is_correct)> run;
  std::function<std::string(simulated_disk&, bool is_correct)> check;
  bool failing_syncs = false;
};

void expect(const published& tested, const std::string& reason) {
  const auto explore = [&](bool is_correct) {
    return explore_crashes([&](simulated_disk& disk) { tested.run(disk, is_correct); },
                           [&](simulated_disk& disk) { return tested.check(disk, is_correct); },
                           {.prepare = tested.prepare, .failing_syncs = tested.failing_syncs});
  };
  const auto defective = explore(false);
  REQUIRE(defective.failure);
  CHECK(defective.failure->reason == reason);
  const auto correct = explore(true);
  INFO((correct.failure ? correct.failure->story() : std::string()));
  CHECK_FALSE(correct.failure);
  CHECK(correct.exhaustive);
  CHECK(correct.states > 3);
}

std::string is_one_of(const std::string& found, const std::string& old, const std::string& replacing) {
  return found == old || found == replacing ? "" : "neither the old nor the new contents";
}

}  // namespace

// zeek/zeek pull request 1817 (and weechat/weechat issue 1083): files of no bytes after power failures. ALICE calls it
// an unsafe rename.
TEST_CASE("found: a file that is not synced before a rename") {
  const std::string old = sectors(2, 'o'), replacing = sectors(2, 'n');
  expect({.prepare = [&](simulated_disk& disk) { write(disk, "state", 0, old); },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                write(disk, "state.tmp", 0, replacing);
                if (is_correct) sync(disk, "state.tmp");
                disk.rename("state.tmp", "state").value();
              },
          .check = [&](simulated_disk& disk, bool) { return is_one_of(read(disk, "state"), old, replacing); }},
         "neither the old nor the new contents");
}

// etcd-io/etcd issue 6368: "Possible data loss -- fsync parent directories".
TEST_CASE("found: a directory that is not synced after a rename") {
  bool promised = false;
  expect({.run =
              [&](simulated_disk& disk, bool is_correct) {
                promised = false;
                write(disk, "wal.tmp", 0, "header");
                sync(disk, "wal.tmp");
                disk.rename("wal.tmp", "wal").value();
                if (is_correct) sync_directory(disk);
                append(disk, "wal", " record");
                sync(disk, "wal");
                promised = true;
              },
          .check =
              [&](simulated_disk& disk, bool) {
                return std::string(promised && read(disk, "wal") != "header record" ? "the record is lost" : "");
              }},
         "the record is lost");
}

// google/leveldb issue 196, mongodb-partners/mongo-rocks issue 35; ALICE found it in several programs.
TEST_CASE("found: a directory that is not synced after the creation of a log") {
  bool promised = false;
  expect({.run =
              [&](simulated_disk& disk, bool is_correct) {
                promised = false;
                create(disk, "log");
                if (is_correct) sync_directory(disk);
                append(disk, "log", "record");
                sync(disk, "log");
                promised = true;
              },
          .check =
              [&](simulated_disk& disk, bool) {
                return std::string(promised && read(disk, "log") != "record" ? "the record is lost" : "");
              }},
         "the record is lost");
}

// indexzero/nconf issue 184: a configuration of no bytes after a power failure.
TEST_CASE("found: a file that is truncated and written again") {
  const std::string old = sectors(1, 'o'), replacing = sectors(1, 'n');
  expect({.prepare = [&](simulated_disk& disk) { write(disk, "config", 0, old); },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                const char* const path = is_correct ? "config.tmp" : "config";
                static_cast<void>(open(disk, path, creation::emptied));
                write(disk, path, 0, replacing);
                sync(disk, path);
                if (is_correct) disk.rename(path, "config").value();
              },
          .check = [&](simulated_disk& disk, bool) { return is_one_of(read(disk, "config"), old, replacing); }},
         "neither the old nor the new contents");
}

// Tarsnap/tarsnap issue 817, alandipert/enduro issue 2.
TEST_CASE("found: a file that is removed before another one gets its name") {
  const std::string old = sectors(1, 'o'), replacing = sectors(1, 'n');
  expect({.prepare = [&](simulated_disk& disk) { write(disk, "cache", 0, old); },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                write(disk, "cache.new", 0, replacing);
                sync(disk, "cache.new");
                if (!is_correct) disk.remove("cache").value();
                disk.rename("cache.new", "cache").value();
                sync_directory(disk);
              },
          .check = [&](simulated_disk& disk, bool) { return is_one_of(read(disk, "cache"), old, replacing); }},
         "neither the old nor the new contents");
}

// dgraph-io/badger issue 153, found by ALICE; yugabyte/yugabyte-db issue 3490.
TEST_CASE("found: a log that is not synced before the next one begins") {
  expect({.run =
              [](simulated_disk& disk, bool is_correct) {
                create(disk, "1.log");
                create(disk, "2.log");
                sync_directory(disk);
                append(disk, "1.log", sector_of("a"));
                append(disk, "1.log", sector_of("b"));
                if (is_correct) sync(disk, "1.log");
                append(disk, "2.log", sector_of("c"));
                sync(disk, "2.log");
              },
          .check =
              [](simulated_disk& disk, bool) {
                const bool continues = part(read(disk, "2.log"), 0, 1) == "c";
                const bool is_whole = read(disk, "1.log") == sector_of("a") + sector_of("b");
                return std::string(continues && !is_whole ? "a gap between the logs" : "");
              }},
         "a gap between the logs");
}

// litedb-org/LiteDB issue 2935: "Log pages have no checksum: a power loss can leave a transaction partially applied".
TEST_CASE("found: a log that trusts a commit record without a checksum") {
  const std::string pages = sectors(1, 'a') + sectors(1, 'b');
  expect({.run =
              [&](simulated_disk& disk, bool) {
                create(disk, "log");
                sync_directory(disk);
                append(disk, "log", pages);
                append(disk, "log", sector_of("commit " + checksum(pages)));
                sync(disk, "log");
              },
          .check =
              [&](simulated_disk& disk, bool is_correct) {
                const std::string log = read(disk, "log"), found = part(log, 0, pages.size());
                const std::string expected = is_correct ? "commit " + checksum(found) : "commit";
                if (!part(log, pages.size(), sector).starts_with(expected)) return std::string();
                return std::string(found != pages ? "a part of a transaction is recovered" : "");
              }},
         "a part of a transaction is recovered");
}

// tursodatabase/turso issue 4652: "DB file should be fsynced BEFORE WAL is truncated in checkpoint, not AFTER".
TEST_CASE("found: a log that is truncated before the data is durable") {
  expect({.prepare =
              [](simulated_disk& disk) {
                write(disk, "db", 0, sectors(2, 'o'));
                write(disk, "wal", 0, sectors(2, 'n'));
              },
          .run =
              [](simulated_disk& disk, bool is_correct) {
                write(disk, "db", 0, read(disk, "wal"));
                if (is_correct) sync(disk, "db");
                open(disk, "wal").resize(0).value();
                sync(disk, "wal");
                sync(disk, "db");
              },
          .check =
              [](simulated_disk& disk, bool) {
                const std::string wal = read(disk, "wal");
                return std::string((wal.empty() ? read(disk, "db") : wal) != sectors(2, 'n') ? "a commit is lost" : "");
              }},
         "a commit is lost");
}

// tursodatabase/turso pull request 8101: the database was written before the log was durable.
TEST_CASE("found: data that is overwritten before its log is durable") {
  const std::string old = sectors(1, 'a') + sectors(1, 'b'), replacing = sectors(1, 'A') + sectors(1, 'B');
  expect({.prepare =
              [&](simulated_disk& disk) {
                write(disk, "db", 0, old);
                create(disk, "wal");
              },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                write(disk, "wal", 0, replacing + sector_of(checksum(replacing)));
                if (is_correct) sync(disk, "wal");
                write(disk, "db", 0, replacing);
                sync(disk, "db");
              },
          .check =
              [&](simulated_disk& disk, bool) {
                const std::string wal = read(disk, "wal"), logged = part(wal, 0, replacing.size());
                const bool is_valid = part(wal, replacing.size(), sector) == sector_of(checksum(logged));
                return is_one_of(is_valid ? logged : read(disk, "db"), old, replacing);
              }},
         "neither the old nor the new contents");
}

// libgit2/libgit2 issue 4123: "Potential for data corruption as writes are not followed by fsync?"
TEST_CASE("found: a reference to an object that is not durable") {
  const std::string object = sectors(2, 'x');
  expect({.prepare = [](simulated_disk& disk) { write(disk, "ref", 0, "none"); },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                write(disk, "tmp_object", 0, object);
                if (is_correct) sync(disk, "tmp_object");
                disk.link("tmp_object", "object").value();
                disk.remove("tmp_object").value();
                write(disk, "ref.lock", 0, "object");
                sync(disk, "ref.lock");
                disk.rename("ref.lock", "ref").value();
                sync_directory(disk);
              },
          .check =
              [&](simulated_disk& disk, bool) {
                const bool is_referred_to = read(disk, "ref") == "object";
                return std::string(is_referred_to && read(disk, "object") != object ? "the object is damaged" : "");
              }},
         "the object is damaged");
}

// erthink/ReOpenLDAP issue 1: with LMDB's MDB_WRITEMAP, a meta page may reach the disk before the pages that it refers
// to.
TEST_CASE("found: a meta page that is written together with its pages") {
  const std::string page = sectors(2, 'n');
  expect({.prepare = [](simulated_disk& disk) { write(disk, "db", 0, sector_of("root 1") + sectors(2, 'o')); },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                write(disk, "db", 3 * sector, page);
                if (is_correct) sync(disk, "db");
                write(disk, "db", 0, sector_of("root 3"));
                sync(disk, "db");
              },
          .check =
              [&](simulated_disk& disk, bool) {
                const std::string db = read(disk, "db");
                const bool is_new = db.starts_with("root 3");
                return std::string(is_new && part(db, 3 * sector, page.size()) != page ? "the root is damaged" : "");
              }},
         "the root is damaged");
}

// ethereum/go-ethereum pull requests 28483 and 29792: after a power failure, the index has entries of zeros.
TEST_CASE("found: an index whose size is durable before its entries") {
  const auto entry = [](char begin, char size) { return std::string{'@', begin, size}; };
  expect({.prepare =
              [&](simulated_disk& disk) {
                write(disk, "data", 0, "ab");
                write(disk, "index", 0, sector_of(entry(0, 2)));
              },
          .run =
              [&](simulated_disk& disk, bool) {
                append(disk, "data", "cd");
                sync(disk, "data");
                append(disk, "index", sector_of(entry(2, 2)));
                sync(disk, "index");
              },
          .check =
              [](simulated_disk& disk, bool is_correct) {
                const std::string data = read(disk, "data"), index = read(disk, "index");
                std::string all;
                for (std::size_t at = 0; at < index.size(); at += sector) {
                  if (is_correct && index[at] != '@') break;
                  all += part(data, static_cast<std::size_t>(index[at + 1]), static_cast<std::size_t>(index[at + 2]));
                  all += ' ';
                }
                return std::string(all == "ab " || all == "ab cd " ? "" : "an item is empty");
              }},
         "an item is empty");
}

// cockroachdb/pebble pull request 580: records of a log file's earlier use were replayed.
TEST_CASE("found: a log that is used again and accepts records from before") {
  const auto record = [](int log, int number) {
    const std::string text = std::to_string(log) + ' ' + std::to_string(number) + ' ';
    return sector_of(text + checksum(text));
  };
  int promised = 0;
  expect({.prepare = [&](simulated_disk& disk) { write(disk, "log", 0, record(1, 1) + record(1, 2) + record(1, 3)); },
          .run =
              [&](simulated_disk& disk, bool) {
                promised = 0;
                for (int each = 1; each <= 2; ++each) {
                  write(disk, "log", static_cast<std::uint64_t>(each - 1) * sector, record(2, each));
                  sync(disk, "log");
                  promised = each;
                }
              },
          .check =
              [&](simulated_disk& disk, bool is_correct) {
                const std::string log = read(disk, "log");
                int found = 0;
                for (bool is_valid = true; is_valid; found += is_valid) {
                  const std::string next = part(log, static_cast<std::size_t>(found) * sector, sector);
                  is_valid = next == record(2, found + 1) || (!is_correct && next == record(1, found + 1));
                }
                return std::string(found < promised       ? "a record is lost"
                                   : found > promised + 1 ? "an old record is replayed"
                                                          : "");
              }},
         "an old record is replayed");
}

// ArcadeData/arcadedb issue 5054: "The version header alone cannot distinguish a torn page from an intact one".
TEST_CASE("found: a page of several sectors whose version is taken for that of the whole") {
  const auto page = [](char version) { return sectors(4, version); };
  expect({.prepare =
              [&](simulated_disk& disk) {
                write(disk, "db", 0, page('1'));
                write(disk, "wal", 0, page('2'));
              },
          .run =
              [&](simulated_disk& disk, bool) {
                write(disk, "db", 0, page('2'));
                sync(disk, "db");
              },
          .check =
              [&](simulated_disk& disk, bool is_correct) {
                std::string found = read(disk, "db");
                if (is_correct || found[0] < '2') found = read(disk, "wal");  // always, or if it is older
                return std::string(found != page('2') ? "a torn page is used" : "");
              }},
         "a torn page is used");
}

// ALICE: SQLite with a rollback journal, whose removal commits a transaction.
TEST_CASE("found: a directory that is not synced after the removal of a journal") {
  bool promised = false;
  expect({.prepare = [](simulated_disk& disk) { write(disk, "db", 0, sectors(1, 'o')); },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                promised = false;
                write(disk, "journal", 0, sectors(1, 'o'));
                sync(disk, "journal");
                sync_directory(disk);
                write(disk, "db", 0, sectors(1, 'n'));
                sync(disk, "db");
                disk.remove("journal").value();
                if (is_correct) sync_directory(disk);
                promised = true;
              },
          .check =
              [&](simulated_disk& disk, bool) {
                const std::string found = read(disk, disk.exists("journal") ? "journal" : "db");
                return std::string(promised && found != sectors(1, 'n') ? "a commit is rolled back" : "");
              }},
         "a commit is rolled back");
}

// surrealdb/surrealkv pull request 191: a new process reads what the one before it has not synced.
TEST_CASE("found: a recovery that promises what it has read without syncing it") {
  bool promised = false;
  expect({.prepare = [](simulated_disk& disk) { create(disk, "log"); },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                promised = false;
                append(disk, "log", "record");
                // The process ends here, without a power failure. Another one opens the log.
                if (is_correct) sync(disk, "log");
                promised = read(disk, "log") == "record";
              },
          .check =
              [&](simulated_disk& disk, bool) {
                return std::string(promised && read(disk, "log") != "record" ? "a record that was shown is lost" : "");
              }},
         "a record that was shown is lost");
}

// PostgreSQL until 2018, "fsyncgate" (see Rebello et al.): it tried again, and took the next success for one of all
// data.
TEST_CASE("found: a sync that is repeated after a failure") {
  bool promised = false;
  expect({.prepare = [](simulated_disk& disk) { write(disk, "db", 0, sectors(2, 'o')); },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                promised = false;
                write(disk, "db", 0, sectors(2, 'n'));
                while (!open(disk, "db").sync()) {
                  if (is_correct || !disk.has_power()) return;  // recovery repeats the write
                }
                promised = true;
              },
          .check =
              [&](simulated_disk& disk, bool) {
                return std::string(promised && read(disk, "db") != sectors(2, 'n') ? "a checkpoint is lost" : "");
              },
          .failing_syncs = true},
         "a checkpoint is lost");
}

// tursodatabase/turso issue 2091; Rebello et al. call it a false failure.
TEST_CASE("found: a transaction that is reported as undone because its sync has failed") {
  bool undone = false;
  expect({.prepare = [](simulated_disk& disk) { create(disk, "log"); },
          .run =
              [&](simulated_disk& disk, bool is_correct) {
                undone = false;
                append(disk, "log", "record");
                if (!open(disk, "log").sync() && disk.has_power()) undone = !is_correct;  // correct: it is unknown
              },
          .check =
              [&](simulated_disk& disk, bool) {
                return std::string(undone && read(disk, "log") == "record" ? "what was undone is back" : "");
              },
          .failing_syncs = true},
         "what was undone is back");
}
