// One open file of SQLite: a database, a journal, or a write-ahead log.
#pragma once

#include "locking.hpp"
#include "storage.hpp"
#include "wal_index.hpp"
#include <qio/bounced.hpp>
#include <qio/qio.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace sqlite_vfs {

/// SQLite knows no exceptions. The library throws only if memory is exhausted.
template <class Call>
int guarded(Call&& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return SQLITE_IOERR_NOMEM;
  } catch (...) {
    return SQLITE_IOERR;
  }
}

/// How a file was opened, besides its mode.
struct opening {
  std::string path;     ///< empty for a temporary file
  bool is_new = false;  ///< its name is durable only after a sync of its directory
  bool is_removed_at_end = false;
};

template <class Mode, class Storage>
class database_file : public sqlite3_file {
 public:
  using file_type = typename Storage::template file<Mode>;

  database_file(const Storage& storage, file_type&& file, opening&& how)
      : sqlite3_file{&methods}, storage_(storage), file_(std::move(file)), how_(std::move(how)) {
    if constexpr (Mode::is_direct)
      pool_.emplace(qio::bounce_pool::allocate({.slots = 1, .slot_bytes = 2 * largest_page}).value());
  }

 private:
  static constexpr std::size_t largest_page = 64 * 1024;
  static constexpr bool maps = Mode::is_mapped, shares_memory = Storage::has_mapped_files;

  // --- Transfers ---

  /// Whatever a direct file needs, SQLite transfers headers of 16 bytes, and pages from memory of any address.
  decltype(auto) transfers() {
    if constexpr (Mode::is_direct)
      return qio::bounced(file_, *pool_);
    else
      return (file_);
  }

  int read(std::span<std::byte> buffer, std::uint64_t offset) {
    const auto bytes = transfers().read_at(offset, buffer);
    if (!bytes) return SQLITE_IOERR_READ;
    if (bytes.value() == buffer.size()) return SQLITE_OK;
    std::fill(buffer.begin() + static_cast<std::ptrdiff_t>(bytes.value()), buffer.end(), std::byte{0});
    return SQLITE_IOERR_SHORT_READ;  // the end of the file: SQLite wants zeros there
  }

  int write(std::span<const std::byte> buffer, std::uint64_t offset) {
    const auto written = transfers().write_at(offset, buffer);
    if (written) return SQLITE_OK;
    return written.error() == std::errc::no_space_on_device ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  }

  int truncate(std::uint64_t bytes) { return file_.resize(bytes) ? SQLITE_OK : SQLITE_IOERR_TRUNCATE; }

  /// After a failed sync, the library lets every later one fail, too: what the kernel has dropped is not reported as
  /// durable. SQLite then rolls the transaction back, or reports the error.
  int sync(int flags) {
    const bool only_data = (flags & SQLITE_SYNC_DATAONLY) != 0;
    if (!file_.sync(only_data ? qio::sync_kind::data_and_size : qio::sync_kind::everything)) return SQLITE_IOERR_FSYNC;
    if (how_.is_new && !storage_.sync_directory(directory_of(how_.path))) return SQLITE_IOERR_DIR_FSYNC;
    how_.is_new = false;
    return SQLITE_OK;
  }

  int size(sqlite3_int64& bytes) {
    const auto found = file_.size();
    if (!found) return SQLITE_IOERR_FSTAT;
    bytes = static_cast<sqlite3_int64>(found.value());
    return SQLITE_OK;
  }

  /// A page without a copy, for PRAGMA mmap_size. Views stay valid while the file grows.
  int view(std::uint64_t offset, std::size_t bytes, void*& memory) {
    memory = nullptr;
    if constexpr (maps)
      if (const auto found = file_.view(offset, bytes)) memory = const_cast<std::byte*>(found.value().data());
    return SQLITE_OK;  // without memory, SQLite reads
  }

  // --- The index of the log ---

  int map_index(int region, int bytes, bool extends, volatile void*& memory) {
    if (!index_.is_open()) {
      const auto own = file_.status();
      if (!own) return SQLITE_IOERR_FSTAT;
      if (const int code = index_.open(how_.path + "-shm", own.value().permissions); code != SQLITE_OK) return code;
    }
    return index_.map(region, bytes, extends, memory);
  }

  int unmap_index(bool is_last) {
    if (!index_.is_open()) return SQLITE_OK;
    if (is_last && !storage_.remove(how_.path + "-shm", false)) return SQLITE_IOERR_DELETE;
    index_.close();
    return SQLITE_OK;
  }

  // --- What else SQLite asks ---

  int control(int what, void* argument) {
    switch (what) {
      case SQLITE_FCNTL_LOCKSTATE: *static_cast<int*>(argument) = locks_.level(); return SQLITE_OK;
      case SQLITE_FCNTL_HAS_MOVED: return find_moved(*static_cast<int*>(argument));
      case SQLITE_FCNTL_PERSIST_WAL: return switch_option(keeps_log_, *static_cast<int*>(argument));
      case SQLITE_FCNTL_POWERSAFE_OVERWRITE: return switch_option(is_power_safe_, *static_cast<int*>(argument));
      default: return SQLITE_NOTFOUND;
    }
  }

