// The file system of example/rocksdb_file_system beside RocksDB's own: databases in each mode, locks, and processes
// that are killed.
#include "catch.hpp"
#include "directory.hpp"

#include <file_system.hpp>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using qio_test::directory;
using rocksdb::Slice;
using rocksdb::Status;

rocksdb::Env* ours() {
  static const auto env = rocksdb::NewCompositeEnv(std::make_shared<rocksdb_file_system::file_system>());
  return env.get();
}

constexpr const char* modes[] = {"cached", "direct", "mapped"};

rocksdb::Options options_of(const std::string& mode, rocksdb::Env* env) {
  rocksdb::Options options;
  options.env = env;
  options.create_if_missing = true;
  options.write_buffer_size = 256 << 10;  // many small tables, which are compacted
  options.target_file_size_base = 256 << 10;
  options.compression = rocksdb::kNoCompression;
  options.use_direct_reads = options.use_direct_io_for_flush_and_compaction = mode == "direct";
  options.allow_mmap_reads = mode == "mapped";
  rocksdb::BlockBasedTableOptions tables;
  tables.no_block_cache = true;  // each read is one of the file
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(tables));
  return options;
}

std::unique_ptr<rocksdb::DB> open(const std::string& path, const rocksdb::Options& options) {
  rocksdb::DB* opened = nullptr;
  const Status status = rocksdb::DB::Open(options, path, &opened);
  INFO(status.ToString());
  REQUIRE(status.ok());
  return std::unique_ptr<rocksdb::DB>(opened);
}

std::string key_of(std::uint64_t n) {
  std::string digits = std::to_string(n);
  return "key" + std::string(8 - digits.size(), '0') + digits;
}
std::string value_of(std::uint64_t n) {
  return std::string(50 + n * 7919 % 300, static_cast<char>('a' + n % 26)) + std::to_string(n);
}

/// The value of a key, which key_of() has made.
std::uint64_t number_of(const std::string& key) { return std::strtoull(key.c_str() + 3, nullptr, 10); }

/// How many values the database has, in order and each right, up to the first that is not.
std::uint64_t values_in_order(rocksdb::DB& db) {
  std::uint64_t found = 0;
  const std::unique_ptr<rocksdb::Iterator> all(db.NewIterator({}));
  for (all->SeekToFirst(); all->Valid() && all->key() == key_of(found) && all->value() == value_of(found); all->Next())
    ++found;
  return all->status().ok() && !all->Valid() ? found : 0;
}

/// How many of 320 keys are answered right if there are the values of 0 to `count` - 1, by Get and by MultiGet.
std::size_t right_answers(rocksdb::DB& db, std::uint64_t count) {
  std::mt19937_64 random(count);
  std::size_t right = 0;
  for (int round = 0; round < 10; ++round) {
    std::vector<std::string> keys;
    for (int i = 0; i < 32; ++i) keys.push_back(key_of(random() % (count + 10)));
    const std::vector<Slice> asked(keys.begin(), keys.end());
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<Status> answers(keys.size());
    db.MultiGet({}, db.DefaultColumnFamily(), asked.size(), asked.data(), values.data(), answers.data());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::string alone;
      const Status one = db.Get({}, asked[i], &alone);
      const std::uint64_t n = number_of(keys[i]);
      const bool is_right = n < count ? answers[i].ok() && one.ok() && values[i] == value_of(n) && alone == value_of(n)
                                      : answers[i].IsNotFound() && one.IsNotFound();
      right += is_right ? 1u : 0u;
    }
  }
  return right;
}

/// Whether the database has the values of 0 to `count` - 1, and no others.
void check_values(rocksdb::DB& db, std::uint64_t count) {
  CHECK(db.VerifyChecksum().ok());
  CHECK(values_in_order(db) == count);
  CHECK(right_answers(db, count) == 320);
}

bool has_direct_files(const directory& where) {
  const auto direct = qio::direct_file::open(where / "probe", qio::access::write, qio::creation::if_needed);
  static_cast<void>(qio::remove(where / "probe"));
  return direct.has_value();
}

