// The VFS of example/sqlite_vfs beside SQLite's own: the same databases, and the same meaning of locks.
#include "database.hpp"
#include "directory.hpp"
#include "immutable.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using qio_test::database;
using qio_test::directory;
using qio_test::journals;
using qio_test::modes;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Statements that insert, change and delete, spill the cache, roll back, and shrink the file. No random values.
void work(database& db, const std::string& journal) {
  CHECK(db.ask("PRAGMA journal_mode=" + journal) == journal + ' ');
  CHECK(db.run("PRAGMA synchronous=OFF; PRAGMA cache_size=20; PRAGMA mmap_size=1000000") == SQLITE_OK);
  CHECK(db.run("CREATE TABLE t(number INTEGER PRIMARY KEY, text TEXT); CREATE INDEX by_text ON t(text)") == SQLITE_OK);
  for (int round = 1; round <= 2; ++round) {
    const std::string r = std::to_string(round);
    CHECK(db.run("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 500) INSERT INTO t(text) "
                 "SELECT printf('%d-%d-%.*c', x * 7919 % 501, " +
                 r + ", x % 200, 'x') FROM n") == SQLITE_OK);
    CHECK(db.run("UPDATE t SET text = text || 'y' WHERE number % 5 = 0") == SQLITE_OK);
    CHECK(db.run("BEGIN; DELETE FROM t; ROLLBACK") == SQLITE_OK);
    CHECK(db.run("BEGIN; UPDATE t SET text = 'lost'; ROLLBACK") == SQLITE_OK);
    CHECK(db.run("DELETE FROM t WHERE number % 3 = " + std::to_string(round % 3)) == SQLITE_OK);
  }
  CHECK(db.run("VACUUM") == SQLITE_OK);
  CHECK(db.ask("PRAGMA integrity_check") == "ok ");
}

/// Whether this process has the file open with O_DIRECT, or, if `is_mapped`, mapped.
bool is_open_as(const std::string& path, bool is_mapped) {
  const std::string full = std::filesystem::canonical(path).string();
  if (is_mapped) return contents("/proc/self/maps").find(full + '\n') != std::string::npos;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    if (std::filesystem::read_symlink(each.path(), closed) != full) continue;
    return (std::stoul(contents("/proc/self/fdinfo/" + each.path().filename().string()).substr(13), nullptr, 8) &
            O_DIRECT) != 0;  // "pos:\t0\nflags:\t0100002"
  }
  return false;
}

}  // namespace

TEST_CASE("the URI's parameter io chooses how the database is read and written") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  for (const std::string mode : modes) {
    CAPTURE(mode);
    if (mode == "direct") qio_test::require_mode(where.path(), mode);
    database db(where / "db", "vfs=qio&io=" + mode);
    REQUIRE(db.run("CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES(1)") == SQLITE_OK);
    REQUIRE(db.ask("SELECT count(*) FROM t") != "0 ");
    CHECK(is_open_as(where / "db", false) == (mode == "direct"));
    CHECK(is_open_as(where / "db", true) == (mode == "mapped"));
  }
}

TEST_CASE("a database has the same bytes as by SQLite's own VFS, in each mode and with each journal") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  for (const std::string mode : modes) {
    for (const std::string journal : journals) {
      for (const std::string bytes : {"4096", "512", "65536"}) {
        if (bytes != "4096" && journal != "delete") continue;  // what a page size changes, it changes with each journal
        CAPTURE(mode, journal, bytes);
        if (mode == "direct") qio_test::require_mode(where.path(), mode);
        for (const std::string name : {"ours", "unix"}) {
          database db(where / name.c_str(), name == "ours" ? "vfs=qio&io=" + mode : "vfs=unix");
          REQUIRE(db.opened() == SQLITE_OK);
          REQUIRE(db.run("PRAGMA page_size=" + bytes) == SQLITE_OK);
          work(db, journal);
        }
        CHECK(where.entries() == (journal == "persist" || journal == "truncate" ? 4u : 2u));  // with a journal
        const std::string ours = contents(where / "ours");
        CHECK(ours.size() > 30000);
        CHECK((ours == contents(where / "unix")));
        for (const std::string name : {"ours", "unix", "ours-journal", "unix-journal"})
          static_cast<void>(qio::remove(where / name.c_str()));
      }
    }
  }
}

