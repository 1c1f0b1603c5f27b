// SPDX-License-Identifier: BSL-1.0
// Errors of Win32 calls.
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/calls.hpp>

#include <cstdint>
#include <string>
#include <system_error>

namespace qio::inline QIO_CONFIGURATION::platform {

// From winerror.h, for older headers that lack them.
inline constexpr DWORD error_is_a_directory = 336;   // ERROR_DIRECTORY_NOT_SUPPORTED
inline constexpr DWORD error_quota_exceeded = 1295;  // ERROR_DISK_QUOTA_EXCEEDED
inline constexpr DWORD error_data_checksum = 323;    // ERROR_DATA_CHECKSUM_ERROR
inline constexpr DWORD error_device_hardware = 483;  // ERROR_DEVICE_HARDWARE_ERROR
inline constexpr DWORD error_interrupted = 10004;    // WSAEINTR, from another header

/// Win32 codes, and the std::errc conditions that they compare equal to. qio has its own category because the standard
/// library's varies between implementations and versions in which codes it maps, and in whether it treats them as errno
/// values.
class windows_category final : public detail::identified_category {
 public:
  const char* name() const noexcept override { return "windows"; }
  std::string message(int value) const override { return std::system_category().message(value); }

  /// A code for a condition; 0 if there is none.
  static constexpr DWORD code_of(std::errc wanted) noexcept {
    for (const auto& [code, condition] : conditions)
      if (condition == wanted) return code;
    return 0;
  }

 private:
  std::uint64_t id() const noexcept override { return 0x39b4e0d75f12ac86; }

  std::error_condition condition_of(int value) const noexcept override {
    for (const auto& [code, condition] : conditions)
      if (code == static_cast<DWORD>(value)) return condition;
    return {value, *this};
  }