/// A child process, and a pipe for the numbers that it reports.
class child {
 public:
  template <class Body>
  explicit child(Body body) {
    REQUIRE(::pipe(ends_.data()) == 0);
    process_ = ::fork();
    if (process_ == 0) ::_exit(body(ends_[1]));
    ::close(ends_[1]);
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() { ::close(ends_[0]); }

  /// Waits for the next number; none when the process has ended.
  std::optional<std::uint64_t> next() const {
    std::uint64_t number = 0;
    return ::read(ends_[0], &number, sizeof number) == sizeof number ? std::optional(number) : std::nullopt;
  }
  void kill() const { ::kill(process_, SIGKILL); }
  /// How it has ended: see waitpid(2).
  int status() const {
    int status = 0;
    ::waitpid(process_, &status, 0);
    return status;
  }

 private:
  std::array<int, 2> ends_{};
  pid_t process_ = 0;
};

bool report(int pipe, std::uint64_t number) { return ::write(pipe, &number, sizeof number) == sizeof number; }

/// Puts values durably, and reports how many there are after each, until it is killed.
int put_values(const std::string& path, const std::string& mode, std::uint64_t first, int pipe) {
  rocksdb::WriteOptions durable;
  durable.sync = true;
  rocksdb::DB* db = nullptr;
  if (!rocksdb::DB::Open(options_of(mode, ours()), path, &db).ok()) return 1;
  std::uint64_t count = first;
  while (db->Put(durable, key_of(count), value_of(count)).ok() && report(pipe, count + 1)) ++count;
  return 2;
}

/// Recovers the database, and reports how many values it has.
int recover(const std::string& path, rocksdb::Env* env, int pipe) {
  rocksdb::DB* db = nullptr;
  if (!rocksdb::DB::Open(options_of("cached", env), path, &db).ok()) return 1;
  const std::uint64_t count = values_in_order(*db);
  const bool is_right = db->VerifyChecksum().ok() && right_answers(*db, count) == 320 && report(pipe, count);
  delete db;
  return is_right ? 0 : 2;
}

/// Kills processes that write, `kills` times, and has both file systems recover the database in turn. RocksDB has
/// threads, and this library contexts, which a process that forks must not have. So each of these databases is in a
/// process of its own, and these cases come before the others.
void kill_writers(int kills) {
  const directory where;
  const std::string path = where / "db";
  const bool has_direct = has_direct_files(where);
  std::mt19937_64 random(7);
  std::uint64_t there = 0;
  for (int i = 0; i < kills; ++i) {
    const std::string mode = i % 2 == 0 && has_direct ? "direct" : "cached";
    CAPTURE(mode, i);
    std::uint64_t acknowledged = there;
    {
      const child writer([&](int pipe) { return put_values(path, mode, there, pipe); });
      for (std::uint64_t left = 1 + random() % 60; left != 0; --left)
        if (const auto count = writer.next()) acknowledged = *count;
      ::usleep(static_cast<unsigned>(random() % 2000));
      writer.kill();
      CHECK(WIFSIGNALED(writer.status()));  // it has not ended by itself, with an error
      while (const auto count = writer.next()) acknowledged = *count;
    }
    const child reader([&](int pipe) { return recover(path, i % 3 == 0 ? rocksdb::Env::Default() : ours(), pipe); });
    const auto found = reader.next();
    CHECK(reader.status() == 0);
    REQUIRE(found);
    CHECK(*found >= acknowledged);
    CHECK(*found <= acknowledged + 1);  // perhaps the last one, which was not acknowledged any more
    there = *found;
  }
  CHECK(there >= static_cast<std::uint64_t>(kills));
}

}  // namespace

TEST_CASE("what a killed process has put durably is found by both file systems") { kill_writers(8); }

TEST_CASE("what a killed process has put durably is found by both file systems: many kills", "[nightly]") {
  kill_writers(72);
}

TEST_CASE("a database is written, compacted and read in each mode, and RocksDB's own file system reads it") {
  const directory where;
  for (const std::string mode : modes) {
    CAPTURE(mode);
    if (mode == "direct" && !has_direct_files(where)) continue;
    const std::string path = where / mode.c_str();
    constexpr std::uint64_t count = 6000;
    {
      const auto db = open(path, options_of(mode, ours()));
      for (std::uint64_t n = 0; n < count; ++n) REQUIRE(db->Put({}, key_of(n * 7 % count), "old").ok());
      for (std::uint64_t n = 0; n < count; ++n)
        REQUIRE(db->Put({}, key_of(n * 7 % count), value_of(n * 7 % count)).ok());
      REQUIRE(db->Put({}, key_of(count), "gone").ok());
      REQUIRE(db->Delete({}, key_of(count)).ok());
      REQUIRE(db->Flush({}).ok());
      check_values(*db, count);
      REQUIRE(db->CompactRange({}, nullptr, nullptr).ok());
      check_values(*db, count);
    }
    for (rocksdb::Env* const env : {rocksdb::Env::Default(), ours()})
      check_values(*open(path, options_of("cached", env)), count);
  }
}