TEST_CASE("the URI's parameter io must name a mode") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  CHECK(database(where / "db", "vfs=qio&io=fast").opened() == SQLITE_CANTOPEN);
  CHECK(where.entries() == 0);
}

TEST_CASE("a database that may not be written is read") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  {
    database db(where / "db", "vfs=qio");
    REQUIRE(db.run("CREATE TABLE t(x); INSERT INTO t VALUES(7)") == SQLITE_OK);
  }
  database db(where / "db", "vfs=qio&mode=ro");
  CHECK(db.ask("SELECT x FROM t") == "7 ");
  CHECK(db.run("INSERT INTO t VALUES(8)") == SQLITE_READONLY);
}

TEST_CASE("a database that the file system lets nobody write is read, as by the unix VFS") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  {
    database db(where / "db", "vfs=qio");
    REQUIRE(db.run("CREATE TABLE t(x); INSERT INTO t VALUES(7)") == SQLITE_OK);
  }
  const qio_test::immutable fixed(where / "db");
  if (!fixed.is_set()) QIO_SKIP("no file can be made immutable here: it needs root, and ext4 or XFS");
  for (const char* const vfs : {"vfs=qio", "vfs=unix"}) {
    CAPTURE(vfs);
    database db(where / "db", vfs);
    CHECK(db.ask("SELECT x FROM t") == "7 ");
    CHECK(db.run("INSERT INTO t VALUES(8)") == SQLITE_READONLY);
  }
  CHECK(database(where.path(), "vfs=qio").opened() == database(where.path(), "vfs=unix").opened());
}

TEST_CASE("a journal and a log get the permissions of their database, whatever the umask") {
  REQUIRE(qio_test::has_vfs());
  const mode_t before = ::umask(022);
  for (const std::uint32_t permissions : {0600u, 0666u}) {
    for (const std::string journal : {"persist", "wal"}) {
      CAPTURE(permissions, journal);
      const directory where;
      database db(where / "db", "vfs=qio");
      REQUIRE(db.run("CREATE TABLE t(x)") == SQLITE_OK);
      REQUIRE(qio::cached_file::open(where / "db", qio::access::read_write).value().set_permissions(permissions));
      CHECK(db.ask("PRAGMA journal_mode=" + journal) == journal + ' ');
      CHECK(db.run("INSERT INTO t VALUES(1)") == SQLITE_OK);
      for (const std::string name : journal == "wal" ? std::vector{"db-wal", "db-shm"} : std::vector{"db-journal"})
        CHECK(qio::status(where / name.c_str()).value().permissions == permissions);
    }
  }
  ::umask(before);
}

TEST_CASE("what SQLite sorts or spills goes to files without a name") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  database db(where / "db", "vfs=qio");
  REQUIRE(db.run("PRAGMA temp_store=FILE; PRAGMA cache_size=5; CREATE TEMP TABLE t(x); CREATE TABLE s(y)") ==
          SQLITE_OK);
  REQUIRE(db.run("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3000) INSERT INTO t SELECT "
                 "printf('%.*c', 500, 'x') || x FROM n") == SQLITE_OK);
  CHECK(db.ask("SELECT count(*), count(DISTINCT x) FROM t") == "3000 3000 ");
  CHECK(where.entries() == 1);
}

TEST_CASE("the name of a database is absolute, also of a new one") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  const std::string path = std::filesystem::relative(where / "db").string();
  for (const char* const when : {"new", "existing"}) {
    CAPTURE(when);
    database db(path, "vfs=qio");
    REQUIRE(db.run("CREATE TABLE IF NOT EXISTS t(x)") == SQLITE_OK);
    CHECK(std::string(sqlite3_db_filename(db.connection(), "main")) == std::filesystem::canonical(path).string());
  }
}

TEST_CASE("SQLite notices that a database has been renamed, and does not write") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  database db(where / "db", "vfs=qio");
  REQUIRE(db.run("CREATE TABLE t(x)") == SQLITE_OK);
  REQUIRE(qio::rename(where / "db", where / "elsewhere"));
  CHECK(db.run("INSERT INTO t VALUES(1)") == SQLITE_READONLY);
  CHECK(sqlite3_extended_errcode(db.connection()) == SQLITE_READONLY_DBMOVED);
}

