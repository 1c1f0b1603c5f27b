// SPDX-License-Identifier: BSL-1.0
// Handles, and what calls on them need: errors, paths in the form that Windows takes, and events to wait for.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/calls.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Errors of Win32 calls ---

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
      {ERROR_DIR_NOT_EMPTY, std::errc::directory_not_empty},
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

// --- Converts paths to the form that Windows takes: from UTF-8 to UTF-16, of any length ---

/// The opposite of detail::utf8_of(), of what it has returned.
inline std::wstring wide_name(const char* name) {
  std::wstring wide;
  for (std::string_view rest = name; !rest.empty();) {
    const auto byte = [&](std::size_t at) -> std::uint32_t {
      return at < rest.size() ? static_cast<unsigned char>(rest[at]) : 0u;
    };
    const std::uint32_t first = byte(0);
    const std::size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    std::uint32_t code = bytes == 1 ? first : first & (0xffu >> (bytes + 1));
    for (std::size_t at = 1; at < bytes; ++at) code = code << 6 | (byte(at) & 0x3f);
    if (code >= 0x10000) {
      wide += static_cast<wchar_t>(0xd800 | (code - 0x10000) >> 10);
      code = 0xdc00 | ((code - 0x10000) & 0x3ff);
    }
    wide += static_cast<wchar_t>(code);
    rest.remove_prefix(bytes < rest.size() ? bytes : rest.size());
  }
  return wide;
}

/// Converts a path to UTF-16. Fails with ERROR_NO_UNICODE_TRANSLATION if it is neither UTF-8 nor what detail::utf8_of()
/// makes of a name with unpaired surrogates, and substitutes no characters.
inline result<std::wstring> wide(path_view path) {
  const int characters = ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.c_str(), -1, nullptr, 0);
  if (characters == 0) {
    const error refusal = last_error();
    auto with_surrogates = wide_name(path.c_str());
    if (detail::utf8_of(with_surrogates) != path.c_str()) return refusal;
    return with_surrogates;
  }
  std::wstring converted(static_cast<std::size_t>(characters), L'\0');
  ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.c_str(), -1, converted.data(), characters);
  converted.pop_back();  // the terminating zero
  return converted;
}

/// Converts a path to an absolute one in UTF-16. If it is too long for MAX_PATH, adds the prefix (\\?\) that allows
/// 32767 characters without an entry in the program's manifest. It is too long if another name in its directory might
/// not fit in MAX_PATH: one of 8.3 characters, which CreateDirectory requires, or a temporary one of with_new_name().
inline result<std::wstring> native_path(path_view path) {
  auto given = wide(path);
  if (!given) return given;
  std::wstring full(MAX_PATH, L'\0');
  for (;;) {
    const DWORD length =
        calls::GetFullPathNameW(given.value().c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr);
    if (length == 0) return last_error();
    const bool fits = length < full.size();
    full.resize(length);
    if (fits) break;
  }
  constexpr std::size_t longest = MAX_PATH - 32;
  if (full.size() < longest || full.starts_with(LR"(\\?\)") || full.starts_with(LR"(\\.\)")) return full;
  if (full.starts_with(LR"(\\)")) return LR"(\\?\UNC)" + full.substr(1);
  return LR"(\\?\)" + full;
}

// --- The events with which threads wait for their blocking transfers ---

/// An event, lent for the duration of one blocking transfer and then reused by the next, on any thread. So there are as
/// many events as there have been blocking transfers at the same time. Up to 64 are kept until the process ends; the
/// others are closed.
///
/// One event per thread would need a thread_local object to close it. Where thread_local is emulated, as on Windows,
/// GCC's library frees such an object's memory before it calls the destructor (GCC bug 80816; observed with GCC 12).
class lent_event {
 public:
  lent_event() noexcept : event_(take()) {}
  lent_event(const lent_event&) = delete;
  lent_event& operator=(const lent_event&) = delete;
  ~lent_event() {
    if (event_ != nullptr) give_back(event_);
  }

  /// Null if none could be created.
  HANDLE get() const noexcept { return event_; }

 private:
  static constexpr std::size_t places = 64;
  static inline constinit std::array<std::atomic<HANDLE>, places> spare{};

  /// The place where a thread looks first, so that it usually gets the same event. Eight consecutive threads, whose IDs
  /// are multiples of four, start in eight different cache lines.
  static std::size_t first_place() noexcept {
    const std::size_t number = ::GetCurrentThreadId() / 4;
    return number * 8 + number / 8;
  }

