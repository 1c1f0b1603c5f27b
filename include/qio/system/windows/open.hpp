// SPDX-License-Identifier: BSL-1.0
// How a file is opened: by its path, or by a handle that the program opened.
#pragma once

#include <qio/configuration.hpp>
#include <qio/if_exists.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/calls.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/page_cache.hpp>
#include <qio/system/windows/rename.hpp>

#include <winternl.h>

#include <cstdint>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Opening ---
//
// Opening a file in steps, so that an open that fails late (because the mode is unavailable) leaves the disk unchanged.

/// A file that is being opened. begin() opens a handle and destroys nothing; commit() then truncates or replaces, as
/// the caller asked. Without commit(), destruction closes the handle and removes what begin() created.
class opening {
 public:
  /// On Windows, `permissions` has one effect: a created file that nobody may write to is read-only.
  static result<opening> begin(path_view path, native_handle beneath, access wanted, creation how,
                               std::uint32_t permissions, detail::handle_kind kind) {
    if (beneath != anywhere) return error(errc::beneath_not_supported);
    if (kind.is_unnamed) return system_error(ERROR_NOT_SUPPORTED);
    if (detail::empties(how) && wanted == access::read)
      return error(errc::access_not_granted, static_cast<std::uint64_t>(wanted),
                   static_cast<std::uint64_t>(access::read_write));
    auto name = native_path(path);
    if (!name) return name.error();
    if (kind.regular_only && name.value().starts_with(LR"(\\.\)")) return error(errc::not_a_regular_file);
    opening self(std::move(name).value(), how, kind);
    self.access_ = (wanted != access::write ? GENERIC_READ : 0) | (wanted != access::read ? GENERIC_WRITE : 0);
    self.attributes_ = (permissions & 0222) == 0 ? FILE_ATTRIBUTE_READONLY : FILE_ATTRIBUTE_NORMAL;
    const no_dialogs quiet;
    if (const error failure = self.open(); failure.exists()) return failure;
    if (kind.regular_only && !self.is_regular()) return error(errc::not_a_regular_file);
    return self;
  }

  /// Always fails with std::errc::resource_unavailable_try_again: Windows does not tell whether an open would wait.
  template <class MayBeUsed>
  static result<opening> begin_at_once(path_view, native_handle, access, detail::handle_kind, known_file_systems&,
                                       MayBeUsed&&) {
    return error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }

  /// A handle that the program has opened: nothing is left to do, and without commit() it stays open.
  static opening of(native_handle handle, detail::handle_kind kind) {
    opening self({}, creation::open_existing, kind);
    self.handle_ = handle;
    self.is_foreign_ = true;
    return self;
  }

  opening(opening&& other) noexcept
      : path_(std::move(other.path_)),
        replaced_(std::move(other.replaced_)),
        how_(other.how_),
        kind_(other.kind_),
        access_(other.access_),
        attributes_(other.attributes_),
        handle_(std::exchange(other.handle_, invalid_handle)),
        is_foreign_(other.is_foreign_),
        created_(std::exchange(other.created_, false)) {}
  opening& operator=(opening&&) = delete;
  ~opening() {
    if (created_) remove_created(handle_, path_);
    if (handle_ != invalid_handle && !is_foreign_) calls::CloseHandle(handle_);
  }

  native_handle handle() const noexcept { return handle_; }
  file_storage storage() const noexcept { return file_storage(handle_); }
  bool is_foreign() const noexcept { return is_foreign_; }
  /// False if the file system refused direct I/O, or a foreign handle uses the cache.
  bool is_direct() const noexcept { return kind_.direct; }

  /// Whether a write through a handle that was opened for durable writes is durable only after a flush. "CreateFileW
  /// function", Caching Behavior: with FILE_FLAG_WRITE_THROUGH, the system asks the device to write through its cache
  /// if its own cache is not in effect (FILE_FLAG_NO_BUFFERING); and NTFS flushes the changes of metadata that result.
  bool needs_flushes(bool bypasses_cache) const noexcept {
    return !bypasses_cache || known_file_system(handle_) != L"NTFS";
  }

  /// commit(), and makes the name of the file durable. If that fails, the open fails, but the file has its name.
  result<native_handle> commit_durably() {
    auto committed = commit();
    if (!committed) return committed;
    const std::wstring& name = how_ == creation::always_new ? replaced_ : path_;
    if (const auto synced = sync_directory_at(name.substr(0, name.rfind(L'\\') + 1)); !synced) {
      calls::CloseHandle(committed.value());
      return synced.error();
    }
    return committed;
  }

