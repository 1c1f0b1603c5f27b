// The index of a write-ahead log: memory that all connections to a database share, in a mapped file beside it.
#pragma once

#include "locking.hpp"
#include <qio/qio.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>

namespace sqlite_vfs {

/// One connection's mapping of the index, and its locks there: bytes of the file that SQLite's VFS for Unix locks, too.
class wal_index {
 public:
  static constexpr std::uint64_t first_slot = 120;  ///< of SQLITE_SHM_NLOCK, which SQLite gives their meaning
  static constexpr qio::extent in_use{first_slot + SQLITE_SHM_NLOCK, 1};  ///< shared as long as a connection is open

  bool is_open() const { return file_.has_value(); }

  /// The first of all connections finds an index that a crash may have left: it empties it, and SQLite recovers it from
  /// the log.
  int open(const std::string& path, std::uint32_t permissions) {
    auto opened = qio::mapped_file::open(path, qio::access::read_write, qio::creation::if_needed,
                                         {.permissions = permissions, .guards_copies = false});
    if (!opened) return SQLITE_CANTOPEN;
    const auto is_first = opened.value().try_lock(qio::lock_kind::exclusive, in_use);
    if (!is_first) return SQLITE_IOERR_SHMLOCK;
    if (is_first.value() && !opened.value().resize(0)) return SQLITE_IOERR_SHMOPEN;
    if (is_first.value()) static_cast<void>(opened.value().set_permissions(permissions));  // as its owner may
    // This converts an exclusive lock to a shared one, in one step.
    const int code = code_of_lock(opened.value().try_lock(qio::lock_kind::shared, in_use), SQLITE_IOERR_SHMLOCK);
    if (code == SQLITE_OK) file_.emplace(std::move(opened).value());
    return code;
  }

  /// The memory of a region. It stays where it is until the index is closed, also when the file grows. None if the file
  /// has no such region, and `extends` is false.
  int map(int region, int bytes, bool extends, volatile void*& memory) {
    memory = nullptr;
    const auto length = static_cast<std::uint64_t>(bytes), begin = static_cast<std::uint64_t>(region) * length;
    const auto size = file_->size();
    if (!size) return SQLITE_IOERR_SHMSIZE;
    if (size.value() < begin + length) {
      if (!extends) return SQLITE_OK;
      // A store to a hole would end the process if the disk is full; this fails instead.
      if (!file_->allocate(size.value(), begin + length - size.value(), qio::allocation::extend))
        return SQLITE_IOERR_SHMSIZE;
    }
    const auto view = file_->writable_view(begin, static_cast<std::size_t>(bytes));
    if (!view) return SQLITE_IOERR_SHMMAP;
    memory = view.value().data();
    return SQLITE_OK;
  }

  /// `flags`: SQLITE_SHM_LOCK or UNLOCK, with SHARED or EXCLUSIVE.
  int lock(int slot, int count, int flags) {
    const qio::extent range{first_slot + static_cast<std::uint64_t>(slot), static_cast<std::uint64_t>(count)};
    if ((flags & SQLITE_SHM_UNLOCK) != 0) return file_->unlock(range) ? SQLITE_OK : SQLITE_IOERR_SHMLOCK;
    const auto kind = (flags & SQLITE_SHM_SHARED) != 0 ? qio::lock_kind::shared : qio::lock_kind::exclusive;
    return code_of_lock(file_->try_lock(kind, range), SQLITE_IOERR_SHMLOCK);
  }

  void close() { file_.reset(); }

 private:
  std::optional<qio::mapped_file> file_;
};

}  // namespace sqlite_vfs
