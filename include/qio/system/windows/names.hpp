// SPDX-License-Identifier: BSL-1.0
// Names: created, renamed and removed by their paths. Win32 has no calls that are relative to an open directory, so no
// path can be kept beneath one.
#pragma once

#include <qio/configuration.hpp>
#include <qio/name_options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/rename.hpp>

#include <winioctl.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Directories that are synced ---

/// Makes the names in a directory durable.
inline result<void> sync_directory(native_handle beneath, path_view path) {
  if (beneath != anywhere) return error(errc::beneath_not_supported);
  const auto name = native_path(path);
  return name ? sync_directory_at(name.value()) : result<void>(name.error());
}

/// The path of the directory that holds the name at the end of `path`, in UTF-8.
inline std::string directory_of(path_view path) {
  const std::string_view whole = path.c_str();
  const std::string_view trimmed = whole.substr(0, whole.find_last_not_of("/\\") + 1);
  const std::size_t name_at = trimmed.find_last_of("/\\:") + 1;
  return name_at == 0 ? "." : std::string(trimmed.substr(0, name_at));
}

inline result<void> sync_directory_of(path_view path) { return sync_directory(anywhere, directory_of(path)); }

// --- The names that a call is about ---

/// What a slash at the end of a path does. Only the name of a directory may be followed by one.
enum class slash_at_end : std::uint8_t { is_refused, means_directory };

/// The path in the form that Windows takes, without a slash at the end. It must end in a name.
inline result<std::wstring> name_at(native_handle beneath, path_view path, slash_at_end slash) {
  if (beneath != anywhere) return error(errc::beneath_not_supported);
  const std::string_view given = path.c_str();
  const std::string_view whole = given.substr(0, given.find_last_not_of("/\\") + 1);
  const std::string_view name = whole.substr(whole.find_last_of("/\\") + 1);
  const bool has_slash = whole.size() != given.size();
  if (name.empty() || name == "." || name == ".." || name.ends_with(':') ||
      (has_slash && slash == slash_at_end::is_refused))
    return error(errc::no_name_in_path);
  return native_path(std::string(whole));
}

/// FILE_ATTRIBUTE_..., or INVALID_FILE_ATTRIBUTES if there is nothing. Links are not followed.
inline DWORD attributes_of(const std::wstring& path) noexcept { return calls::GetFileAttributesW(path.c_str()); }

constexpr bool means_missing(DWORD code) noexcept {
  return code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
}

// --- Renaming and linking ---

inline error rename_name(const std::wstring& from, const std::wstring& to, if_exists how) {
  const DWORD kind = attributes_of(from);
  if (kind == INVALID_FILE_ATTRIBUTES) return last_error();
  if (how == if_exists::exchange) return {errc::if_exists_not_supported, static_cast<std::uint64_t>(how), 0};
  if (how == if_exists::fail) return calls::MoveFileExW(from.c_str(), to.c_str(), 0) != 0 ? error() : last_error();
  const DWORD there = attributes_of(to);
  if (there != INVALID_FILE_ATTRIBUTES && (there & FILE_ATTRIBUTE_DIRECTORY) != 0) {
    if ((kind & FILE_ATTRIBUTE_DIRECTORY) == 0) return system_error(error_is_a_directory);
    return system_error(ERROR_ALREADY_EXISTS);  // Windows replaces no directories
  }
  const bool is_link = (kind & FILE_ATTRIBUTE_REPARSE_POINT) != 0;  // replace_file() would rename its target
  if (is_link && (kind & FILE_ATTRIBUTE_DIRECTORY) == 0)
    return calls::MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING) != 0 ? error() : last_error();
  if ((kind & FILE_ATTRIBUTE_DIRECTORY) == 0) return replace_file(from, to);
  if (there != INVALID_FILE_ATTRIBUTES) return system_error(ERROR_DIRECTORY);
  return calls::MoveFileExW(from.c_str(), to.c_str(), 0) != 0 ? error() : last_error();
}