  struct row {
    DWORD code;
    std::errc condition;
  };
  static constexpr row conditions[] = {
      {ERROR_FILE_NOT_FOUND, std::errc::no_such_file_or_directory},
      {ERROR_PATH_NOT_FOUND, std::errc::no_such_file_or_directory},
      {ERROR_INVALID_NAME, std::errc::no_such_file_or_directory},
      {ERROR_BAD_PATHNAME, std::errc::no_such_file_or_directory},
      {ERROR_BAD_NETPATH, std::errc::no_such_file_or_directory},
      {ERROR_BAD_NET_NAME, std::errc::no_such_file_or_directory},
      {ERROR_DELETE_PENDING, std::errc::no_such_file_or_directory},
      {ERROR_INVALID_DRIVE, std::errc::no_such_device},
      {ERROR_BAD_UNIT, std::errc::no_such_device},
      {ERROR_DEV_NOT_EXIST, std::errc::no_such_device},
      {ERROR_DEVICE_NOT_CONNECTED, std::errc::no_such_device},
      {ERROR_FILE_EXISTS, std::errc::file_exists},
      {ERROR_ALREADY_EXISTS, std::errc::file_exists},
      {error_is_a_directory, std::errc::is_a_directory},
      {ERROR_DIRECTORY, std::errc::not_a_directory},
      {ERROR_FILENAME_EXCED_RANGE, std::errc::filename_too_long},
      {ERROR_BUFFER_OVERFLOW, std::errc::filename_too_long},
      {ERROR_NO_UNICODE_TRANSLATION, std::errc::illegal_byte_sequence},
      {ERROR_CANT_RESOLVE_FILENAME, std::errc::too_many_symbolic_link_levels},
      {ERROR_NOT_SAME_DEVICE, std::errc::cross_device_link},
      {ERROR_ACCESS_DENIED, std::errc::permission_denied},
      {ERROR_CANNOT_MAKE, std::errc::permission_denied},
      {ERROR_NOACCESS, std::errc::bad_address},
      {ERROR_PRIVILEGE_NOT_HELD, std::errc::operation_not_permitted},
      {ERROR_WRITE_PROTECT, std::errc::read_only_file_system},
      {ERROR_SHARING_VIOLATION, std::errc::device_or_resource_busy},
      {ERROR_LOCK_VIOLATION, std::errc::no_lock_available},
      {ERROR_USER_MAPPED_FILE, std::errc::device_or_resource_busy},
      {ERROR_BUSY, std::errc::device_or_resource_busy},
      {ERROR_PIPE_BUSY, std::errc::device_or_resource_busy},
      {ERROR_INVALID_HANDLE, std::errc::bad_file_descriptor},
      {ERROR_INVALID_PARAMETER, std::errc::invalid_argument},
      {ERROR_NEGATIVE_SEEK, std::errc::invalid_argument},
      {ERROR_FILE_INVALID, std::errc::invalid_argument},
      {ERROR_INVALID_FUNCTION, std::errc::function_not_supported},
      {ERROR_NOT_SUPPORTED, std::errc::operation_not_supported},
      {ERROR_CALL_NOT_IMPLEMENTED, std::errc::function_not_supported},
      {ERROR_TOO_MANY_OPEN_FILES, std::errc::too_many_files_open},
      {ERROR_NOT_ENOUGH_MEMORY, std::errc::not_enough_memory},
      {ERROR_OUTOFMEMORY, std::errc::not_enough_memory},
      {ERROR_NO_SYSTEM_RESOURCES, std::errc::not_enough_memory},
      {ERROR_NOT_ENOUGH_QUOTA, std::errc::not_enough_memory},
      {ERROR_WORKING_SET_QUOTA, std::errc::not_enough_memory},
      {ERROR_COMMITMENT_LIMIT, std::errc::not_enough_memory},
      {ERROR_INVALID_USER_BUFFER, std::errc::not_enough_memory},
      {ERROR_DISK_FULL, std::errc::no_space_on_device},
      {ERROR_HANDLE_DISK_FULL, std::errc::no_space_on_device},
      {error_quota_exceeded, std::errc::no_space_on_device},
      {ERROR_FILE_TOO_LARGE, std::errc::file_too_large},
      {ERROR_CRC, std::errc::io_error},
      {ERROR_SEEK, std::errc::io_error},
      {ERROR_WRITE_FAULT, std::errc::io_error},
      {ERROR_READ_FAULT, std::errc::io_error},
      {ERROR_GEN_FAILURE, std::errc::io_error},
      {ERROR_IO_DEVICE, std::errc::io_error},
      {ERROR_SECTOR_NOT_FOUND, std::errc::io_error},
      {ERROR_FILE_CORRUPT, std::errc::io_error},
      {ERROR_DISK_CORRUPT, std::errc::io_error},
      {ERROR_UNEXP_NET_ERR, std::errc::io_error},
      {ERROR_NETNAME_DELETED, std::errc::io_error},
      {ERROR_HANDLE_EOF, std::errc::io_error},         // within the file: see failed_read()
      {ERROR_OPERATION_ABORTED, std::errc::io_error},  // by nobody in this program, whose cancellations have no code
      {error_data_checksum, std::errc::io_error},
      {error_device_hardware, std::errc::io_error},
      {ERROR_NOT_READY, std::errc::resource_unavailable_try_again},
      {ERROR_BROKEN_PIPE, std::errc::broken_pipe},
      {ERROR_NO_DATA, std::errc::broken_pipe},
      {ERROR_PIPE_NOT_CONNECTED, std::errc::broken_pipe},
      {ERROR_SEM_TIMEOUT, std::errc::timed_out},
      {error_interrupted, std::errc::interrupted},
      {WAIT_TIMEOUT, std::errc::timed_out},
  };
};

/// The category of the system's error codes.
inline const std::error_category& system_category() noexcept {
  static const windows_category category;
  return category;
}

/// The error of a transfer that the file was not opened for.
inline constexpr std::errc not_opened_for = std::errc::permission_denied;

/// The system's code for a condition; 0 if there is none.
inline int system_code(std::errc condition) noexcept { return static_cast<int>(windows_category::code_of(condition)); }

inline error system_error(DWORD code) noexcept {
  return error(std::error_code(static_cast<int>(code), system_category()));
}
inline error last_error() noexcept { return system_error(calls::GetLastError()); }

/// Whether an NTSTATUS means that the file system, or this Windows, lacks what was requested.
constexpr bool is_unsupported(LONG status) noexcept {
  for (const std::uint32_t each : {0xc0000002u,   // STATUS_NOT_IMPLEMENTED
                                   0xc000000du,   // STATUS_INVALID_PARAMETER
                                   0xc0000010u,   // STATUS_INVALID_DEVICE_REQUEST
                                   0xc00000bbu})  // STATUS_NOT_SUPPORTED
    if (status == static_cast<LONG>(each)) return true;
  return false;
}

/// The Win32 code that the system's own calls report for an NTSTATUS.
inline DWORD code_of_status(LONG status) noexcept {
  using function = ULONG NTAPI(LONG);
  static function* const convert = calls::function_of_ntdll<function>("RtlNtStatusToDosError");
  return convert == nullptr ? DWORD{ERROR_GEN_FAILURE} : convert(status);
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
