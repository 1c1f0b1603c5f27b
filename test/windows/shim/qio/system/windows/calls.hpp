// Replaces the library's header of this name, so that its calls to Windows go through here. By default they are passed
// on. With `like_windows`, transfers behave as on Windows instead of as under Wine. A test can make the next call of a
// kind fail.
#pragma once

#include <qio/configuration.hpp>

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>

namespace shim {

// --- what a test sets ---

/// How a transfer on an overlapped handle completes.
enum class completion : std::uint8_t {
  as_it_is,  ///< as Wine does: pending, but complete at once
  at_once,   ///< by the call itself, with no completion queued
  late,      ///< pending, and carried out while the engine waits
  by_turns,  ///< alternates between the two
};

/// The result of canceling a late transfer.
enum class canceling : std::uint8_t {
  aborts,       ///< it completes with ERROR_OPERATION_ABORTED
  is_ignored,   ///< CancelIoEx succeeds, and so does the transfer
  is_too_late,  ///< CancelIoEx finds nothing: the transfer is complete, but not yet reported
  by_turns,
};

enum class call : std::uint8_t {
  create_file,
  create_port,
  set_modes,
  create_event,
  transfer,
  completion,  ///< of a late transfer
  get_size,
  flush,
  flush_view,
  post,
  move,
  posix_rename,
  remove,
  last_
};

/// The IDs of files.
enum class identities : std::uint8_t {
  as_they_are,
  upper_half,  ///< of 128 bits, they differ in the upper 64, as they may on ReFS
  zero,        ///< the file system has none
};

struct rules {
  std::atomic<completion> completes = completion::as_it_is;
  std::atomic<canceling> cancels = canceling::aborts;
  /// FILE_FLAG_NO_BUFFERING is enforced: sectors of 512 bytes, or else ERROR_INVALID_PARAMETER.
  std::atomic<bool> minds_sectors = false;
  std::atomic<bool> maps_nothing = false;  ///< ERROR_NOT_ENOUGH_MEMORY
  /// As since Windows 10 1803. Wine 8 has none, and the shim's are free for a moment when something becomes of them:
  /// for tests with one thread.
  std::atomic<bool> has_placeholders = false;
  std::atomic<bool> maps_past_sections = false;       ///< to the end of a section's last page, which is not documented
  std::atomic<void (*)()> after_unmapping = nullptr;  ///< called when a view has been unmapped, with no placeholder
  std::atomic<void (*)()> before_resizing = nullptr;  ///< called before the size of a file changes
  /// What Wine lacks: where the valid data of each file ends, in bytes; nothing if negative.
  std::atomic<std::int64_t> valid_end = -1;
  std::atomic<bool> knows_only_disk = false;  ///< the same, in the way of ReFS
  std::atomic<DWORD> attributes = 0;          ///< further attributes of each file: FILE_ATTRIBUTE_COMPRESSED, …
  std::atomic<DWORD> volume_flags = 0;
  std::atomic<bool> is_remote = false;
  std::atomic<bool> hides_device = false;  ///< no file reports its device
  std::atomic<identities> ids = identities::as_they_are;
  std::atomic<unsigned> opens = 0, opens_impersonated = 0, opens_with_dialogs = 0, moves = 0;
  std::atomic<const wchar_t*> file_system = nullptr;  ///< the name of each volume's, instead of its own
  /// The result of a flush of only the data, an NTSTATUS; by default, STATUS_NOT_IMPLEMENTED.
  std::atomic<LONG> data_flush = static_cast<LONG>(0xc0000002);
  std::atomic<std::int64_t> device_bytes = -1;  ///< files are devices of this length, which have no size as files have
  std::atomic<DWORD> longest_in_memory = 0xffffffff;  ///< longer transfers fail with ERROR_NO_SYSTEM_RESOURCES
  std::array<std::atomic<DWORD>, static_cast<std::size_t>(call::last_)> next_failure{};
  std::array<std::atomic<unsigned>, static_cast<std::size_t>(call::last_)> failures_left{};
  std::atomic<unsigned> data_flushes = 0, full_flushes = 0, questions = 0, sleeps = 0, sizes_read = 0;
  std::atomic<DWORD> longest_transfer = 0;
  std::atomic<unsigned> completions_at_once = 0, completions_late = 0, aborted = 0, found_too_late = 0, refused = 0;
  std::atomic<unsigned> events_made = 0;
  std::atomic<std::uint64_t> prefetched = 0;  ///< bytes