TEST_CASE("reads of several threads at once, of which each has many in flight, return what was written") {
  const directory where;
  for (const std::string mode : {"cached", "direct"}) {
    if (mode == "direct" && !has_direct_files(where)) continue;
    const auto db = open(where / mode.c_str(), options_of(mode, ours()));
    constexpr std::uint64_t count = 4000;
    for (std::uint64_t n = 0; n < count; ++n) REQUIRE(db->Put({}, key_of(n), value_of(n)).ok());
    REQUIRE(db->Flush({}).ok());
    std::array<std::size_t, 4> right{};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < right.size(); ++t)
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        for (int round = 0; round < 30; ++round) {
          std::vector<std::string> keys;
          for (int i = 0; i < 16; ++i) keys.push_back(key_of(random() % count));
          std::vector<std::string> values;
          const auto answers = db->MultiGet({}, std::vector<Slice>(keys.begin(), keys.end()), &values);
          for (std::size_t i = 0; i < keys.size(); ++i)
            right[t] += answers[i].ok() && values[i] == value_of(number_of(keys[i])) ? 1u : 0u;
        }
      });
    for (std::thread& each : threads) each.join();
    for (const std::size_t each : right) CHECK(each == 30 * 16);
  }
}

TEST_CASE("a database that is open cannot be opened again, by either file system") {
  const directory where;
  const auto db = open(where / "db", options_of("cached", ours()));
  for (rocksdb::Env* const env : {rocksdb::Env::Default(), ours()}) {
    rocksdb::DB* second = nullptr;
    CHECK(rocksdb::DB::Open(options_of("cached", env), where / "db", &second).IsIOError());
    CHECK(second == nullptr);
  }
}

TEST_CASE("a table that compaction has deleted is closed, and its space is free") {
  const directory where;
  const auto db = open(where / "db", options_of("cached", ours()));
  const auto open_and_deleted = [] {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      const std::string leads_to = std::filesystem::read_symlink(each.path(), ignored).string();
      count += leads_to.ends_with(".sst (deleted)") ? 1u : 0u;
    }
    return count;
  };
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t n = 0; n < 2000; ++n) REQUIRE(db->Put({}, key_of(n), value_of(n)).ok());
    REQUIRE(db->Flush({}).ok());
    check_values(*db, 2000);  // by MultiGet, on this thread's context, which stays
  }
  REQUIRE(db->CompactRange({}, nullptr, nullptr).ok());
  REQUIRE(db->Put({}, key_of(0), value_of(0)).ok());
  check_values(*db, 2000);
  CHECK(open_and_deleted() == 0);
}

TEST_CASE("a database's options choose the modes of its files") {
  rocksdb_file_system::file_system files;
  const directory where;
  if (!has_direct_files(where)) QIO_SKIP("no direct files here");
  const std::string path = where / "file";
  for (const bool is_direct : {true, false}) {
    CAPTURE(is_direct);
    rocksdb::FileOptions options;
    options.use_direct_writes = options.use_direct_reads = is_direct;
    std::unique_ptr<rocksdb::FSWritableFile> written;
    REQUIRE(files.NewWritableFile(path, options, &written, nullptr).ok());
    CHECK(written->use_direct_io() == is_direct);
    CHECK(written->Append(Slice("unaligned"), {}, nullptr).ok() == !is_direct);
    std::unique_ptr<rocksdb::FSRandomAccessFile> table;
    REQUIRE(files.NewRandomAccessFile(path, options, &table, nullptr).ok());
    CHECK(table->use_direct_io() == is_direct);
    std::unique_ptr<rocksdb::FSSequentialFile> log;
    REQUIRE(files.NewSequentialFile(path, options, &log, nullptr).ok());
    CHECK(log->use_direct_io() == is_direct);
  }
  rocksdb::FileOptions options;
  options.use_mmap_reads = true;
  std::unique_ptr<rocksdb::FSRandomAccessFile> table;
  REQUIRE(files.NewRandomAccessFile(path, options, &table, nullptr).ok());
  std::array<char, 9> unused{};
  Slice found;
  CHECK(table->Read(0, unused.size(), {}, &found, unused.data(), nullptr).ok());
  CHECK(found == "unaligned");
  CHECK(found.data() != unused.data());  // without a copy
}

TEST_CASE("what cannot be is an error of RocksDB's, with the library's sentence") {
  rocksdb_file_system::file_system files;
  const directory where;
  std::unique_ptr<rocksdb::FSRandomAccessFile> table;
  const auto missing = files.NewRandomAccessFile(where / "missing", {}, &table, nullptr);
  CHECK(missing.IsPathNotFound());
  CHECK(missing.ToString().find("missing") != std::string::npos);
  CHECK(files.FileExists(where / "missing", {}, nullptr).IsNotFound());
  CHECK(files.DeleteFile(where / "missing", {}, nullptr).IsPathNotFound());
  CHECK(files.CreateDir(where / "made", {}, nullptr).ok());
  CHECK(files.CreateDir(where / "made", {}, nullptr).IsIOError());
  CHECK(files.CreateDirIfMissing(where / "made", {}, nullptr).ok());
  bool is_directory = false;
  CHECK(files.IsDirectory(where / "made", {}, &is_directory, nullptr).ok());
  CHECK(is_directory);
}