  /// Completes the open. On success, the caller owns the handle. May be called again if it fails.
  result<native_handle> commit() {
    const no_dialogs quiet;
    if (detail::empties(how_))
      if (auto emptied = resize(handle_, 0); !emptied) return emptied.error();
    if (how_ == creation::always_new)
      if (const error failure = replace_file(path_, replaced_); failure.exists()) return failure;
    created_ = false;
    return std::exchange(handle_, invalid_handle);
  }

 private:
  opening(std::wstring path, creation how, detail::handle_kind kind) : path_(std::move(path)), how_(how), kind_(kind) {}

  error open() {
    switch (how_) {
      case creation::open_existing:
      case creation::truncate_existing: return open_path(OPEN_EXISTING);
      case creation::only_if_missing: return open_path(CREATE_NEW);
      case creation::if_needed:
      case creation::emptied: return open_path(OPEN_ALWAYS);
      case creation::always_new: break;
    }
    return create_beside();
  }

  // A raw volume is of this type, too, but has no such information.
  bool is_regular() const noexcept {
    FILE_STANDARD_INFO standard{};
    return calls::GetFileType(handle_) == FILE_TYPE_DISK &&
           calls::GetFileInformationByHandleEx(handle_, FileStandardInfo, &standard, sizeof standard) != 0;
  }

  // Fails if what was opened is a link. What has a reparse point for another reason, such as a file that is stored in a
  // cloud, must be opened again without the flag.
  error open_unless_link(DWORD disposition) {
    link_flag_ = FILE_FLAG_OPEN_REPARSE_POINT;
    const error failure = create(disposition);
    link_flag_ = 0;
    if (failure.exists()) return failure;
    FILE_ATTRIBUTE_TAG_INFO found{};
    const bool is_known = calls::GetFileInformationByHandleEx(handle_, FileAttributeTagInfo, &found, sizeof found) != 0;
    if (!is_known || (found.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) == 0) return error();
    constexpr DWORD stands_for_another_name = 0x20000000;  // IsReparseTagNameSurrogate
    calls::CloseHandle(std::exchange(handle_, invalid_handle));
    if ((found.ReparseTag & stands_for_another_name) != 0) return system_error(ERROR_CANT_RESOLVE_FILENAME);
    return create(OPEN_EXISTING);
  }
  error create_by_kind(DWORD disposition) {
    return kind_.follows_links ? create(disposition) : open_unless_link(disposition);
  }

  error open_path(DWORD disposition) {
    error failure = create_by_kind(disposition);
    // A file system that requires its cache rejects the flag. The caller decides whether that is an error.
    if (kind_.direct && (failure == std::errc::invalid_argument || failure == std::errc::operation_not_supported)) {
      kind_.direct = false;
      failure = create_by_kind(disposition);
    }
    if (failure == std::errc::permission_denied && is_directory(path_)) return system_error(error_is_a_directory);
    return failure;
  }

  error create(DWORD disposition) {
    // Windows serializes all calls on a handle that is not overlapped, those of blocking transfers, too.
    const DWORD flags = (kind_.direct ? FILE_FLAG_NO_BUFFERING : 0u) | FILE_FLAG_OVERLAPPED |
                        (kind_.writes_durably ? FILE_FLAG_WRITE_THROUGH : 0u) | hint_of(kind_.pattern) | link_flag_;
    handle_ = calls::CreateFileW(path_.c_str(), access_, share_all, nullptr, disposition,
                                 attributes_ | flags | not_impersonated, nullptr);
    if (handle_ == invalid_handle) return last_error();
    created_ =
        disposition == CREATE_NEW || (disposition == OPEN_ALWAYS && calls::GetLastError() != ERROR_ALREADY_EXISTS);
    return error();
  }

  static DWORD hint_of(access_pattern pattern) noexcept {
    switch (pattern) {
      case access_pattern::random: return FILE_FLAG_RANDOM_ACCESS;
      case access_pattern::sequential: return FILE_FLAG_SEQUENTIAL_SCAN;
      case access_pattern::normal: break;
    }
    return 0;
  }