  rules() {
    const char* const wanted = std::getenv("QIO_TEST_SHIM");
    if (wanted == nullptr || std::string_view(wanted) != "like_windows") return;
    completes = completion::by_turns;
    cancels = canceling::by_turns;
    minds_sectors = true;
  }
};
inline rules now;

inline void fail_next(call which, DWORD code, unsigned times = 1) {
  now.failures_left[static_cast<std::size_t>(which)] = times;
  now.next_failure[static_cast<std::size_t>(which)] = code;
}

inline bool fails(call which) {
  std::atomic<DWORD>& next = now.next_failure[static_cast<std::size_t>(which)];
  const DWORD code = next.exchange(0);
  if (code == 0) return false;
  if (--now.failures_left[static_cast<std::size_t>(which)] != 0) next = code;
  ::SetLastError(code);
  return true;
}

// --- what is known about handles ---

struct known_handle {
  bool unbuffered = false;
  bool is_disk_file = false;
  bool writes_through = false;
  bool is_overlapped = false;
  DWORD pattern = 0;  // FILE_FLAG_RANDOM_ACCESS, FILE_FLAG_SEQUENTIAL_SCAN
  HANDLE port = nullptr;
  ULONG_PTR key = 0;
};

/// A transfer that was reported as pending, but has not been started.
struct late_transfer {
  HANDLE handle;
  bool writes;
  void* memory;
  DWORD bytes;
  OVERLAPPED* overlapped;
};

inline std::mutex mutex;
inline std::map<HANDLE, known_handle> handles;
inline std::deque<late_transfer> late;
inline std::set<const void*> flushed_views;
inline unsigned turn = 0;

struct outcome {
  DWORD code;
  DWORD bytes;
};

/// Carries out a transfer and waits for it, with no completion queued.
inline outcome carry_out(const late_transfer& t) {
  OVERLAPPED own{};
  own.Offset = t.overlapped->Offset;
  own.OffsetHigh = t.overlapped->OffsetHigh;
  const HANDLE event = ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
  own.hEvent = reinterpret_cast<HANDLE>(reinterpret_cast<std::uintptr_t>(event) | 1);
  const BOOL done = t.writes ? ::WriteFile(t.handle, t.memory, t.bytes, nullptr, &own)
                             : ::ReadFile(t.handle, t.memory, t.bytes, nullptr, &own);
  outcome result{0, 0};
  if (done == 0 && ::GetLastError() != ERROR_IO_PENDING)
    result.code = ::GetLastError();
  else if (::GetOverlappedResult(t.handle, &own, &result.bytes, TRUE) == 0)
    result.code = ::GetLastError();
  ::CloseHandle(event);
  return result;
}

inline void note(OVERLAPPED& overlapped, outcome of) {
  // An NTSTATUS that stands for a Win32 code (facility 7), which GetOverlappedResult turns back.
  overlapped.Internal = of.code == 0 ? 0 : 0xc0070000u | of.code;
  overlapped.InternalHigh = of.bytes;
}

inline void complete(const late_transfer& t, outcome of) {
  note(*t.overlapped, of);
  const known_handle& file = handles[t.handle];
  ::PostQueuedCompletionStatus(file.port, of.bytes, file.key, t.overlapped);
}

inline bool is_misaligned(const known_handle& file, const void* memory, DWORD bytes, const OVERLAPPED& overlapped) {
  constexpr std::uintptr_t mask = 511;
  return now.minds_sectors && file.unbuffered &&
         ((reinterpret_cast<std::uintptr_t>(memory) | bytes | overlapped.Offset) & mask) != 0;
}

inline BOOL failed(DWORD code) {
  ::SetLastError(code);
  return FALSE;
}

/// Whether Windows would find no such path: it is too long and has no prefix.
inline bool is_too_long(LPCWSTR name) {
  const std::wstring_view path = name;
  return path.size() >= MAX_PATH && !path.starts_with(LR"(\\?\)") && !failed(ERROR_PATH_NOT_FOUND);
}

// --- placeholders: see reserve_placeholder() below ---

struct placeholder {
  SIZE_T bytes;
  bool is_view;  // replaced by a view of this length
};
inline std::map<char*, placeholder> placeholders;

/// Reserves the addresses of a placeholder. Wine, like Windows before, begins at multiples of 64 KiB.
inline void take_placeholder(char* place, SIZE_T bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(place), begin = (at + 65535) / 65536 * 65536;
  if (begin < at + bytes &&
      ::VirtualAlloc(reinterpret_cast<void*>(begin), at + bytes - begin, MEM_RESERVE, PAGE_NOACCESS) == nullptr)
    std::abort();
}
inline void free_placeholder(char* place, SIZE_T bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(place), begin = (at + 65535) / 65536 * 65536;
  if (begin < at + bytes) ::VirtualFree(reinterpret_cast<void*>(begin), 0, MEM_RELEASE);
}

/// The result of a transfer, or nothing: then the system carries it out unchanged.
inline std::optional<BOOL> transfer(HANDLE handle, bool writes, void* memory, DWORD bytes, OVERLAPPED* overlapped) {
  if (fails(call::transfer)) return FALSE;
  if (bytes > now.longest_in_memory) return failed(ERROR_NO_SYSTEM_RESOURCES);
  const std::lock_guard lock(mutex);
  if (bytes > now.longest_transfer) now.longest_transfer = bytes;
  const auto known = handles.find(handle);
  if (known == handles.end() || !known->second.is_disk_file) return std::nullopt;
  const known_handle& file = known->second;
  if (is_misaligned(file, memory, bytes, *overlapped)) {
    ++now.refused;
    return failed(ERROR_INVALID_PARAMETER);
  }
  const bool is_blocking = overlapped->hEvent != nullptr;
  if (is_blocking || file.port == nullptr) return std::nullopt;
  completion how = now.completes;
  if (how == completion::by_turns)
    how = std::array{completion::as_it_is, completion::at_once, completion::late}[turn++ % 3];
  if (how == completion::as_it_is) return std::nullopt;
  const late_transfer asked{handle, writes, memory, bytes, overlapped};
  if (how == completion::late) {
    ++now.completions_late;
    overlapped->Internal = 0x103;  // STATUS_PENDING
    late.push_back(asked);
    return failed(ERROR_IO_PENDING);
  }
  ++now.completions_at_once;
  const outcome result = carry_out(asked);
  if (result.code != 0) return failed(result.code);
  note(*overlapped, result);
  return TRUE;
}

/// Carries out all late transfers if the caller waits, and one of them if it only polls.
inline void carry_out_late(DWORD patience) {
  const std::lock_guard lock(mutex);
  for (std::size_t count = patience == 0 ? std::min<std::size_t>(1, late.size()) : late.size(); count != 0; --count) {
    const late_transfer first = late.front();
    late.pop_front();
    complete(first, fails(call::completion) ? outcome{::GetLastError(), 0} : carry_out(first));
  }
}

inline std::optional<BOOL> cancel(OVERLAPPED* overlapped) {
  const std::lock_guard lock(mutex);
  const auto found =
      std::find_if(late.begin(), late.end(), [&](const late_transfer& each) { return each.overlapped == overlapped; });
  if (found == late.end()) return std::nullopt;
  canceling how = now.cancels;
  if (how == canceling::by_turns)
    how = std::array{canceling::aborts, canceling::is_ignored, canceling::is_too_late}[turn++ % 3];
  if (how == canceling::is_ignored) return TRUE;
  const late_transfer canceled = *found;
  late.erase(found);
  if (how == canceling::aborts) {
    ++now.aborted;
    complete(canceled, {ERROR_OPERATION_ABORTED, 0});
    return TRUE;
  }
  ++now.found_too_late;
  complete(canceled, carry_out(canceled));
  return failed(ERROR_NOT_FOUND);
}

}  // namespace shim

