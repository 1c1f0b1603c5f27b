// SPDX-License-Identifier: BSL-1.0
// Reading directories, and removing what is in them, by handles that no rename can lead elsewhere.
#pragma once

#include <qio/configuration.hpp>
#include <qio/file_status.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/rename.hpp>
#include <qio/system/windows/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- The entries of a directory ---

/// Reads the entries of a directory in batches (FileIdBothDirectoryInfo), into memory that it allocates once.
class entry_list {
  using record = FILE_ID_BOTH_DIR_INFO;
  static constexpr std::size_t system_bytes = 65536, smallest = offsetof(record, FileName) + sizeof(wchar_t);
  static constexpr std::size_t most = system_bytes / smallest + 1, entry_bytes = most * sizeof(directory_entry);
  static constexpr std::size_t name_bytes = system_bytes / 2 * 3 + most;  // each with a null character

 public:
  entry_list() : memory_(new std::byte[system_bytes + entry_bytes + name_bytes]) {}

  /// The next entries, without "." and ".."; none at the end. Valid until the next call.
  result<std::span<const directory_entry>> next(native_handle directory) noexcept {
    for (;;) {
      const auto what = std::exchange(restarts_, false) ? FileIdBothDirectoryRestartInfo : FileIdBothDirectoryInfo;
      if (calls::GetFileInformationByHandleEx(directory, what, memory_.get(), system_bytes) == 0) {
        const DWORD code = calls::GetLastError();
        const bool is_end = code == ERROR_NO_MORE_FILES || code == ERROR_FILE_NOT_FOUND || code == ERROR_DELETE_PENDING;
        if (!is_end) return system_error(code);
        return std::span<const directory_entry>();
      }
      std::size_t count = 0;
      if (!take(count)) return system_error(ERROR_FILE_CORRUPT);
      if (count != 0) return std::span<const directory_entry>(first(), count);
    }
  }

  /// The next batch is the first again, of the directory as it is by then.
  result<void> rewind(native_handle) noexcept {
    restarts_ = true;
    return success();
  }

 private:
  directory_entry* first() noexcept { return reinterpret_cast<directory_entry*>(memory_.get() + system_bytes); }

  // False if a name is none, with which a server could lead a program elsewhere.
  bool take(std::size_t& count) noexcept {
    static_assert(system_bytes % alignof(directory_entry) == 0);
    char* names = reinterpret_cast<char*>(memory_.get() + system_bytes + entry_bytes);
    for (std::size_t at = 0;;) {
      const auto* const found = reinterpret_cast<const record*>(memory_.get() + at);
      const std::wstring_view wide(found->FileName, found->FileNameLength / sizeof(wchar_t));
      if (wide != L"." && wide != L"..") {
        if (wide.empty() || wide.find_first_of(std::wstring_view(L"/\\\0", 3)) != std::wstring_view::npos) return false;
        char* const end = detail::put_utf8(wide, names);
        *end = '\0';
        const auto id = static_cast<std::uint64_t>(found->FileId.QuadPart);
        new (first() + count) directory_entry{std::string_view(names, static_cast<std::size_t>(end - names)),
                                              type_of(found->FileAttributes, found->EaSize), id};
        names = end + 1;
        ++count;
      }
      if (found->NextEntryOffset == 0) return true;
      at += found->NextEntryOffset;
    }
  }

  std::unique_ptr<std::byte[]> memory_;
  bool restarts_ = false;
};

/// Opens an entry of an open directory; of a link, the link itself.
inline result<native_handle> open_entry(native_handle directory, const char* name, DWORD rights, ULONG options = 0) {
  constexpr ULONG synchronous = 0x20, for_backup = 0x4000, reparse_point = 0x200000;
  const std::wstring wide = wide_name(name);
  const no_dialogs quiet;
  native_handle opened = invalid_handle;
  const LONG status = calls::open_entry(directory, wide, rights | FILE_READ_ATTRIBUTES | SYNCHRONIZE, share_all,
                                        options | synchronous | for_backup | reparse_point, opened);
  if (status < 0) return system_error(code_of_status(status));
  return opened;
}

/// The type of what is open; unknown if it is not known.
inline file_type type_of(native_handle handle) noexcept {
  FILE_BASIC_INFO basic{};
  if (calls::GetFileInformationByHandleEx(handle, FileBasicInfo, &basic, sizeof basic) == 0) return file_type::unknown;
  return type_of(basic.FileAttributes, reparse_tag_of(handle));
}

/// Closes the handle and fails, unless it is of a directory.
inline result<native_handle> require_directory(native_handle opened) noexcept {
  if (type_of(opened) == file_type::directory) return opened;
  calls::CloseHandle(opened);
  return system_error(ERROR_DIRECTORY);
}

inline result<native_handle> open_place(const std::wstring& path, DWORD rights) noexcept {
  const no_dialogs quiet;
  const native_handle opened =
      calls::CreateFileW(path.c_str(), rights | FILE_READ_ATTRIBUTES | SYNCHRONIZE, share_all, nullptr, OPEN_EXISTING,
                         FILE_FLAG_BACKUP_SEMANTICS | not_impersonated, nullptr);
  if (opened == invalid_handle) return last_error();
  return require_directory(opened);
}

/// The caller owns the handle.
inline result<native_handle> open_listing(path_view path, native_handle beneath) {
  if (beneath != anywhere) return error(errc::beneath_not_supported);
  const auto name = native_path(path);
  if (!name) return name.error();
  return open_place(name.value(), FILE_LIST_DIRECTORY | FILE_TRAVERSE);
}
/// There is no qio::directory here.
inline result<native_handle> open_listing_of(native_handle) noexcept { return error(errc::beneath_not_supported); }

