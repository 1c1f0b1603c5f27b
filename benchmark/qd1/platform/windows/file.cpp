// SPDX-License-Identifier: BSL-1.0
#include "platform/file.hpp"

#include "failure.hpp"

#include <fmt/format.h>
#include <winioctl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>

namespace qd1::platform {
namespace {

using qio::platform::share_all;

// A stream beside the contents of a file. NTFS and ReFS have such.
constexpr const wchar_t* mark_name = L":qd1.modified";
constexpr const char* unfinished = "unfinished";

class owned_handle {
 public:
  explicit owned_handle(HANDLE handle) noexcept : handle_(handle) {}
  owned_handle(const owned_handle&) = delete;
  owned_handle& operator=(const owned_handle&) = delete;
  ~owned_handle() {
    if (exists()) ::CloseHandle(handle_);
  }
  bool exists() const noexcept { return handle_ != INVALID_HANDLE_VALUE; }
  HANDLE get() const noexcept { return handle_; }

 private:
  HANDLE handle_;
};

[[noreturn]] void fail(const std::string& what) {
  throw usage_error(fmt::format("{}: {}", what, qio::platform::last_error().message()));
}

std::wstring native(const std::string& path) {
  const auto name = qio::platform::native_path(path.c_str());
  if (!name) throw usage_error(fmt::format("{}: {}", path, name.error().message()));
  return name.value();
}

HANDLE open(const std::wstring& name, DWORD access, DWORD disposition, DWORD flags = 0) {
  return ::CreateFileW(name.c_str(), access, share_all, nullptr, disposition, FILE_ATTRIBUTE_NORMAL | flags, nullptr);
}

// "\\.\PhysicalDrive0", "\\.\D:"
bool is_device(const std::string& path) { return path.starts_with(R"(\\.\)"); }

// Reading a device takes an administrator's rights.
[[noreturn]] void fail_to_open(const std::string& path) {
  const qio::error failure = qio::platform::last_error();
  const bool may_not = is_device(path) && failure == std::errc::permission_denied;
  throw usage_error(fmt::format("{}: {}{}", path, failure.message(), may_not ? "; start qd1 as an administrator" : ""));
}

// Time and size of the last change: whatever is written to the file later changes them.
std::string state_of(const std::string& path) {
  WIN32_FILE_ATTRIBUTE_DATA found;
  if (::GetFileAttributesExW(native(path).c_str(), GetFileExInfoStandard, &found) == 0) fail(path);
  return fmt::format("{}.{} {}.{}", found.ftLastWriteTime.dwHighDateTime, found.ftLastWriteTime.dwLowDateTime,
                     found.nFileSizeHigh, found.nFileSizeLow);
}

void put_mark(const std::string& path, const std::string& mark) {
  const owned_handle stream(open(native(path) + mark_name, GENERIC_WRITE, CREATE_ALWAYS));
  if (!stream.exists()) return;
  // What is done by this handle leaves the time of the last change as it is (SetFileTime's documentation).
  constexpr FILETIME unchanged{0xffffffff, 0xffffffff};
  ::SetFileTime(stream.get(), nullptr, nullptr, &unchanged);
  DWORD written = 0;
  ::WriteFile(stream.get(), mark.data(), static_cast<DWORD>(mark.size()), &written, nullptr);
}

// Empty if there is none.
std::string mark_of(const std::string& path) {
  const owned_handle stream(open(native(path) + mark_name, GENERIC_READ, OPEN_EXISTING));
  std::array<char, 128> mark;
  DWORD length = 0;
  if (!stream.exists() || ::ReadFile(stream.get(), mark.data(), static_cast<DWORD>(mark.size()), &length, nullptr) == 0)
    return {};
  return std::string(mark.data(), length);
}

std::optional<std::uint64_t> allocated_bytes(HANDLE file, std::uint64_t bytes) {
  std::uint64_t allocated = 0;
  std::uint64_t from = 0;
  for (;;) {
    FILE_ALLOCATED_RANGE_BUFFER asked{};
    asked.FileOffset.QuadPart = static_cast<LONGLONG>(from);
    asked.Length.QuadPart = static_cast<LONGLONG>(bytes - from);
    std::array<FILE_ALLOCATED_RANGE_BUFFER, 64> ranges;
    DWORD written = 0;
    const bool complete = ::DeviceIoControl(file, FSCTL_QUERY_ALLOCATED_RANGES, &asked, sizeof asked, ranges.data(),
                                            sizeof ranges, &written, nullptr) != 0;
    if (!complete && ::GetLastError() != ERROR_MORE_DATA) return std::nullopt;
    const std::size_t count = written / sizeof ranges[0];
    for (std::size_t each = 0; each < count; ++each) {
      allocated += static_cast<std::uint64_t>(ranges[each].Length.QuadPart);
      from = static_cast<std::uint64_t>(ranges[each].FileOffset.QuadPart + ranges[each].Length.QuadPart);
    }
    if (complete || count == 0) return allocated;
  }
}

}  // namespace

file_kind kind_of(const std::string& path) {
  if (is_device(path)) {
    if (!owned_handle(open(native(path), 0, OPEN_EXISTING)).exists()) fail_to_open(path);
    return file_kind::block_device;
  }
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  switch (status.type()) {
    case std::filesystem::file_type::not_found: return file_kind::missing;
    case std::filesystem::file_type::regular: return file_kind::regular;
    case std::filesystem::file_type::directory: return file_kind::directory;
    case std::filesystem::file_type::none: throw usage_error(fmt::format("{}: {}", path, failed.message()));
    default: return file_kind::other;
  }
}

// Names differ in more than case, so a missing file is the same by any case of its name.
std::string file_identity(const std::string& path) {
  const auto identity = [](const std::wstring& name) -> std::string {
    const owned_handle there(open(name, 0, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS));
    BY_HANDLE_FILE_INFORMATION facts;
    if (!there.exists() || ::GetFileInformationByHandle(there.get(), &facts) == 0) return {};
    return fmt::format("{} {} {}", facts.dwVolumeSerialNumber, facts.nFileIndexHigh, facts.nFileIndexLow);
  };
  if (is_device(path)) return path;
  const auto name = qio::platform::native_path(path.c_str());
  if (!name) return {};
  if (std::string found = identity(name.value()); !found.empty()) return found;
  const std::filesystem::path place = name.value();
  const std::string above = identity(place.has_parent_path() ? place.parent_path().native() : L".");
  std::string last = place.filename().string();
  std::ranges::transform(last, last.begin(), [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return above.empty() ? above : above + ' ' + last;
}

std::uint64_t free_bytes(const std::string& directory) {
  ULARGE_INTEGER bytes;
  if (::GetDiskFreeSpaceExW(native(directory).c_str(), &bytes, nullptr, nullptr) == 0) fail(directory);
  return bytes.QuadPart;
}

// Nobody may rename or remove it while this handle is open, nor what is above it. Without the cache, as for
// temporary_file.
held_file::held_file(const std::string& path)
    : handle_(::CreateFileW(native(path).c_str(), FILE_READ_ATTRIBUTES | GENERIC_READ,
                            FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING,
                            (is_device(path) ? 0u : FILE_FLAG_BACKUP_SEMANTICS) | FILE_FLAG_NO_BUFFERING, nullptr)),
      path_(path) {
  if (handle_ == INVALID_HANDLE_VALUE) fail_to_open(path);
}

held_file::~held_file() { ::CloseHandle(handle_); }

qio::cached_file create_file(const std::string& path) {
  auto made = qio::cached_file::open(path, qio::access::read_write, qio::creation::only_if_missing);
  if (!made) throw usage_error(path + ": " + made.error().message());
  return std::move(made).value();
}

bool is_same_file(HANDLE opened, const std::string& path) {
  const owned_handle there(open(native(path), FILE_READ_ATTRIBUTES, OPEN_EXISTING));
  return there.exists() && qio::platform::are_same_file(opened, there.get());
}

// The held file cannot be exchanged.
void require_no_link_of_others(const std::string& path, const held_file&) {
  std::error_code ignored;
  if (std::filesystem::is_symlink(std::filesystem::path(native(path)), ignored))
    throw usage_error(path + ": not overwritten: it is a symbolic link; name a file");
}

device_claim::device_claim(const held_file&, const std::string& name) : handle_(INVALID_HANDLE_VALUE) {
  throw usage_error(name + ": not overwritten: on Windows, devices are only read; choose --ops read");
}
device_claim::~device_claim() = default;

std::string device_over(const std::string&) { return {}; }

// "You should assume that all Microsoft file systems open volume handles as noncached" (CreateFile's documentation);
// disks have no file system that could cache.
bool is_cacheable(const std::string& path) { return !is_device(path); }

void mark_as_made_by_qd1(const std::string& path) { put_mark(path, state_of(path)); }

bool is_made_by_qd1(const std::string& path) { return mark_of(path) == state_of(path); }

void mark_as_unfinished(const std::string& path, std::uint64_t) { put_mark(path, unfinished); }

bool is_unfinished(const std::string& path) { return mark_of(path) == unfinished; }

std::string why_in_use(const std::string& path) {
  const owned_handle file(::CreateFileW(native(path).c_str(), GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING,
                                        FILE_ATTRIBUTE_NORMAL | FILE_FLAG_NO_BUFFERING, nullptr));
  if (!file.exists())
    return ::GetLastError() == ERROR_SHARING_VIOLATION ? "another process has it open for writing" : "";
  OVERLAPPED begin{};
  constexpr DWORD all = ~DWORD(0);
  if (::LockFileEx(file.get(), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, all, all, &begin) == 0)
    return ::GetLastError() == ERROR_LOCK_VIOLATION ? "another process holds a lock on it" : "";
  ::UnlockFileEx(file.get(), 0, all, all, &begin);
  return {};
}

// While it is held, its name cannot lead to another file.
void remove_file(const std::string& path, std::unique_ptr<held_file> held) noexcept {
  held.reset();
  std::error_code ignored;
  std::filesystem::remove(std::filesystem::path(path), ignored);
}

void require_writable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path place = native(path);
  const auto kind = fs::symlink_status(place, ignored).type();
  if (kind == fs::file_type::symlink)
    throw usage_error(path + ": cannot be written: it is a symbolic link; name a file");
  if (is_device(path)) throw usage_error(path + ": cannot be written: it is a device; name a file");
  if (kind != fs::file_type::regular && kind != fs::file_type::not_found) return;
  const std::wstring name =
      (place.parent_path() / fmt::format(".qd1-{:016x}", qio::platform::unguessable_number())).native();
  // Deleted on close, so nothing is left even if qd1 is killed here.
  if (!owned_handle(open(name, GENERIC_WRITE | DELETE, CREATE_NEW, FILE_FLAG_DELETE_ON_CLOSE)).exists())
    fail(path + ": cannot be written");
}

void write_whole_file(const std::string& path, std::string_view contents) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path place = native(path);
  const auto kind = fs::symlink_status(place, ignored).type();
  const bool is_replaced = kind == fs::file_type::regular || kind == fs::file_type::not_found;
  if (kind == fs::file_type::symlink)
    throw usage_error(path + ": cannot be written: it is a symbolic link; name a file");
  // Devices (NUL, CON) are written to as they are.
  const std::wstring name =
      is_replaced ? (place.parent_path() / fmt::format(".qd1-{:016x}", qio::platform::unguessable_number())).native()
                  : place.native();
  {
    const owned_handle file(open(name, GENERIC_WRITE, is_replaced ? CREATE_NEW : OPEN_EXISTING));
    if (!file.exists()) fail(path + ": cannot be written");
    while (!contents.empty()) {
      const auto part = static_cast<DWORD>(std::min<std::size_t>(contents.size(), 1 << 20));
      DWORD written = 0;
      if (::WriteFile(file.get(), contents.data(), part, &written, nullptr) == 0) fail(path + ": cannot be written");
      contents.remove_prefix(written);
    }
  }
  if (!is_replaced) return;
  const qio::error failure = qio::platform::replace_file(name, place.native());
  if (!failure.exists()) return;
  qio::platform::remove_file(name);
  throw usage_error(fmt::format("{}: cannot be written: {}", path, failure.message()));
}

// No call is documented for it. NTFS throws the pages of a file out when that is opened without cache and nobody has it
// open with the cache. No call reports how many pages are left, so cold reads are judged by what the device has read.
void drop_cached_pages(const std::string& path) {
  const owned_handle file(open(native(path), GENERIC_READ, OPEN_EXISTING, FILE_FLAG_NO_BUFFERING));
  if (!file.exists()) fail(path);
}

bool tells_cached_pages() noexcept { return false; }

std::optional<std::uint64_t> cached_pages(const std::string&, std::uint64_t) { return std::nullopt; }

std::optional<std::uint64_t> shared_bytes(const std::string&, std::uint64_t) { return std::nullopt; }

// For sparse files only. Windows does not report whether other clusters have ever been written.
std::optional<std::uint64_t> bytes_without_data(const std::string& path, std::uint64_t bytes) {
  const owned_handle file(open(native(path), GENERIC_READ, OPEN_EXISTING));
  BY_HANDLE_FILE_INFORMATION facts;
  if (!file.exists() || ::GetFileInformationByHandle(file.get(), &facts) == 0) return std::nullopt;
  if ((facts.dwFileAttributes & FILE_ATTRIBUTE_SPARSE_FILE) == 0) return std::nullopt;
  const auto allocated = allocated_bytes(file.get(), bytes);
  return allocated ? std::optional(bytes - std::min(bytes, *allocated)) : std::nullopt;
}

bool takes_advice_on_mappings() noexcept { return false; }

lock_file::lock_file(const std::string& path)
    : path_(path), handle_(open(native(path), GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS)) {
  if (handle_ == INVALID_HANDLE_VALUE) fail(path);
}

lock_file::~lock_file() { ::CloseHandle(handle_); }

void lock_file::lock(std::uint64_t part) {
  OVERLAPPED at{};
  qio::platform::set_offset(at, part);
  if (::LockFileEx(handle_, LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &at) == 0) fail(path_);
}

void lock_file::unlock(std::uint64_t part) noexcept {
  OVERLAPPED at{};
  qio::platform::set_offset(at, part);
  ::UnlockFileEx(handle_, 0, 1, 0, &at);
}

// Not FILE_ATTRIBUTE_TEMPORARY, which keeps what is written from reaching the disk. Without the cache: as long as any
// handle is open that uses it, NTFS keeps the pages of the file when drop_cached_pages() opens one that does not, and
// each direct transfer pays for keeping both in step.
temporary_file::temporary_file(const std::string& directory)
    : path_((std::filesystem::path(directory) / fmt::format(".qd1-{:08x}", std::random_device()())).string()) {
  handle_ = open(native(path_), GENERIC_READ | GENERIC_WRITE | DELETE, CREATE_NEW,
                 FILE_FLAG_DELETE_ON_CLOSE | FILE_FLAG_NO_BUFFERING);
  if (handle_ == INVALID_HANDLE_VALUE) fail("a temporary file in " + directory);
}

temporary_file::~temporary_file() { ::CloseHandle(handle_); }

}  // namespace qd1::platform