QIO_BEGIN_NAMESPACE
namespace platform::calls {

using ::CreateDirectoryW;
using ::CreateFileMappingW;
using ::CreateHardLinkW;
using ::CreateSymbolicLinkW;
using ::DeleteFileW;
using ::DuplicateHandle;
using ::GetDiskFreeSpaceW;
using ::GetFileAttributesW;
using ::GetFileType;
using ::GetFinalPathNameByHandleW;
using ::GetFullPathNameW;
using ::GetLargePageMinimum;
using ::GetLastError;
using ::GetOverlappedResult;
using ::GetTempPathW;
using ::GetThreadErrorMode;
using ::GetVolumePathNameW;
using ::LockFileEx;
using ::RemoveDirectoryW;
using ::ReOpenFile;
using ::ResetEvent;
using ::SetEvent;
using ::SetFileAttributesW;
using ::SetThreadErrorMode;
using ::UnlockFileEx;
using ::VirtualAlloc;
using ::VirtualAllocExNuma;

inline HANDLE CreateFileW(LPCWSTR name, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES security, DWORD disposition,
                          DWORD flags, HANDLE like) {
  if (shim::fails(shim::call::create_file)) return INVALID_HANDLE_VALUE;
  ++shim::now.opens;
  if ((flags & SECURITY_SQOS_PRESENT) == 0 || (flags & SECURITY_DELEGATION) != 0) ++shim::now.opens_impersonated;
  if ((::GetThreadErrorMode() & SEM_FAILCRITICALERRORS) == 0) ++shim::now.opens_with_dialogs;
  if (shim::is_too_long(name)) return INVALID_HANDLE_VALUE;
  const HANDLE handle = ::CreateFileW(name, access, share, security, disposition, flags, like);
  const DWORD said = ::GetLastError();
  if (handle != INVALID_HANDLE_VALUE) {
    const std::lock_guard lock(shim::mutex);
    shim::handles[handle] = {(flags & FILE_FLAG_NO_BUFFERING) != 0, ::GetFileType(handle) == FILE_TYPE_DISK,
                             (flags & FILE_FLAG_WRITE_THROUGH) != 0, (flags & FILE_FLAG_OVERLAPPED) != 0,
                             flags & (FILE_FLAG_RANDOM_ACCESS | FILE_FLAG_SEQUENTIAL_SCAN)};
  }
  ::SetLastError(said);
  return handle;
}

inline BOOL CloseHandle(HANDLE handle) {
  {
    const std::lock_guard lock(shim::mutex);
    shim::handles.erase(handle);
  }
  return ::CloseHandle(handle);
}

inline HANDLE CreateEventW(LPSECURITY_ATTRIBUTES security, BOOL manual, BOOL state, LPCWSTR name) {
  if (shim::fails(shim::call::create_event)) return nullptr;
  ++shim::now.events_made;
  return ::CreateEventW(security, manual, state, name);
}

inline HANDLE CreateIoCompletionPort(HANDLE handle, HANDLE port, ULONG_PTR key, DWORD threads) {
  if (shim::fails(shim::call::create_port)) return nullptr;
  const HANDLE bound = ::CreateIoCompletionPort(handle, port, key, threads);
  if (bound != nullptr && handle != INVALID_HANDLE_VALUE) {
    const std::lock_guard lock(shim::mutex);
    shim::handles[handle].port = port;
    shim::handles[handle].key = key;
  }
  return bound;
}

inline BOOL SetFileCompletionNotificationModes(HANDLE handle, UCHAR modes) {
  return shim::fails(shim::call::set_modes) ? FALSE : ::SetFileCompletionNotificationModes(handle, modes);
}

inline BOOL ReadFile(HANDLE handle, LPVOID memory, DWORD bytes, LPDWORD moved, LPOVERLAPPED overlapped) {
  if (const auto answer = shim::transfer(handle, false, memory, bytes, overlapped)) return *answer;
  return ::ReadFile(handle, memory, bytes, moved, overlapped);
}

inline BOOL WriteFile(HANDLE handle, LPCVOID memory, DWORD bytes, LPDWORD moved, LPOVERLAPPED overlapped) {
  if (const auto answer = shim::transfer(handle, true, const_cast<void*>(memory), bytes, overlapped)) return *answer;
  return ::WriteFile(handle, memory, bytes, moved, overlapped);
}

/// Placeholders as Windows documents them, made of what Wine has: a call that Windows would refuse fails.
inline void* reserve_placeholder(SIZE_T bytes) {
  if (!shim::now.has_placeholders || bytes % 4096 != 0) return nullptr;
  void* const place = ::VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
  if (place != nullptr) shim::placeholders[static_cast<char*>(place)] = {bytes, false};
  return place;
}

inline void* map_into_placeholder(HANDLE section, void* place, SIZE_T bytes, ULONG protection) {
  const DWORD granted = protection == PAGE_READWRITE ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_READ;
  const auto found = shim::placeholders.find(static_cast<char*>(place));
  if (shim::now.maps_nothing) return shim::failed(ERROR_NOT_ENOUGH_MEMORY), nullptr;
  if (found == shim::placeholders.end() || found->second.is_view || (bytes + 4095) / 4096 * 4096 != found->second.bytes)
    return shim::failed(ERROR_INVALID_ADDRESS), nullptr;
  shim::free_placeholder(found->first, found->second.bytes);
  void* view = ::MapViewOfFileEx(section, granted, 0, 0, bytes, place);
  if (view == nullptr && shim::now.maps_past_sections) view = ::MapViewOfFileEx(section, granted, 0, 0, 0, place);
  if (view == nullptr) {  // within the last page, views of Wine do not reach past the end of the section
    shim::take_placeholder(found->first, found->second.bytes);
    return shim::failed(ERROR_ACCESS_DENIED), nullptr;
  }
  found->second.is_view = true;
  return view;
}

inline BOOL unmap_to_placeholder(void* view) {
  const auto found = shim::placeholders.find(static_cast<char*>(view));
  if (found == shim::placeholders.end() || !found->second.is_view) return shim::failed(ERROR_INVALID_ADDRESS);
  ::UnmapViewOfFile(view);
  found->second.is_view = false;
  shim::take_placeholder(found->first, found->second.bytes);
  return TRUE;
}

inline BOOL UnmapViewOfFile(LPCVOID view) {
  if (!shim::placeholders.empty()) shim::placeholders.erase(static_cast<char*>(const_cast<void*>(view)));
  const BOOL done = ::UnmapViewOfFile(view);
  if (const auto call = shim::now.after_unmapping.load(); call != nullptr) call();
  return done;
}

inline BOOL VirtualFree(LPVOID place, SIZE_T bytes, DWORD how) {
  const auto first = shim::placeholders.find(static_cast<char*>(place));
  if (first == shim::placeholders.end()) return how == MEM_RELEASE ? ::VirtualFree(place, bytes, how) : FALSE;
  if (first->second.is_view) return shim::failed(ERROR_INVALID_ADDRESS);
  const SIZE_T had = first->second.bytes;
  if (how == MEM_RELEASE) {
    if (bytes != 0) return shim::failed(ERROR_INVALID_PARAMETER);
    shim::free_placeholder(first->first, had);
    shim::placeholders.erase(first);
    return TRUE;
  }
  if (how == (MEM_RELEASE | 0x2u)) {  // MEM_PRESERVE_PLACEHOLDER: splits it
    if (bytes == 0 || bytes >= had || bytes % 4096 != 0) return shim::failed(ERROR_INVALID_PARAMETER);
    shim::free_placeholder(first->first, had);
    first->second.bytes = bytes;
    shim::placeholders[first->first + bytes] = {had - bytes, false};
    shim::take_placeholder(first->first, bytes);
    shim::take_placeholder(first->first + bytes, had - bytes);
    return TRUE;
  }
  const auto second = std::next(first);  // MEM_COALESCE_PLACEHOLDERS
  if (second == shim::placeholders.end() || second->second.is_view || second->first != first->first + had ||
      bytes != had + second->second.bytes)
    return shim::failed(ERROR_INVALID_PARAMETER);
  shim::free_placeholder(first->first, had);
  shim::free_placeholder(second->first, second->second.bytes);
  shim::placeholders.erase(second);
  first->second.bytes = bytes;
  shim::take_placeholder(first->first, bytes);
  return TRUE;
}

template <class Function>
Function* function_of_ntdll(const char* name) noexcept {
  const HMODULE ntdll = ::GetModuleHandleW(L"ntdll.dll");
  const FARPROC found = ntdll == nullptr ? nullptr : ::GetProcAddress(ntdll, name);
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(found));
}