  static HANDLE take() noexcept {
    const std::size_t first = first_place();
    for (std::size_t i = 0; i < places; ++i) {
      std::atomic<HANDLE>& place = spare[(first + i) % places];
      if (place.load(std::memory_order_relaxed) == nullptr) continue;
      if (const HANDLE found = place.exchange(nullptr, std::memory_order_acquire); found != nullptr) return found;
    }
    return calls::CreateEventW(nullptr, TRUE, FALSE, nullptr);
  }

  static void give_back(HANDLE event) noexcept {
    const std::size_t first = first_place();
    for (std::size_t i = 0; i < places; ++i) {
      HANDLE nothing = nullptr;
      if (spare[(first + i) % places].compare_exchange_strong(nothing, event, std::memory_order_release,
                                                              std::memory_order_relaxed))
        return;
    }
    calls::CloseHandle(event);
  }

  HANDLE event_;
};

// --- Questions to a file system or a device, on a handle of any kind ---

// From winioctl.h, which would bring its many macros to every user of this library.
inline constexpr DWORD control_disk_get_length = 0x7405c;     // IOCTL_DISK_GET_LENGTH_INFO
inline constexpr DWORD control_query_file_regions = 0x90284;  // FSCTL_QUERY_FILE_REGIONS

/// An OVERLAPPED for a blocking call on a handle of either kind. The lowest bit of the event is set, so that no
/// completion is queued to the port that the handle may be bound to (documentation of GetQueuedCompletionStatus).
/// hEvent is null if no event could be created.
struct waiting_overlapped : OVERLAPPED {
  waiting_overlapped() noexcept : OVERLAPPED{} {
    if (event.get() != nullptr) hEvent = reinterpret_cast<HANDLE>(reinterpret_cast<std::uintptr_t>(event.get()) | 1);
  }

  lent_event event;
};

/// Waits for what was started with a waiting_overlapped. Returns zero or the error; `bytes` is the number of bytes
/// transferred.
inline DWORD finish_blocking(HANDLE handle, OVERLAPPED& overlapped, BOOL done, DWORD& bytes) noexcept {
  if (done == 0 && calls::GetLastError() != ERROR_IO_PENDING) return calls::GetLastError();
  return calls::GetOverlappedResult(handle, &overlapped, &bytes, TRUE) != 0 ? 0 : calls::GetLastError();
}

/// DeviceIoControl, and waits. Returns zero or the error; `bytes` is the length of the answer.
inline DWORD control(HANDLE handle, DWORD code, void* question, std::size_t question_bytes, void* answer,
                     std::size_t answer_bytes, DWORD& bytes) noexcept {
  waiting_overlapped overlapped;
  if (overlapped.hEvent == nullptr) return ERROR_NOT_ENOUGH_MEMORY;
  const BOOL done = calls::DeviceIoControl(handle, code, question, static_cast<DWORD>(question_bytes), answer,
                                           static_cast<DWORD>(answer_bytes), &bytes, &overlapped);
  return finish_blocking(handle, overlapped, done, bytes);
}

// --- Closing, measuring, resizing and syncing a file by Win32 calls ---

using native_handle = HANDLE;
/// INVALID_HANDLE_VALUE, which is not a constant expression.
inline const native_handle invalid_handle = INVALID_HANDLE_VALUE;
/// Passed in place of the directory that a path must stay beneath: the path may lead anywhere.
inline constexpr native_handle anywhere = nullptr;

/// For systems whose handles are not the operating system's, but numbers that start at 1, such as the simulated disk's.
inline native_handle handle_of(std::uint64_t number) noexcept {
  return reinterpret_cast<native_handle>(static_cast<std::uintptr_t>(number));
}
inline std::uint64_t number_of(native_handle handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); }

/// Flags of CreateFileW: the server of a named pipe whose name was given as a path cannot act in the name of this
/// process. (SECURITY_SQOS_PRESENT has the bit of FILE_FLAG_OPEN_NO_RECALL, which concerns only files in remote
/// storage: they are read, but not brought back. .NET opens files with the same flags.)
inline constexpr DWORD not_impersonated = SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS;

