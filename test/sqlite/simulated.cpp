// SQLite on the simulated disk, by the same VFS: power failures and failing syncs.
#include "database.hpp"

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

using qio_test::database;
using sqlite_vfs::on_a_simulated_disk;

struct journal {
  const char* name;
  const char* pragmas;
};

/// In these settings, SQLite promises that what is committed survives a power failure. A log has its index in the
/// connection's memory if no other connection can use the database, since a simulated file cannot be mapped.
constexpr journal durable_journals[] = {
    {"delete", "PRAGMA synchronous=EXTRA"},
    {"truncate", "PRAGMA synchronous=FULL"},
    {"persist", "PRAGMA synchronous=FULL"},
    {"wal", "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL"},
};

/// Commits rows until the power fails or a commit does. Returns the number of the last that succeeded.
std::int64_t commit_rows(const std::string& parameters, const journal& by, std::int64_t first, std::int64_t limit) {
  database db("db", parameters);
  if (db.opened() != SQLITE_OK || db.run(by.pragmas) != SQLITE_OK) return first - 1;
  if (db.run("PRAGMA cache_size=5; PRAGMA journal_mode=" + std::string(by.name)) != SQLITE_OK) return first - 1;
  db.run("CREATE TABLE IF NOT EXISTS t(n, text); CREATE INDEX IF NOT EXISTS by_text ON t(text)");
  std::int64_t n = first;
  for (; n < limit; ++n) {
    const std::string number = std::to_string(n);
    if (db.run("BEGIN; INSERT INTO t SELECT " + number +
               ", hex(randomblob(400)) FROM (VALUES (1),(2),(3)); DELETE FROM "
               "t WHERE n = " +
               number + " - 7; COMMIT") != SQLITE_OK)
      break;
  }
  return n - 1;
}

/// What a new connection finds, which recovers the database: the number of the last row; -1 if it is damaged.
std::int64_t recover(const std::string& parameters, const journal& by) {
  database db("db", parameters);
  db.run(by.pragmas);
  if (db.ask("PRAGMA integrity_check") != "ok ") return -1;
  db.run("CREATE TABLE IF NOT EXISTS t(n, text); CREATE INDEX IF NOT EXISTS by_text ON t(text)");
  const std::string rows = db.ask("SELECT count(*), count(DISTINCT n) * 3, ifnull(max(n), 0) FROM t");
  char* end = nullptr;
  const long long all = std::strtoll(rows.c_str(), &end, 10), whole = std::strtoll(end, &end, 10);
  return all == whole ? std::strtoll(end, nullptr, 10) : -1;
}

/// `crashes` databases, each of which loses its power twice.
void cut_power(const journal& by, const std::string& mode, std::uint64_t crashes, double sync_errors) {
  const std::string parameters = "vfs=simulated&io=" + mode;
  std::uint64_t with_rows = 0;
  for (std::uint64_t seed = 1; seed <= crashes; ++seed) {
    CAPTURE(by.name, mode, seed, sync_errors);
    qio::simulated_disk disk(
        {.seed = seed, .short_transfers = 0.05, .interruptions = 0.05, .sync_errors = sync_errors});
    std::int64_t acknowledged = 0;
    for (int failures = 0; failures <= 2; ++failures) {
      auto context = on_a_simulated_disk::context_type::create({.disk = &disk}).value();
      const sqlite_vfs::vfs<on_a_simulated_disk> registered("simulated", on_a_simulated_disk(context));
      REQUIRE(registered.is_registered());
      const std::int64_t found = recover(parameters, by);
      REQUIRE(found >= acknowledged);
      disk.cut_power_after(20 + seed * 7919 % 700);
      acknowledged = commit_rows(parameters, by, found + 1, found + 40);
      with_rows += acknowledged > found ? 1 : 0;
      disk.restart();
    }
  }
  CHECK(with_rows > crashes / 2);  // not all of them before the first commit
}

void cut_power_of_each(std::uint64_t crashes) {
  for (const journal& each : durable_journals)
    for (const std::string mode : {"cached", "direct"}) cut_power(each, mode, crashes, 0);
}

}  // namespace

TEST_CASE("what SQLite has committed survives a power failure, with each journal") { cut_power_of_each(25); }

TEST_CASE("what SQLite has committed survives a power failure, with each journal: many failures", "[nightly]") {
  cut_power_of_each(1500);
}