inline LONG flush_data(HANDLE) noexcept {
  ++shim::now.data_flushes;
  return shim::now.data_flush;
}

inline void Sleep(DWORD milliseconds) {
  ++shim::now.sleeps;
  ::Sleep(milliseconds);
}

inline BOOL MoveFileExW(LPCWSTR from, LPCWSTR to, DWORD flags) {
  ++shim::now.moves;
  if (shim::is_too_long(from) || shim::is_too_long(to)) return FALSE;
  return shim::fails(shim::call::move) ? FALSE : ::MoveFileExW(from, to, flags);
}

inline BOOL SetFileInformationByHandle(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS what, LPVOID information, DWORD bytes) {
  if (const auto call = shim::now.before_resizing.load(); call != nullptr && what == FileEndOfFileInfo) call();
  constexpr auto rename_ex = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
  if (what == rename_ex && shim::fails(shim::call::posix_rename)) return FALSE;
  if (what == FileDispositionInfo && shim::fails(shim::call::remove)) return FALSE;
  return ::SetFileInformationByHandle(handle, what, information, bytes);
}

inline BOOL GetFileInformationByHandle(HANDLE handle, LPBY_HANDLE_FILE_INFORMATION found) {
  const BOOL done = ::GetFileInformationByHandle(handle, found);
  if (shim::now.ids == shim::identities::as_they_are) return done;
  found->nFileIndexHigh = 0;
  found->nFileIndexLow = shim::now.ids == shim::identities::zero ? 0 : 42;
  return done;
}