/// While it exists, Windows shows no dialog box when this thread opens something that is not there, such as a drive
/// without a medium. The call fails instead.
class no_dialogs {
 public:
  no_dialogs() noexcept { calls::SetThreadErrorMode(calls::GetThreadErrorMode() | SEM_FAILCRITICALERRORS, &before_); }
  no_dialogs(const no_dialogs&) = delete;
  no_dialogs& operator=(const no_dialogs&) = delete;
  ~no_dialogs() { calls::SetThreadErrorMode(before_, nullptr); }

 private:
  DWORD before_ = 0;
};

/// Lets others read, write, rename and remove the file while it is open, as on other systems.
inline constexpr DWORD share_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

inline result<void> close(native_handle handle) noexcept {
  if (calls::CloseHandle(handle) == 0) return last_error();
  return success();
}

/// In bytes. Volumes and disks have no size as files have; their device reports a length.
inline result<std::uint64_t> size(native_handle handle) noexcept {
  LARGE_INTEGER bytes;
  if (calls::GetFileSizeEx(handle, &bytes) != 0) return static_cast<std::uint64_t>(bytes.QuadPart);
  const error failure = last_error();
  DWORD length = 0;
  if (control(handle, control_disk_get_length, nullptr, 0, &bytes, sizeof bytes, length) != 0) return failure;
  return static_cast<std::uint64_t>(bytes.QuadPart);
}

/// The name of a file system, such as NTFS.
struct file_system_name {
  wchar_t letters[16] = {};  // longer names are cut off

  friend bool operator==(const file_system_name& left, std::wstring_view right) noexcept {
    return left.letters == right;
  }
};

/// That of the file system that a file is on; empty if unknown.
inline file_system_name known_file_system(native_handle handle) noexcept {
  file_system_name found;
  if (calls::GetVolumeInformationByHandleW(handle, nullptr, 0, nullptr, nullptr, nullptr, found.letters, 16) == 0)
    found.letters[0] = L'\0';
  return found;
}

/// Whether the file is on a network share, as a characteristic of its device. Not every redirector reports its protocol
/// (FileRemoteProtocolInfo). Also true if that is unknown.
inline bool is_remote(native_handle handle) noexcept {
  constexpr ULONG remote_device = 0x10;  // FILE_REMOTE_DEVICE
  calls::device_facts device{};
  return calls::query_device(handle, device) < 0 || (device.characteristics & remote_device) != 0;
}

inline result<void> resize(native_handle handle, std::uint64_t bytes) noexcept {
  if (bytes > detail::max_offset) return error(errc::offset_too_large, bytes, detail::max_offset);
  FILE_END_OF_FILE_INFO end;
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(bytes);
  if (calls::SetFileInformationByHandle(handle, FileEndOfFileInfo, &end, sizeof end) == 0) return last_error();
  return success();
}

/// NTFS can leave out times and attributes. Elsewhere all kinds are the same: FlushFileBuffers writes contents and
/// attributes and flushes the device's cache. Needs a handle with write access.
inline result<void> sync(native_handle handle, sync_kind kind) noexcept {
  if (kind != sync_kind::everything) {
    const LONG status = calls::flush_data(handle);
    if (status >= 0) return success();
    if (!is_unsupported(status)) return system_error(code_of_status(status));
  }
  if (calls::FlushFileBuffers(handle) == 0) return last_error();
  return success();
}

/// Makes the names in a directory durable. For use after creating, renaming or removing a file in it.
inline result<void> sync_directory_at(const std::wstring& path) noexcept {
  const no_dialogs quiet;
  const native_handle handle = calls::CreateFileW(path.c_str(), GENERIC_WRITE, share_all, nullptr, OPEN_EXISTING,
                                                  FILE_FLAG_BACKUP_SEMANTICS | not_impersonated, nullptr);
  if (handle == invalid_handle) return last_error();
  const bool is_directory = (calls::GetFileAttributesW(path.c_str()) & FILE_ATTRIBUTE_DIRECTORY) != 0;
  const result<void> synced =
      is_directory ? sync(handle, sync_kind::everything) : result<void>(system_error(ERROR_DIRECTORY));
  const result<void> closed = close(handle);
  return synced ? closed : synced;
}

/// Another handle of the same open file.
inline result<native_handle> duplicate(native_handle handle) noexcept {
  native_handle copy = invalid_handle;
  if (calls::DuplicateHandle(::GetCurrentProcess(), handle, ::GetCurrentProcess(), &copy, 0, FALSE,
                             DUPLICATE_SAME_ACCESS) == 0)
    return last_error();
  return copy;
}

}  // namespace platform
QIO_END_NAMESPACE