  // Creates the file under another name in the same directory; commit() renames it.
  error create_beside() {
    if (!kind_.follows_links && is_link(path_)) return system_error(ERROR_CANT_RESOLVE_FILENAME);
    auto replaced = find_replaced(path_);
    if (!replaced) return replaced.error();
    replaced_ = std::move(replaced).value();
    return with_new_name(replaced_, [this](std::wstring name) {
      path_ = std::move(name);
      return open_path(CREATE_NEW);
    });
  }

  std::wstring path_;      // of the open file
  std::wstring replaced_;  // for creation::always_new: the file's name after commit()
  creation how_;
  detail::handle_kind kind_;
  DWORD access_ = 0;
  DWORD attributes_ = 0;
  DWORD link_flag_ = 0;
  native_handle handle_ = invalid_handle;
  bool is_foreign_ = false;
  bool created_ = false;
};

// --- What can be done to a file that is open ---

inline error set_lifetime(native_handle, data_lifetime) noexcept { return system_error(ERROR_NOT_SUPPORTED); }
inline result<void> give_name(native_handle, path_view, if_exists, native_handle) noexcept {
  return system_error(ERROR_NOT_SUPPORTED);
}

// --- A handle that the program has opened itself, and gives to a file ---

/// CreateIoCompletionPort binds a handle to one port, until it is closed.
inline constexpr bool binds_handles = true;

/// NtQueryInformationFile, for what no Win32 call reports. Looked up here, so that programs need not link ntdll. False
/// if it fails.
inline bool query_file(native_handle handle, int what, ULONG& answer) noexcept {
  using function = decltype(&::NtQueryInformationFile);
  const HMODULE ntdll = ::GetModuleHandleW(L"ntdll.dll");
  const FARPROC found = ntdll == nullptr ? nullptr : ::GetProcAddress(ntdll, "NtQueryInformationFile");
  IO_STATUS_BLOCK status{};
  if (found == nullptr) return false;
  const auto query = reinterpret_cast<function>(reinterpret_cast<void*>(found));
  return query(handle, &status, &answer, sizeof answer, static_cast<FILE_INFORMATION_CLASS>(what)) >= 0;
}

/// Fails if a file of `kind` could not keep its promises with the handle. Changes nothing.
inline result<detail::adopted_handle<opening>> adopt(native_handle handle, detail::handle_kind kind) {
  // The documentation of NtQueryInformationFile names these classes, and that of NtCreateFile the bits of the mode.
  constexpr int access_information = 8, mode_information = 16;
  constexpr ULONG write_through = 0x2, no_buffering = 0x8, synchronous = 0x10 | 0x20;
  const DWORD type = calls::GetFileType(handle);
  if (type == FILE_TYPE_UNKNOWN && calls::GetLastError() != NO_ERROR) return last_error();
  if (type != FILE_TYPE_DISK) return error(kind.regular_only ? errc::not_a_regular_file : errc::no_offsets);
  FILE_STANDARD_INFO standard{};
  if (calls::GetFileInformationByHandleEx(handle, FileStandardInfo, &standard, sizeof standard) == 0)
    return last_error();
  if (standard.Directory != FALSE) return system_error(error_is_a_directory);
  ULONG rights = 0, mode = 0;
  if (!query_file(handle, access_information, rights) || !query_file(handle, mode_information, mode))
    return error(errc::adopt_not_supported);
  const bool reads = (rights & FILE_READ_DATA) != 0, writes = (rights & FILE_WRITE_DATA) != 0;
  // Without FILE_WRITE_DATA, the system appends.
  if (!writes && (rights & FILE_APPEND_DATA) != 0) return error(errc::handle_appends);
  if (!reads && !writes) return error(errc::access_not_granted);
  if ((mode & synchronous) != 0 && kind.asynchronous) return error(errc::handle_is_synchronous);
  const bool is_direct = (mode & no_buffering) != 0, writes_durably = (mode & write_through) != 0;
  if (is_direct && !kind.direct) return error(errc::handle_is_direct);
  if (kind.writes_durably && !writes_durably) return error(errc::handle_is_not_durable);
  const access granted = reads && writes ? access::read_write : reads ? access::read : access::write;
  return detail::adopted_handle<opening>{opening::of(handle, {is_direct, kind.asynchronous, writes_durably}), granted,
                                         writes_durably, is_direct};
}

}  // namespace platform
QIO_END_NAMESPACE