struct device_facts {
  ULONG type;
  ULONG characteristics;
};

inline LONG open_entry(HANDLE directory, std::wstring_view name, ULONG rights, ULONG sharing, ULONG options,
                       HANDLE& opened) noexcept {
  struct counted_text {  // UNICODE_STRING
    USHORT bytes, room;
    const wchar_t* characters;
  };
  struct object_attributes {  // OBJECT_ATTRIBUTES
    ULONG size;
    HANDLE root;
    const counted_text* name;
    ULONG flags;
    void* security;
    void* quality;
  };
  struct status_block {
    void* status;
    ULONG_PTR information;
  };
  using function = LONG NTAPI(HANDLE*, ULONG, const object_attributes*, status_block*, LARGE_INTEGER*, ULONG, ULONG,
                              ULONG, ULONG, void*, ULONG);
  static function* const create = function_of_ntdll<function>("NtCreateFile");
  constexpr auto not_implemented = static_cast<LONG>(0xc0000002), invalid_name = static_cast<LONG>(0xc0000033);
  constexpr ULONG case_insensitive = 0x40, existing = 1;  // unless the directory is case-sensitive
  if (create == nullptr) return not_implemented;
  if (name.size() > 32766) return invalid_name;
  const auto bytes = static_cast<USHORT>(name.size() * sizeof(wchar_t));
  const counted_text text{bytes, bytes, name.data()};
  const object_attributes attributes{sizeof attributes, directory, &text, case_insensitive, nullptr, nullptr};
  status_block status{};
  return create(&opened, rights, &attributes, &status, nullptr, FILE_ATTRIBUTE_NORMAL, sharing, existing, options,
                nullptr, 0);
}

