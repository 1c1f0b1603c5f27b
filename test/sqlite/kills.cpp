// A process that writes to a database is killed again and again: what it had committed is there.
#include "database.hpp"
#include "directory.hpp"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace {

using qio_test::database;
using qio_test::directory;

/// A process that commits rows, several at a time, and reports each commit by a pipe.
class writer {
 public:
  writer(const std::string& path, const std::string& parameters, std::int64_t first) {
    REQUIRE(::pipe(ends_.data()) == 0);
    child_ = ::fork();
    if (child_ == 0) write_rows(path, parameters, first);
    ::close(ends_[1]);
  }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;
  ~writer() { ::close(ends_[0]); }

  /// The number of the last commit that was reported, when the process has been killed after `commits` of them, and a
  /// random part of the next one.
  std::int64_t kill_after(std::uint64_t commits, std::mt19937_64& random) {
    std::int64_t last = 0;
    std::int64_t read = 0;
    for (std::uint64_t i = 0; i < commits && ::read(ends_[0], &read, sizeof read) == sizeof read; ++i) last = read;
    ::usleep(static_cast<unsigned>(random() % 3000));
    ::kill(child_, SIGKILL);
    int status = 0;
    ::waitpid(child_, &status, 0);
    CHECK(WIFSIGNALED(status));  // it has not ended by itself, with an error
    while (::read(ends_[0], &read, sizeof read) == sizeof read) last = read;
    return last;
  }

 private:
  [[noreturn]] void write_rows(const std::string& path, const std::string& parameters, std::int64_t first) const {
    database db(path, parameters);
    db.run("PRAGMA cache_size=10");  // so that pages go to the file before the commit
    for (std::int64_t n = first;; ++n) {
      const std::string number = std::to_string(n);
      const int code = db.run("BEGIN IMMEDIATE; INSERT INTO t SELECT " + number + ", value, hex(randomblob(" +
                              std::to_string(n * 37 % 900) +
                              ")) FROM generate; UPDATE t SET text = text || 'x' WHERE "
                              "n = " +
                              number + " - 1; COMMIT");
      if (code != SQLITE_OK || ::write(ends_[1], &n, sizeof n) != sizeof n) ::_exit(code == SQLITE_OK ? 1 : code);
    }
  }

  std::array<int, 2> ends_{};
  pid_t child_ = 0;
};

/// Kills writers of a database in each mode, `kills` of each journal, and recovers it by both VFSs in turn.
void kill_writers(int kills) {
  const directory where;
  std::mt19937_64 random(7);
  for (const std::string journal : qio_test::journals) {
    std::string path = where / journal.c_str();
    {
      database db(path, "vfs=unix");
      CHECK(db.ask("PRAGMA journal_mode=" + journal) == journal + ' ');
      REQUIRE(db.run("CREATE TABLE t(n, value, text); CREATE INDEX by_n ON t(n); CREATE INDEX by_text ON t(text);"
                     "CREATE TABLE generate(value); INSERT INTO generate VALUES(1),(2),(3),(4),(5)") == SQLITE_OK);
    }
    std::int64_t next = 1;
    for (int i = 0; i < kills; ++i) {
      const std::string mode = qio_test::modes[static_cast<std::size_t>(i) % 3];
      CAPTURE(journal, mode, i);
      const std::int64_t last = writer(path, "vfs=qio&io=" + mode, next).kill_after(random() % 20, random);
      database db(path, i % 2 == 0 ? "vfs=unix" : "vfs=qio&io=" + mode);
      CHECK(db.ask("PRAGMA integrity_check") == "ok ");
      const std::int64_t found = std::atoll(db.ask("SELECT ifnull(max(n), 0) FROM t").c_str());
      CHECK(found >= last);
      CHECK(db.ask("SELECT count(*), count(DISTINCT n) FROM t") ==
            std::to_string(found * 5) + ' ' + std::to_string(found) + ' ');  // each commit is whole
      next = found + 1;
    }
    CHECK(next > kills);
  }
}

}  // namespace

TEST_CASE("what a killed process has committed is found by both VFSs, and nothing else") {
  REQUIRE(qio_test::has_vfs());
  qio_test::require_mode(".", "direct");
  kill_writers(6);
}

TEST_CASE("what a killed process has committed is found by both VFSs: many kills", "[nightly]") {
  REQUIRE(qio_test::has_vfs());
  qio_test::require_mode(".", "direct");
  kill_writers(60);
}
