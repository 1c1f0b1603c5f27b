// A VFS for SQLite on the files of this library: opening, removing and finding them.
#pragma once

#include "database_file.hpp"
#include "storage.hpp"
#include <qio/qio.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace sqlite_vfs {

/// Registers itself with SQLite under its name, until it is destroyed. No database that it has opened may outlive it.
/// For what does not concern files (the clock, random numbers, sleeping), it has the functions of SQLite's default.
///
/// The URI of a database chooses how it is opened: file:path?io=cached, direct or mapped. Its journal and its log are
/// cached files. They are appended to in pieces of any length, which a direct file cannot.
template <class Storage>
class vfs : private sqlite3_vfs {
 public:
  vfs(const char* name, const Storage& storage) : sqlite3_vfs(*sqlite3_vfs_find(nullptr)), storage_(storage) {
    zName = name;
    pNext = nullptr;
    pAppData = this;
    szOsFile = static_cast<int>(largest_file());
    xOpen = [](sqlite3_vfs* v, const char* path, sqlite3_file* place, int flags, int* given) noexcept {
      place->pMethods = nullptr;  // nothing to close, if this fails
      return guarded([&] { return of(v).open(path, place, flags, given); });
    };
    xDelete = [](sqlite3_vfs* v, const char* path, int durable) noexcept {
      return guarded([&] { return of(v).remove(path, durable != 0); });
    };
    xAccess = [](sqlite3_vfs* v, const char* path, int, int* found) noexcept {
      return guarded([&] { return of(v).find(path, *found); });
    };
    xFullPathname = [](sqlite3_vfs* v, const char* path, int bytes, char* full) noexcept {
      return guarded([&] { return of(v).find_full_path(path, bytes, full); });
    };
    is_registered_ = sqlite3_vfs_register(this, 0) == SQLITE_OK;
  }
  vfs(const vfs&) = delete;
  vfs& operator=(const vfs&) = delete;
  ~vfs() { sqlite3_vfs_unregister(this); }

  bool is_registered() const { return is_registered_; }

 private:
  static vfs& of(sqlite3_vfs* v) { return *static_cast<vfs*>(v->pAppData); }

  // --- Opening ---

  template <class Mode>
  using file = database_file<Mode, Storage>;

  static constexpr std::size_t largest_file() {
    std::size_t largest = std::max(sizeof(file<qio::cached>), sizeof(file<qio::direct>));
    if constexpr (Storage::has_mapped_files) largest = std::max(largest, sizeof(file<qio::mapped>));
    return largest;
  }

  int open(const char* path, sqlite3_file* place, int flags, int* given) {
    if (path == nullptr) return open_temporary(place, flags, given);
    const char* const io = sqlite3_uri_parameter(path, "io");
    const std::string_view mode = io == nullptr ? "cached" : io;
    const bool is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    if (!is_database || mode == "cached") return open_as<qio::cached>(path, place, flags, given);
    if (mode == "direct") return open_as<qio::direct>(path, place, flags, given);
    if constexpr (Storage::has_mapped_files)
      if (mode == "mapped") return open_as<qio::mapped>(path, place, flags, given);
    sqlite3_log(SQLITE_CANTOPEN, "io=%s: it must be cached, direct or mapped", io);
    return SQLITE_CANTOPEN;
  }

  template <class Mode>
  int open_as(const char* path, sqlite3_file* place, int flags, int* given) {
    opening how{.path = path, .is_removed_at_end = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0};
    const bool is_beside = (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) != 0;
    const std::uint32_t permissions = permissions_of(is_beside ? sqlite3_filename_database(path) : path);

    auto opened = try_to_open<Mode>(how, permissions, flags);
    // SQLite can also work with what it may only read: a file of somebody else, or of a read-only file system.
    const bool is_refused = !opened && opened.error() != std::errc::is_a_directory;
    if (is_refused && (flags & SQLITE_OPEN_READWRITE) != 0) {
      flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
      opened = try_to_open<Mode>(how, permissions, flags);
    }
    if (!opened) return log_failure(opened.error());
    if (is_beside && how.is_new) static_cast<void>(opened.value().set_permissions(permissions));
    if (given != nullptr) *given = flags;
    new (place) file<Mode>(storage_, std::move(opened).value(), std::move(how));
    return SQLITE_OK;
  }

  /// An existing file, or a new one; whether it is new matters for its directory.
  template <class Mode>
  auto try_to_open(opening& how, std::uint32_t permissions, int flags)
      -> qio::result<typename Storage::template file<Mode>> {
    const auto wanted = (flags & SQLITE_OPEN_READWRITE) != 0 ? qio::access::read_write : qio::access::read;
    const qio::open_options options{.permissions = permissions};
    const bool creates = (flags & SQLITE_OPEN_CREATE) != 0,
               must_create = creates && (flags & SQLITE_OPEN_EXCLUSIVE) != 0;
    if (!must_create) {
      auto existing = storage_.template open<Mode>(how.path, wanted, qio::creation::open_existing, options);
      const bool is_missing = !existing && existing.error() == std::errc::no_such_file_or_directory;
      if (!creates || !is_missing) return existing;
    }
    how.is_new = true;
    const auto creation = must_create ? qio::creation::only_if_missing : qio::creation::if_needed;
    return storage_.template open<Mode>(how.path, wanted, creation, options);
  }

  int open_temporary(sqlite3_file* place, int flags, int* given) {
    auto opened = storage_.open_temporary();
    if (!opened) return log_failure(opened.error());
    if (given != nullptr) *given = flags;
    new (place) file<qio::cached>(storage_, std::move(opened).value(), {});
    return SQLITE_OK;
  }

  /// Whoever may write a database may write what is beside it, whatever the umask.
  std::uint32_t permissions_of(const char* path) const {
    const auto found = storage_.status(path);
    return found ? found.value().permissions : 0644;
  }

  static int log_failure(const qio::error& why) {
    sqlite3_log(SQLITE_CANTOPEN, "%s", why.message().c_str());
    return SQLITE_CANTOPEN;
  }

  // --- Names ---

  int remove(const char* path, bool durable) {
    const auto removed = storage_.remove(path, durable);
    if (!removed) return SQLITE_IOERR_DELETE;
    return removed.value() ? SQLITE_OK : SQLITE_IOERR_DELETE_NOENT;
  }

  /// An empty journal is no journal.
  int find(const char* path, int& found) {
    const auto status = storage_.status(path);
    found = status && (status.value().type != qio::file_type::regular || status.value().bytes != 0) ? 1 : 0;
    const bool is_missing = !status && (status.error() == std::errc::no_such_file_or_directory ||
                                        status.error() == std::errc::not_a_directory);
    return status || is_missing ? SQLITE_OK : SQLITE_IOERR_ACCESS;
  }

  int find_full_path(const char* path, int bytes, char* full) {
    const std::string found = storage_.full_path(path);
    if (found.size() + 1 > static_cast<std::size_t>(bytes)) return SQLITE_CANTOPEN;
    std::memcpy(full, found.c_str(), found.size() + 1);
    return SQLITE_OK;
  }

  Storage storage_;
  bool is_registered_ = false;
};

}  // namespace sqlite_vfs