TEST_CASE("a reader keeps a writer out until it ends, whichever VFS each has") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  for (const std::string reads : {"qio", "unix"}) {
    for (const std::string writes : {"qio", "unix"}) {
      CAPTURE(reads, writes);
      database reader(where / "db", "vfs=" + reads), writer(where / "db", "vfs=" + writes);
      if (reads == "unix" && writes == "unix") continue;  // locks of one process, which are not ours
      sqlite3_busy_timeout(writer.connection(), 0);
      sqlite3_busy_timeout(reader.connection(), 0);
      REQUIRE(writer.run("DROP TABLE IF EXISTS t; CREATE TABLE t(x); INSERT INTO t VALUES(1)") == SQLITE_OK);
      REQUIRE(reader.run("BEGIN") == SQLITE_OK);
      CHECK(reader.ask("SELECT x FROM t") == "1 ");
      CHECK(writer.run("BEGIN IMMEDIATE") == SQLITE_OK);
      CHECK(reader.run("INSERT INTO t VALUES(3)") == SQLITE_BUSY);  // the writer has reserved it
      CHECK(writer.run("INSERT INTO t VALUES(2)") == SQLITE_OK);
      CHECK(writer.run("COMMIT") == SQLITE_BUSY);
      if (reads == "qio") {  // SQLite's own VFS lets another reader of the same process in
        database late(where / "db", "vfs=" + reads);
        sqlite3_busy_timeout(late.connection(), 0);
        CHECK(late.ask("SELECT x FROM t") == "failed: database is locked");  // or the writer would never get in
      }
      CHECK(reader.run("COMMIT") == SQLITE_OK);
      CHECK(writer.run("COMMIT") == SQLITE_OK);
      CHECK(reader.ask("SELECT count(*) FROM t") == "2 ");
    }
  }
}

TEST_CASE("an index of the log that is older than the log is not believed") {
  REQUIRE(qio_test::has_vfs());
  const directory where;
  const auto copy = [&](const char* from, const char* to) {
    std::ofstream(where / to, std::ios::binary) << contents(where / from);
  };
  database db(where / "db", "vfs=qio");
  REQUIRE(db.run("PRAGMA journal_mode=wal; CREATE TABLE t(x); INSERT INTO t VALUES(1)") == SQLITE_OK);
  copy("db-shm", "crashed-shm");
  REQUIRE(db.run("INSERT INTO t VALUES(2)") == SQLITE_OK);
  copy("db", "crashed");
  copy("db-wal", "crashed-wal");
  CHECK(database(where / "crashed", "vfs=qio").ask("SELECT x FROM t") == "1 2 ");
}

TEST_CASE("connections of several threads increment a counter, and no increment is lost") {
  REQUIRE(qio_test::has_vfs());
  for (const std::string journal : journals) {
    CAPTURE(journal);
    const directory where;
    {
      database db(where / "db", "vfs=qio");
      CHECK(db.ask("PRAGMA journal_mode=" + journal) == journal + ' ');
      REQUIRE(db.run("CREATE TABLE counter(n); INSERT INTO counter VALUES(0)") == SQLITE_OK);
    }
    constexpr int increments = 30;
    std::vector<int> codes(4, SQLITE_OK);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < codes.size(); ++i)
      threads.emplace_back([&, i] {
        database db(where / "db", i == 0 ? "vfs=unix" : "vfs=qio&io=mapped");
        for (int n = 0; n < increments && codes[i] == SQLITE_OK; ++n)
          codes[i] = db.run("BEGIN IMMEDIATE; UPDATE counter SET n = n + 1; COMMIT");
      });
    for (std::thread& each : threads) each.join();
    for (const int code : codes) CHECK(code == SQLITE_OK);
    database db(where / "db", "vfs=unix");
    CHECK(db.ask("SELECT n FROM counter") == std::to_string(increments * 4) + ' ');
    CHECK(db.ask("PRAGMA integrity_check") == "ok ");
  }
}
