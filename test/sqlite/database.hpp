// A connection to a SQLite database, for tests.
#pragma once

#include "catch.hpp"

#include <sqlite3.h>
#include <storage.hpp>
#include <vfs.hpp>

#include <string>

namespace qio_test {

/// Whether this process has the VFS "qio"; the first call registers it.
inline bool has_vfs() {
  static const sqlite_vfs::vfs<sqlite_vfs::of_the_system> registered("qio", {});
  return registered.is_registered();
}

class database {
 public:
  /// `parameters`: of the URI, such as "vfs=qio&io=direct".
  database(const std::string& path, const std::string& parameters) {
    const std::string uri = "file:" + path + '?' + parameters;
    opened_ = sqlite3_open_v2(uri.c_str(), &connection_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI,
                              nullptr);
    sqlite3_busy_timeout(connection_, 30000);
  }
  database(const database&) = delete;
  database& operator=(const database&) = delete;
  ~database() { sqlite3_close_v2(connection_); }

  /// SQLite's code of the open.
  int opened() const { return opened_; }
  /// SQLite's code of the statements.
  int run(const std::string& statements) {
    return sqlite3_exec(connection_, statements.c_str(), nullptr, nullptr, nullptr);
  }
  /// All values of all rows, each followed by a space; "failed: " and why.
  std::string ask(const std::string& statements) {
    std::string all;
    const auto append = [](void* to, int columns, char** values, char**) {
      for (int i = 0; i < columns; ++i)
        *static_cast<std::string*>(to) += std::string(values[i] == nullptr ? "NULL" : values[i]) + ' ';
      return 0;
    };
    const int code = sqlite3_exec(connection_, statements.c_str(), append, &all, nullptr);
    return code == SQLITE_OK ? all : "failed: " + std::string(sqlite3_errmsg(connection_));
  }
  sqlite3* connection() const { return connection_; }

 private:
  sqlite3* connection_ = nullptr;
  int opened_ = SQLITE_ERROR;
};

/// How a test's databases are opened by the VFS, and what they keep a journal by.
constexpr const char* modes[] = {"cached", "direct", "mapped"};
constexpr const char* journals[] = {"delete", "truncate", "persist", "wal"};

/// Whether a database can be opened like this here. Skips the test case, with the reason, if not.
inline void require_mode(const std::string& directory, const std::string& mode) {
  if (mode != "direct") return;
  const auto direct = qio::direct_file::open(directory + "/probe", qio::access::read_write, qio::creation::if_needed);
  static_cast<void>(qio::remove(directory + "/probe"));
  if (!direct) QIO_SKIP("no direct files here: " + direct.error().code().message());
}

}  // namespace qio_test