inline result<void> rename(native_handle beneath, path_view from, path_view to, if_exists how, bool is_durable) {
  const auto source = name_at(beneath, from, slash_at_end::means_directory);
  if (!source) return source.error();
  const auto target = name_at(beneath, to, slash_at_end::means_directory);
  if (!target) return target.error();
  const no_dialogs quiet;
  if (const error failure = rename_name(source.value(), target.value(), how); failure.exists()) return failure;
  if (!is_durable) return success();
  if (auto synced = sync_directory_of(to); !synced) return synced;
  return directory_of(from) == directory_of(to) ? result<void>(success()) : sync_directory_of(from);
}

/// Changes one name by `change(path)`, which returns a result, and then syncs its directory.
template <class Change>
auto change_name(native_handle beneath, path_view path, slash_at_end slash, bool is_durable, Change&& change)
    -> decltype(change(std::declval<const std::wstring&>())) {
  const auto name = name_at(beneath, path, slash);
  if (!name) return name.error();
  const no_dialogs quiet;
  auto changed = change(name.value());
  if (changed && is_durable)
    if (const auto synced = sync_directory_of(path); !synced) return synced.error();
  return changed;
}

inline result<void> link(native_handle beneath, path_view existing, path_view path, bool is_durable) {
  const auto source = name_at(beneath, existing, slash_at_end::is_refused);
  if (!source) return source.error();
  return change_name(beneath, path, slash_at_end::is_refused, is_durable,
                     [&](const std::wstring& name) -> result<void> {
                       if (calls::CreateHardLinkW(name.c_str(), source.value().c_str(), nullptr) == 0)
                         return last_error();
                       return success();
                     });
}

/// A link knows whether it leads to a directory; one that leads nowhere is for a file.
inline result<void> symlink(native_handle beneath, path_view target, path_view path, bool is_durable) {
  auto text = wide(target);
  if (!text) return text.error();
  std::ranges::replace(text.value(), L'/', L'\\');
  return change_name(
      beneath, path, slash_at_end::is_refused, is_durable, [&](const std::wstring& name) -> result<void> {
        constexpr DWORD without_privilege = 0x2;  // SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE, in developer mode
        const bool is_absolute = text.value().starts_with(L'\\') || text.value().find(L':') == 1;
        const std::wstring leads_to = is_absolute ? text.value() : name.substr(0, name.rfind(L'\\') + 1) + text.value();
        const DWORD there = attributes_of(leads_to);
        const bool is_directory = there != INVALID_FILE_ATTRIBUTES && (there & FILE_ATTRIBUTE_DIRECTORY) != 0;
        const DWORD flags = is_directory ? SYMBOLIC_LINK_FLAG_DIRECTORY : 0u;
        for (const DWORD each : {flags | without_privilege, flags}) {
          if (calls::CreateSymbolicLinkW(name.c_str(), text.value().c_str(), each) != 0) return success();
          if (calls::GetLastError() != ERROR_INVALID_PARAMETER) break;  // before Windows 10 1703
        }
        return last_error();
      });
}

/// The text of the link in a REPARSE_DATA_BUFFER ([MS-FSCC] 2.1.2.4), which is in a header for drivers.
inline result<std::string> text_of_link(const std::vector<std::byte>& reparse, std::size_t bytes) {
  struct symbolic_link {
    ULONG tag;
    USHORT data_bytes, reserved;
    USHORT substitute_offset, substitute_bytes, print_offset, print_bytes;
    ULONG flags;
  } found;
  constexpr ULONG is_symbolic_link = 0xa000000c;  // IO_REPARSE_TAG_SYMLINK
  if (bytes < sizeof found) return error(errc::not_a_link);
  std::memcpy(&found, reparse.data(), sizeof found);
  if (found.tag != is_symbolic_link) return error(errc::not_a_link);
  const bool has_print = found.print_bytes != 0;
  const std::size_t at = sizeof found + (has_print ? found.print_offset : found.substitute_offset);
  const std::size_t length = has_print ? found.print_bytes : found.substitute_bytes;
  if (at + length > bytes) return system_error(ERROR_INVALID_DATA);
  std::wstring text(length / sizeof(wchar_t), L'\0');
  std::memcpy(text.data(), reparse.data() + at, text.size() * sizeof(wchar_t));
  return detail::utf8_of(text);
}