  /// Negative: asks. Otherwise sets.
  static int switch_option(bool& option, int& argument) {
    if (argument < 0)
      argument = option ? 1 : 0;
    else
      option = argument != 0;
    return SQLITE_OK;
  }

  /// Whether the path has come to lead to another file, or to none.
  int find_moved(int& has_moved) {
    const auto own = file_.status(), now = storage_.status(how_.path);
    has_moved = !own || !now || own.value().id != now.value().id ? 1 : 0;
    return SQLITE_OK;
  }

  int close() {
    const bool is_removed = how_.is_removed_at_end && !how_.path.empty();
    if (is_removed) static_cast<void>(storage_.remove(how_.path, false));
    const bool closed = file_.close().has_value();
    std::destroy_at(this);
    return closed ? SQLITE_OK : SQLITE_IOERR_CLOSE;
  }

  static std::string directory_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }

  // --- For SQLite, which calls functions of C ---

  template <class Call>
  static int on(sqlite3_file* file, Call&& call) noexcept {
    return guarded([&] { return call(*static_cast<database_file*>(file)); });
  }

  static constexpr sqlite3_io_methods methods = {
      .iVersion = maps            ? 3
                  : shares_memory ? 2
                                  : 1,
      .xClose = [](sqlite3_file* f) noexcept { return on(f, [](auto& self) { return self.close(); }); },
      .xRead =
          [](sqlite3_file* f, void* memory, int bytes, sqlite3_int64 offset) noexcept {
            const std::span buffer(static_cast<std::byte*>(memory), static_cast<std::size_t>(bytes));
            return on(f, [&](auto& self) { return self.read(buffer, static_cast<std::uint64_t>(offset)); });
          },
      .xWrite =
          [](sqlite3_file* f, const void* memory, int bytes, sqlite3_int64 offset) noexcept {
            const std::span buffer(static_cast<const std::byte*>(memory), static_cast<std::size_t>(bytes));
            return on(f, [&](auto& self) { return self.write(buffer, static_cast<std::uint64_t>(offset)); });
          },
      .xTruncate =
          [](sqlite3_file* f, sqlite3_int64 bytes) noexcept {
            return on(f, [&](auto& self) { return self.truncate(static_cast<std::uint64_t>(bytes)); });
          },
      .xSync = [](sqlite3_file* f, int flags) noexcept { return on(f, [&](auto& self) { return self.sync(flags); }); },
      .xFileSize = [](sqlite3_file* f,
                      sqlite3_int64* bytes) noexcept { return on(f, [&](auto& self) { return self.size(*bytes); }); },
      .xLock =
          [](sqlite3_file* f, int level) noexcept {
            return on(f, [&](auto& self) { return self.locks_.raise(self.file_, level); });
          },
      .xUnlock =
          [](sqlite3_file* f, int level) noexcept {
            return on(f, [&](auto& self) { return self.locks_.lower(self.file_, level); });
          },
      .xCheckReservedLock =
          [](sqlite3_file* f, int* found) noexcept {
            return on(f, [&](auto& self) { return self.locks_.find_reserved(self.file_, *found); });
          },
      .xFileControl =
          [](sqlite3_file* f, int what, void* argument) noexcept {
            return on(f, [&](auto& self) { return self.control(what, argument); });
          },
      .xSectorSize = [](sqlite3_file*) noexcept { return 4096; },
      .xDeviceCharacteristics =
          [](sqlite3_file* f) noexcept {
            return static_cast<database_file*>(f)->is_power_safe_ ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0;
          },
      .xShmMap =
          [](sqlite3_file* f, int region, int bytes, int extends, volatile void** memory) noexcept {
            return on(f, [&](auto& self) { return self.map_index(region, bytes, extends != 0, *memory); });
          },
      .xShmLock =
          [](sqlite3_file* f, int slot, int count, int flags) noexcept {
            return on(f, [&](auto& self) { return self.index_.lock(slot, count, flags); });
          },
      .xShmBarrier = [](sqlite3_file*) noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); },
      .xShmUnmap =
          [](sqlite3_file* f, int is_last) noexcept {
            return on(f, [&](auto& self) { return self.unmap_index(is_last != 0); });
          },
      .xFetch =
          [](sqlite3_file* f, sqlite3_int64 offset, int bytes, void** memory) noexcept {
            return on(f, [&](auto& self) {
              return self.view(static_cast<std::uint64_t>(offset), static_cast<std::size_t>(bytes), *memory);
            });
          },
      .xUnfetch = [](sqlite3_file*, sqlite3_int64, void*) noexcept { return SQLITE_OK; },
  };

  Storage storage_;
  file_type file_;
  opening how_;
  locking<file_type> locks_;
  wal_index index_;
  std::optional<qio::bounce_pool> pool_;  // of a direct file
  bool keeps_log_ = false, is_power_safe_ = true;
};

}  // namespace sqlite_vfs