inline LONG query_device(HANDLE handle, device_facts& found) {
  struct status_block {
    void* status;
    ULONG_PTR information;
  };
  using function = LONG NTAPI(HANDLE, status_block*, void*, ULONG, int);
  static function* const query = function_of_ntdll<function>("NtQueryVolumeInformationFile");
  status_block status{};
  const LONG answer = query(handle, &status, &found, sizeof found, 4);
  if (shim::now.is_remote) found.characteristics |= 0x10;
  return shim::now.hides_device ? static_cast<LONG>(0xc0000010) : answer;
}

inline BOOL GetFileSizeEx(HANDLE handle, PLARGE_INTEGER bytes) {
  ++shim::now.sizes_read;
  if (shim::fails(shim::call::get_size)) return FALSE;
  if (shim::now.device_bytes >= 0) return shim::failed(ERROR_INVALID_FUNCTION);
  return ::GetFileSizeEx(handle, bytes);
}

inline BOOL GetVolumeInformationByHandleW(HANDLE handle, LPWSTR name, DWORD name_size, LPDWORD serial, LPDWORD longest,
                                          LPDWORD flags, LPWSTR system, DWORD system_size) {
  const BOOL done =
      ::GetVolumeInformationByHandleW(handle, name, name_size, serial, longest, flags, system, system_size);
  if (const wchar_t* const other = shim::now.file_system; other != nullptr && system != nullptr)
    ::lstrcpynW(system, other, static_cast<int>(system_size));
  if (shim::now.volume_flags == 0 || flags == nullptr) return done;
  *flags |= shim::now.volume_flags;
  return TRUE;
}