/// The status of an entry; a symbolic link is not followed.
inline result<file_status> status_of_entry(native_handle directory, const char* name) {
  const auto opened = open_entry(directory, name, 0);
  if (!opened) return opened.error();
  const auto found = status(opened.value());
  calls::CloseHandle(opened.value());
  return found;
}

// --- Trees ---

/// Whether open_parent() exists. If not, the directories on the way to an open one stay open.
inline constexpr bool opens_parents = false;
inline result<native_handle> open_parent(native_handle) noexcept {
  return error(std::make_error_code(std::errc::operation_not_supported));
}

/// A directory that is an entry of another. Fails with std::errc::not_a_directory for anything else, links included.
inline result<native_handle> open_child(native_handle directory, const char* name) {
  constexpr ULONG directories_only = 0x1;
  const auto opened = open_entry(directory, name, FILE_LIST_DIRECTORY | FILE_TRAVERSE, directories_only);
  if (!opened) return opened;
  return require_directory(opened.value());
}

struct directory_identity {
  file_id id;
  bool is_mount_root = false;  ///< never: volumes are mounted by links (junctions)
};

inline result<directory_identity> identify(native_handle directory, std::uint64_t) noexcept {
  const file_identity found = file_identity::of(directory);
  return directory_identity{{found.volume, found.id[0], found.id[1]}, false};
}

/// Removes what is open. With POSIX semantics (Windows 10 1809 and NTFS), the name is gone at once; otherwise when the
/// last handle of the file is closed.
inline result<void> remove_open(native_handle opened) noexcept {
  struct disposition_information {  // FILE_DISPOSITION_INFO_EX
    DWORD flags;
  };
  constexpr auto disposition_class = static_cast<FILE_INFO_BY_HANDLE_CLASS>(21);  // FileDispositionInfoEx
  constexpr DWORD removes = 0x1, posix_semantics = 0x2, ignores_read_only = 0x10;
  disposition_information newer{removes | posix_semantics | ignores_read_only};
  if (calls::SetFileInformationByHandle(opened, disposition_class, &newer, sizeof newer) != 0) return success();
  if (!lacks_posix_renames(calls::GetLastError())) return last_error();
  FILE_BASIC_INFO basic{};
  if (calls::GetFileInformationByHandleEx(opened, FileBasicInfo, &basic, sizeof basic) != 0 &&
      (basic.FileAttributes & FILE_ATTRIBUTE_READONLY) != 0) {
    FILE_BASIC_INFO writable{};  // members of 0 stay as they are
    writable.FileAttributes = FILE_ATTRIBUTE_NORMAL;
    calls::SetFileInformationByHandle(opened, FileBasicInfo, &writable, sizeof writable);
  }
  FILE_DISPOSITION_INFO older{TRUE};
  if (calls::SetFileInformationByHandle(opened, FileDispositionInfo, &older, sizeof older) == 0) return last_error();
  return success();
}

/// Removes an entry: a directory, which must be empty, or anything else. Fails with std::errc::is_a_directory or
/// not_a_directory if it is the other.
inline result<void> remove_entry(native_handle directory, const char* name, bool is_directory) {
  const auto opened = open_entry(directory, name, DELETE | FILE_WRITE_ATTRIBUTES);
  if (!opened) return opened.error();
  const bool found_directory = type_of(opened.value()) == file_type::directory;
  auto removed = found_directory == is_directory
                     ? remove_open(opened.value())
                     : result<void>(system_error(is_directory ? DWORD{ERROR_DIRECTORY} : error_is_a_directory));
  calls::CloseHandle(opened.value());
  return removed;
}

/// The entry that is the root of a tree, and the directory that it is in.
struct tree_root {
  tree_root() noexcept = default;
  tree_root(tree_root&& other) noexcept
      : directory(std::exchange(other.directory, invalid_handle)), name(std::move(other.name)) {}
  tree_root& operator=(tree_root&&) = delete;
  ~tree_root() {
    if (directory != invalid_handle) calls::CloseHandle(directory);
  }

  native_handle directory = invalid_handle;
  std::string name;
};

/// A path that ends with a slash must lead to a directory.
inline result<tree_root> find_root(path_view path, native_handle beneath, bool& is_directory) {
  if (beneath != anywhere) return error(errc::beneath_not_supported);
  const auto is_slash = [](char each) { return each == '/' || each == '\\'; };
  std::string given = path.c_str();
  is_directory = !given.empty() && is_slash(given.back());
  while (given.size() > 1 && is_slash(given.back())) given.pop_back();
  const std::string last = given.substr(given.find_last_of("/\\") + 1);
  if (last == "." || last == "..") return system_error(ERROR_INVALID_PARAMETER);
  auto full = native_path(given);
  if (!full) return full.error();
  const std::size_t name_at = full.value().rfind(L'\\') + 1;
  const std::wstring_view name = std::wstring_view(full.value()).substr(name_at);
  if (name_at == 0 || name.empty()) return system_error(ERROR_INVALID_PARAMETER);  // a drive
  auto opened = open_place(full.value().substr(0, name_at), FILE_TRAVERSE);
  if (!opened) return opened.error();
  tree_root found;
  found.directory = opened.value();
  found.name.resize(name.size() * 3);
  found.name.resize(static_cast<std::size_t>(detail::put_utf8(name, found.name.data()) - found.name.data()));
  return found;
}

/// Makes the names in an open directory durable.
inline result<void> sync_names(native_handle directory) noexcept {
  const native_handle again =
      calls::ReOpenFile(directory, GENERIC_WRITE, share_all, FILE_FLAG_BACKUP_SEMANTICS | not_impersonated);
  if (again == invalid_handle) return last_error();
  const auto synced = sync(again, sync_kind::everything);
  calls::CloseHandle(again);
  return synced;
}

}  // namespace platform
QIO_END_NAMESPACE
