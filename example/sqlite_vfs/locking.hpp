// The five locks of a SQLite database, made of locks of byte ranges: the protocol of SQLite's own VFS for Unix, so that
// programs which use the one and the other can share a database.
#pragma once

#include <qio/qio.hpp>

#include <sqlite3.h>

#include <cstdint>

namespace sqlite_vfs {

/// From SQLite's file format: https://www.sqlite.org/fileformat2.html, "The Lock-Byte Page". No data is ever there.
constexpr std::uint64_t first_lock_byte = 0x40000000;
constexpr qio::extent pending_byte{first_lock_byte, 1};       ///< shared to become a reader, exclusive to keep them out
constexpr qio::extent reserved_byte{first_lock_byte + 1, 1};  ///< exclusive: somebody is going to write
constexpr qio::extent shared_bytes{first_lock_byte + 2, 510};  ///< shared: somebody reads. Exclusive: somebody writes

/// Of SQLite's error codes, that of a lock that was asked for: success, refused, or failed.
inline int code_of_lock(const qio::result<bool>& locked, int failure) {
  if (!locked) return failure;
  return locked.value() ? SQLITE_OK : SQLITE_BUSY;
}

/// What a connection has locked of its database: SQLITE_LOCK_NONE, SHARED, RESERVED, PENDING or EXCLUSIVE, in this
/// order. The locks belong to the open file, not to the process. So two connections of one process keep each other out,
/// and closing one of them takes nothing from the other; neither holds for the locks that POSIX has for processes, for
/// which SQLite's own VFS needs a table of all open files.
template <class File>
class locking {
 public:
  int level() const { return level_; }

  int raise(File& file, int wanted) {
    if (wanted <= level_) return SQLITE_OK;
    if (wanted == SQLITE_LOCK_SHARED) return begin_to_read(file);
    if (wanted == SQLITE_LOCK_RESERVED) return take(file, reserved_byte, SQLITE_LOCK_RESERVED);
    if (level_ < SQLITE_LOCK_PENDING)
      if (const int code = take(file, pending_byte, SQLITE_LOCK_PENDING); code != SQLITE_OK) return code;
    return take(file, shared_bytes, SQLITE_LOCK_EXCLUSIVE);  // those who still read keep it out
  }

  /// To SHARED or NONE.
  int lower(File& file, int wanted) {
    if (wanted >= level_) return SQLITE_OK;
    // The shared lock replaces the exclusive one in one step; nobody else can become the writer in between.
    if (wanted == SQLITE_LOCK_SHARED && level_ == SQLITE_LOCK_EXCLUSIVE && !file.try_lock(shared, shared_bytes))
      return SQLITE_IOERR_RDLOCK;
    const bool ends = wanted == SQLITE_LOCK_NONE;
    const qio::extent given_back{first_lock_byte,
                                 ends ? shared_bytes.offset + shared_bytes.bytes - first_lock_byte : 2};
    if (!file.unlock(given_back)) return SQLITE_IOERR_UNLOCK;
    level_ = wanted;
    return SQLITE_OK;
  }

  /// Whether somebody is going to write, this connection or another.
  int find_reserved(File& file, int& found) {
    if (level_ >= SQLITE_LOCK_RESERVED) {
      found = 1;
      return SQLITE_OK;
    }
    const auto locked = file.is_locked(exclusive, reserved_byte);
    if (!locked) return SQLITE_IOERR_CHECKRESERVEDLOCK;
    found = locked.value() ? 1 : 0;
    return SQLITE_OK;
  }

 private:
  static constexpr auto shared = qio::lock_kind::shared, exclusive = qio::lock_kind::exclusive;

  // A writer that waits for the readers to end holds the pending byte; so no new ones get past it.
  int begin_to_read(File& file) {
    if (const int code = code_of_lock(file.try_lock(shared, pending_byte), SQLITE_IOERR_LOCK); code != SQLITE_OK)
      return code;
    const auto locked = file.try_lock(shared, shared_bytes);
    if (!file.unlock(pending_byte)) return SQLITE_IOERR_UNLOCK;
    if (locked && locked.value()) level_ = SQLITE_LOCK_SHARED;
    return code_of_lock(locked, SQLITE_IOERR_LOCK);
  }

  int take(File& file, const qio::extent& range, int reached) {
    const int code = code_of_lock(file.try_lock(exclusive, range), SQLITE_IOERR_LOCK);
    if (code == SQLITE_OK) level_ = reached;
    return code;
  }

  int level_ = SQLITE_LOCK_NONE;
};

}  // namespace sqlite_vfs