/// IOCTL_DISK_GET_LENGTH_INFO, and FSCTL_QUERY_FILE_REGIONS as NTFS and ReFS answer it.
inline BOOL DeviceIoControl(HANDLE handle, DWORD code, LPVOID question, DWORD question_bytes, LPVOID answer,
                            DWORD answer_bytes, LPDWORD bytes, LPOVERLAPPED overlapped) {
  struct regions_question {
    std::int64_t offset, length;
    std::uint32_t usage, reserved;
  };
  struct region {
    std::int64_t offset, length;
    std::uint32_t usage, reserved;
  };
  struct regions {
    std::uint32_t flags, total, count, reserved;
    region each[2];
  };
  ++shim::now.questions;
  if (code == 0x7405c && shim::now.device_bytes >= 0) {
    static_cast<LARGE_INTEGER*>(answer)->QuadPart = shim::now.device_bytes;
    shim::note(*overlapped, {0, sizeof(LARGE_INTEGER)});
    ::SetEvent(overlapped->hEvent);
    return TRUE;
  }
  if (code == 0x90284 && shim::now.valid_end >= 0 && answer_bytes >= sizeof(regions)) {
    const auto& asked = *static_cast<const regions_question*>(question);
    if (asked.usage != (shim::now.knows_only_disk ? 2u : 1u)) return shim::failed(ERROR_INVALID_PARAMETER);
    const std::int64_t end = std::min<std::int64_t>(shim::now.valid_end, asked.length);
    *static_cast<regions*>(answer) = {0, 2, 2, 0, {{0, end, asked.usage, 0}, {end, asked.length - end, 0, 0}}};
    shim::note(*overlapped, {0, sizeof(regions)});
    ::SetEvent(overlapped->hEvent);
    return TRUE;
  }
  return ::DeviceIoControl(handle, code, question, question_bytes, answer, answer_bytes, bytes, overlapped);
}