inline result<std::string> read_link(native_handle beneath, path_view path) {
  const auto name = name_at(beneath, path, slash_at_end::is_refused);
  if (!name) return name.error();
  const no_dialogs quiet;
  constexpr DWORD as_link = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS | not_impersonated;
  const native_handle opened = calls::CreateFileW(name.value().c_str(), FILE_READ_ATTRIBUTES, share_all, nullptr,
                                                  OPEN_EXISTING, as_link, nullptr);
  if (opened == invalid_handle) return last_error();
  std::vector<std::byte> reparse(MAXIMUM_REPARSE_DATA_BUFFER_SIZE);
  DWORD bytes = 0;
  const BOOL done = calls::DeviceIoControl(opened, FSCTL_GET_REPARSE_POINT, nullptr, 0, reparse.data(),
                                           static_cast<DWORD>(reparse.size()), &bytes, nullptr);
  const DWORD code = done != 0 ? 0 : calls::GetLastError();
  calls::CloseHandle(opened);
  if (code == ERROR_NOT_A_REPARSE_POINT) return error(errc::not_a_link);
  if (code != 0) return system_error(code);
  return text_of_link(reparse, bytes);
}

// --- Permissions ---

/// POSIX permission bits, of which Windows has one: whether anybody may write.
inline result<std::uint32_t> permissions_of(native_handle beneath, path_view path) {
  if (beneath != anywhere) return error(errc::beneath_not_supported);
  const auto name = native_path(path);
  if (!name) return name.error();
  const no_dialogs quiet;
  const DWORD attributes = attributes_of(name.value());
  if (attributes == INVALID_FILE_ATTRIBUTES) return last_error();
  return std::uint32_t{(attributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0444u : 0666u};
}

/// The file was created with them.
inline result<void> keep_permissions(native_handle, std::uint32_t) noexcept { return success(); }

// --- Removing, and directories ---

/// Removes the name of an open file: at once, although others have it open, where Windows can (Windows 10 1709 and
/// NTFS); otherwise when the last handle is closed. Also if it is read-only, as on Linux.
inline error dispose_of(native_handle opened) noexcept {
  constexpr auto disposition_information = static_cast<FILE_INFO_BY_HANDLE_CLASS>(21);  // FileDispositionInfoEx
  constexpr ULONG deletes = 0x1, posix_semantics = 0x2, ignores_read_only = 0x10;
  for (ULONG flags : {deletes | posix_semantics | ignores_read_only, deletes | posix_semantics}) {
    if (calls::SetFileInformationByHandle(opened, disposition_information, &flags, sizeof flags) != 0) return {};
    if (!lacks_posix_renames(calls::GetLastError())) return last_error();
  }
  FILE_DISPOSITION_INFO removed{TRUE};
  if (calls::SetFileInformationByHandle(opened, FileDispositionInfo, &removed, sizeof removed) != 0) return {};
  const error failure = last_error();
  FILE_BASIC_INFO found{}, writable{};  // times of zero are not changed
  if (calls::GetFileInformationByHandleEx(opened, FileBasicInfo, &found, sizeof found) == 0) return failure;
  if ((found.FileAttributes & FILE_ATTRIBUTE_READONLY) == 0) return failure;
  writable.FileAttributes = FILE_ATTRIBUTE_NORMAL;
  if (calls::SetFileInformationByHandle(opened, FileBasicInfo, &writable, sizeof writable) == 0) return failure;
  if (calls::SetFileInformationByHandle(opened, FileDispositionInfo, &removed, sizeof removed) != 0) return {};
  writable.FileAttributes = found.FileAttributes;
  calls::SetFileInformationByHandle(opened, FileBasicInfo, &writable, sizeof writable);
  return failure;
}

inline result<bool> remove_name(const std::wstring& name) {
  constexpr DWORD wanted = DELETE | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES | SYNCHRONIZE;
  constexpr DWORD as_link = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS | not_impersonated;
  const native_handle opened =
      calls::CreateFileW(name.c_str(), wanted, share_all, nullptr, OPEN_EXISTING, as_link, nullptr);
  if (opened == invalid_handle) {
    if (means_missing(calls::GetLastError())) return false;
    return last_error();
  }
  FILE_ATTRIBUTE_TAG_INFO kind{};
  error failure;
  if (calls::GetFileInformationByHandleEx(opened, FileAttributeTagInfo, &kind, sizeof kind) == 0)
    kind.FileAttributes = attributes_of(name);  // Wine
  constexpr DWORD directory = FILE_ATTRIBUTE_DIRECTORY, link = FILE_ATTRIBUTE_REPARSE_POINT;
  if ((kind.FileAttributes & (directory | link)) == directory)
    failure = system_error(error_is_a_directory);
  else
    failure = dispose_of(opened);
  calls::CloseHandle(opened);
  if (failure.exists()) return failure;
  return true;
}

inline result<bool> remove(native_handle beneath, path_view path, bool is_durable) {
  auto removed = change_name(beneath, path, slash_at_end::is_refused, is_durable, &remove_name);
  if (!removed && means_missing(static_cast<DWORD>(removed.error().code().value())) && !removed.error().is_qio())
    return false;  // its directory is missing, too
  return removed;
}

inline result<bool> remove_one_directory(const std::wstring& name) {
  const DWORD kind = attributes_of(name);
  if (kind == INVALID_FILE_ATTRIBUTES) {
    if (means_missing(calls::GetLastError())) return false;
    return last_error();
  }
  // RemoveDirectory would remove a link to a directory.
  if ((kind & FILE_ATTRIBUTE_DIRECTORY) == 0 || (kind & FILE_ATTRIBUTE_REPARSE_POINT) != 0)
    return system_error(ERROR_DIRECTORY);
  if (calls::RemoveDirectoryW(name.c_str()) != 0) return true;
  if (means_missing(calls::GetLastError())) return false;
  return last_error();
}

inline result<bool> remove_directory(native_handle beneath, path_view path, bool is_durable) {
  auto removed = change_name(beneath, path, slash_at_end::means_directory, is_durable, &remove_one_directory);
  if (!removed && means_missing(static_cast<DWORD>(removed.error().code().value())) && !removed.error().is_qio())
    return false;
  return removed;
}

/// Creates one directory. False if there is one, or a link to one.
inline result<bool> create_one_directory(native_handle beneath, path_view path, bool is_durable) {
  const auto create = [](const std::wstring& name) -> result<bool> {
    if (calls::CreateDirectoryW(name.c_str(), nullptr) != 0) return true;
    const error failure = last_error();
    const DWORD kind = attributes_of(name);
    const bool is_there = kind != INVALID_FILE_ATTRIBUTES && (kind & FILE_ATTRIBUTE_DIRECTORY) != 0;
    if (is_there) return false;
    return failure;
  };
  auto created = change_name(beneath, path, slash_at_end::means_directory, is_durable, create);
  if (created || created.error() != errc::no_name_in_path || *path.c_str() == '\0') return created;
  // ".", "..", "C:" and "/" are directories, if they are anything.
  const auto name = native_path(path);
  if (!name) return name.error();
  const DWORD kind = attributes_of(name.value());
  if (kind == INVALID_FILE_ATTRIBUTES) return last_error();
  return false;
}

/// `permissions` have no effect on Windows.
inline result<bool> create_directory(native_handle beneath, path_view path, const directory_options& options) {
  // An earlier call may have made the parents, and not synced them.
  if (!options.parents || !options.durable) {
    auto created = create_one_directory(beneath, path, options.durable);
    if (created || !options.parents || created.error() != std::errc::no_such_file_or_directory) return created;
  }
  const std::string whole = path.c_str();
  for (std::size_t end = whole.find_first_of("/\\", 1); end != whole.npos; end = whole.find_first_of("/\\", end + 1)) {
    const std::string part = whole.substr(0, end);
    if (part.find_last_not_of("/\\") != end - 1 || part.ends_with(':')) continue;
    if (const auto parent = create_one_directory(beneath, part, options.durable); !parent) return parent;
  }
  return create_one_directory(beneath, path, options.durable);
}

// --- Temporary files and directories ---

/// Where the system's temporary files are.
inline result<std::string> temporary_directory() {
  std::wstring path(MAX_PATH + 1, L'\0');
  const DWORD length = calls::GetTempPathW(static_cast<DWORD>(path.size()), path.data());
  if (length == 0 || length > path.size()) return last_error();
  path.resize(length);
  if (length > 3 && path.back() == L'\\') path.pop_back();
  return detail::utf8_of(path);
}

/// A file or a directory that is removed later, if it is still at its name.
class temporary_place {
 public:
  temporary_place() noexcept = default;

  static result<temporary_place> find(native_handle beneath, path_view path) {
    auto name = name_at(beneath, path, slash_at_end::is_refused);
    if (!name) return name.error();
    temporary_place self;
    self.path_ = std::move(name).value();
    return self;
  }

  /// The file is what has been created there.
  void take_file(native_handle created) noexcept { identity_ = file_identity::of(created); }

  /// Creates a directory there.
  error create_directory() noexcept {
    if (calls::CreateDirectoryW(path_.c_str(), nullptr) == 0) return last_error();
    is_directory_ = true;
    if (const auto opened = open_there(0)) {
      identity_ = file_identity::of(opened.value());
      calls::CloseHandle(opened.value());
    }
    return {};
  }

  /// The directory that was created, to empty it, if it is still at its name. The caller owns the handle.
  result<native_handle> open_contents() const noexcept {
    const no_dialogs quiet;
    if (!is_directory_) return system_error(ERROR_DIRECTORY);
    return open_if_same(FILE_LIST_DIRECTORY | FILE_TRAVERSE);
  }

  /// A directory must be empty.
  void remove() noexcept {
    const no_dialogs quiet;
    const auto there = open_if_same(0);
    if (!there) return;
    calls::CloseHandle(there.value());
    if (is_directory_)
      calls::RemoveDirectoryW(path_.c_str());
    else
      static_cast<void>(detail::succeeds([&] { static_cast<void>(remove_name(path_)); }));
  }

 private:
  result<native_handle> open_there(DWORD rights) const noexcept {
    constexpr DWORD flags = FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_BACKUP_SEMANTICS | not_impersonated;
    const native_handle there = calls::CreateFileW(path_.c_str(), rights | FILE_READ_ATTRIBUTES | SYNCHRONIZE,
                                                   share_all, nullptr, OPEN_EXISTING, flags, nullptr);
    if (there == invalid_handle) return last_error();
    return there;
  }
  result<native_handle> open_if_same(DWORD rights) const noexcept {
    auto there = open_there(rights);
    if (!there || (identity_.exists() && file_identity::of(there.value()) == identity_)) return there;
    calls::CloseHandle(there.value());
    return system_error(ERROR_FILE_NOT_FOUND);
  }

  std::wstring path_;
  file_identity identity_;
  bool is_directory_ = false;
};

}  // namespace platform
QIO_END_NAMESPACE
