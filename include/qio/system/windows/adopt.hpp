// SPDX-License-Identifier: BSL-1.0
// A handle that the program has opened itself, and gives to a file.
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/handle_kind.hpp>
#include <qio/system/windows/open.hpp>

#include <winternl.h>

namespace qio::inline QIO_CONFIGURATION::platform {

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
  if (type != FILE_TYPE_DISK) return error(errc::no_offsets);
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

}  // namespace qio::inline QIO_CONFIGURATION::platform