inline BOOL FlushFileBuffers(HANDLE handle) {
  ++shim::now.full_flushes;
  return shim::fails(shim::call::flush) ? FALSE : ::FlushFileBuffers(handle);
}

inline LPVOID MapViewOfFileEx(HANDLE section, DWORD access, DWORD high, DWORD low, SIZE_T bytes, LPVOID place) {
  if (!shim::now.maps_nothing) return ::MapViewOfFileEx(section, access, high, low, bytes, place);
  ::SetLastError(ERROR_NOT_ENOUGH_MEMORY);
  return nullptr;
}

inline BOOL FlushViewOfFile(LPCVOID view, SIZE_T bytes) {
  if (shim::fails(shim::call::flush_view)) return FALSE;
  {
    const std::lock_guard lock(shim::mutex);
    shim::flushed_views.insert(view);
  }
  return ::FlushViewOfFile(view, bytes);
}

inline BOOL PrefetchVirtualMemory(HANDLE process, ULONG_PTR count, PWIN32_MEMORY_RANGE_ENTRY ranges, ULONG flags) {
  for (ULONG_PTR i = 0; i < count; ++i) shim::now.prefetched += ranges[i].NumberOfBytes;
  return ::PrefetchVirtualMemory(process, count, ranges, flags);
}

inline BOOL CancelIoEx(HANDLE handle, LPOVERLAPPED overlapped) {
  if (const auto answer = shim::cancel(overlapped)) return *answer;
  return ::CancelIoEx(handle, overlapped);
}

inline BOOL GetQueuedCompletionStatusEx(HANDLE port, LPOVERLAPPED_ENTRY packets, ULONG room, PULONG count,
                                        DWORD patience, BOOL alertable) {
  shim::carry_out_late(patience);
  return ::GetQueuedCompletionStatusEx(port, packets, room, count, patience, alertable);
}

inline BOOL PostQueuedCompletionStatus(HANDLE port, DWORD bytes, ULONG_PTR key, LPOVERLAPPED overlapped) {
  return shim::fails(shim::call::post) ? FALSE : ::PostQueuedCompletionStatus(port, bytes, key, overlapped);
}

/// What Wine lacks.
inline BOOL GetFileInformationByHandleEx(HANDLE handle, FILE_INFO_BY_HANDLE_CLASS what, LPVOID information,
                                         DWORD bytes) {
  if (shim::now.minds_sectors && what == FileStorageInfo) {
    static_cast<FILE_STORAGE_INFO*>(information)->LogicalBytesPerSector = 512;
    return TRUE;
  }
  if (shim::now.minds_sectors && what == FileAlignmentInfo) {
    static_cast<FILE_ALIGNMENT_INFO*>(information)->AlignmentRequirement = 3;
    return TRUE;
  }
  if (what == FileRemoteProtocolInfo) return shim::failed(ERROR_INVALID_PARAMETER);  // not every redirector answers
  if (what == FileIdInfo && shim::now.ids != shim::identities::as_they_are) {
    auto& found = *static_cast<FILE_ID_INFO*>(information);
    BY_HANDLE_FILE_INFORMATION real{};
    if (::GetFileInformationByHandle(handle, &real) == 0) return FALSE;
    const bool differ = shim::now.ids == shim::identities::upper_half;
    const std::uint64_t id[2] = {differ ? 42u : 0u,
                                 differ ? std::uint64_t(real.nFileIndexHigh) << 32 | real.nFileIndexLow : 0u};
    found.VolumeSerialNumber = 1;
    std::memcpy(&found.FileId, id, sizeof id);
    return TRUE;
  }
  const BOOL done = ::GetFileInformationByHandleEx(handle, what, information, bytes);
  if (done != 0 && what == FileBasicInfo)
    static_cast<FILE_BASIC_INFO*>(information)->FileAttributes |= shim::now.attributes;
  return done;
}

}  // namespace platform::calls
QIO_END_NAMESPACE
