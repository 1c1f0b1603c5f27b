// SPDX-License-Identifier: BSL-1.0
// Files in memory: mappings, and where their views are placed.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/handle.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- The addresses at which a file is mapped, which stay reserved while it is not ---

inline const SYSTEM_INFO& memory_facts() noexcept {
  static const SYSTEM_INFO facts = [] {
    SYSTEM_INFO found;
    ::GetSystemInfo(&found);
    return found;
  }();
  return facts;
}

/// A range of addresses, in which the beginning of a file is mapped or not. From the first view on, nobody else gets
/// any of them before the destructor: the program may still have pointers to them.
///
/// Since Windows 10 1803, they are a placeholder, which a view replaces, in whole or in part, and leaves behind
/// ("VirtualAlloc2 function", "MapViewOfFile3 function"). Before, a view is unmapped, and its addresses are reserved
/// right afterwards, and the other way around. Another thread that allocates memory in between may get them. Pointers
/// into the file would then lead to that memory, so this ends the program.
class view_place {
 public:
  view_place() noexcept = default;
  view_place(view_place&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)),
        shown_(std::exchange(other.shown_, 0)),
        is_placeholder_(other.is_placeholder_) {}
  view_place& operator=(view_place&& other) noexcept {
    view_place taken(std::move(other));
    std::swap(base_, taken.base_);
    std::swap(bytes_, taken.bytes_);
    std::swap(shown_, taken.shown_);
    std::swap(is_placeholder_, taken.is_placeholder_);
    return *this;
  }
  ~view_place() {
    if (base_ == nullptr) return;
    if (shown_ == 0) {
      calls::VirtualFree(base_, 0, MEM_RELEASE);
      return;
    }
    calls::UnmapViewOfFile(base_);
    free_rest();
  }

  /// Null before the first view.
  std::byte* base() const noexcept { return base_; }
  /// The length of the range: that of the first view, in whole pages.
  std::size_t bytes() const noexcept { return bytes_; }

  /// Maps the first `bytes` of `section`, at least one: at any address the first time, and from then on at this one, no
  /// more than bytes(). If that fails, nothing is mapped.
  error show(HANDLE section, std::size_t bytes, bool writable) noexcept {
    if (shown_ != 0) return {};  // hide() has failed
    if (base_ == nullptr) return show_first(section, bytes, writable);
    return is_placeholder_ ? replace_placeholder(section, bytes, writable) : show_again(section, bytes, writable);
  }

  /// Unmaps the file, and keeps the addresses.
  void hide() noexcept {
    if (shown_ == 0) return;
    if (is_placeholder_) {
      if (calls::unmap_to_placeholder(base_) == 0) return;
      if (shown_ != bytes_) calls::VirtualFree(base_, bytes_, MEM_RELEASE | coalesce_placeholders);
    } else {
      if (calls::UnmapViewOfFile(base_) == 0) return;
      free_rest();
      reserve(base_, bytes_);
    }
    shown_ = 0;
  }

 private:
  static constexpr DWORD coalesce_placeholders = 0x1, preserve_placeholder = 0x2;  // for older headers

  static std::size_t in_pages(std::size_t bytes) noexcept {
    const std::size_t page = memory_facts().dwPageSize;
    return (bytes + page - 1) / page * page;
  }

  error show_first(HANDLE section, std::size_t bytes, bool writable) noexcept {
    bytes_ = in_pages(bytes);
    base_ = static_cast<std::byte*>(calls::reserve_placeholder(bytes_));
    is_placeholder_ = base_ != nullptr;
    if (is_placeholder_) {
      if (!replace_placeholder(section, bytes, writable).exists()) return {};
      calls::VirtualFree(base_, 0, MEM_RELEASE);
      is_placeholder_ = false;
    }
    base_ = map_at(nullptr, section, bytes, writable);
    if (base_ == nullptr) return last_error();
    shown_ = bytes_;
    return {};
  }

  error replace_placeholder(HANDLE section, std::size_t bytes, bool writable) noexcept {
    const std::size_t pages = in_pages(bytes);
    if (pages != bytes_ && calls::VirtualFree(base_, pages, MEM_RELEASE | preserve_placeholder) == 0)
      return last_error();
    // The view must be exactly as long as the placeholder, in whole pages. The section may end within the last page,
    // and it is not documented which of the two lengths Windows then accepts.
    const DWORD granted = writable ? PAGE_READWRITE : PAGE_READONLY;
    if (calls::map_into_placeholder(section, base_, pages, granted) != nullptr ||
        calls::map_into_placeholder(section, base_, bytes, granted) != nullptr) {
      shown_ = pages;
      return {};
    }
    const error failure = last_error();
    if (pages != bytes_) calls::VirtualFree(base_, bytes_, MEM_RELEASE | coalesce_placeholders);
    return failure;
  }

  error show_again(HANDLE section, std::size_t bytes, bool writable) noexcept {
    calls::VirtualFree(base_, 0, MEM_RELEASE);
    if (map_at(base_, section, bytes, writable) == nullptr) {
      const error failure = last_error();
      reserve(base_, bytes_);
      return failure;
    }
    shown_ = in_pages(bytes);
    if (std::byte* const rest = begin_of_rest(); rest < base_ + bytes_)
      reserve(rest, static_cast<std::size_t>(base_ + bytes_ - rest));
    return {};
  }

  static std::byte* map_at(void* place, HANDLE section, std::size_t bytes, bool writable) noexcept {
    const DWORD granted = writable ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_READ;
    return static_cast<std::byte*>(calls::MapViewOfFileEx(section, granted, 0, 0, bytes, place));
  }

  // Only a placeholder can begin at any page. Nobody can allocate anything between a view and the next multiple of the
  // granularity.
  std::byte* begin_of_rest() const noexcept {
    const std::size_t unit = is_placeholder_ ? 1 : memory_facts().dwAllocationGranularity;
    return base_ + (shown_ + unit - 1) / unit * unit;
  }

  void free_rest() noexcept {
    if (std::byte* const rest = begin_of_rest(); rest < base_ + bytes_) calls::VirtualFree(rest, 0, MEM_RELEASE);
  }

  static void reserve(std::byte* place, std::size_t bytes) noexcept {
    if (calls::VirtualAlloc(place, bytes, MEM_RESERVE, PAGE_NOACCESS) != nullptr) return;
    std::fprintf(stderr,
                 "qio: another thread has taken the addresses of a mapped file, while this one resized it: views of "
                 "the file would lead to that thread's memory. Windows 10 1803 prevents this\n");
    std::abort();
  }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t shown_ = 0;  // bytes of the view, in whole pages; 0 if there is none
  bool is_placeholder_ = false;
};

// --- A mapping of a file into memory ---

/// Maps a file from its beginning to its end at the time of mapping: a longer view would extend the file.
class mapping {
 public:
  static constexpr bool covers_growth = false;    ///< may be longer than the file
  static constexpr bool is_flushed_apart = true;  ///< needs flush() before the file is synced

  /// Whether nobody can make the file shorter while it is mapped. A file system must refuse that, within the last page,
  /// too (documentation of MmCanFileBeTruncated): relied upon for Microsoft's own, on disks of this machine.
  static bool keeps_size(native_handle handle) noexcept {
    if (is_remote(handle)) return false;
    const file_system_name found = known_file_system(handle);
    return found == L"NTFS" || found == L"ReFS" || found == L"exFAT" || found == L"FAT32";
  }

  /// Maps less than `bytes` if the file is shorter.
  static result<mapping> map(native_handle handle, std::uint64_t bytes, bool writable) noexcept {
    mapping made(writable, static_cast<std::size_t>(bytes));
    if (auto shown = made.show(handle); !shown) return shown.error();
    return made;
  }

  mapping(mapping&& other) noexcept
      : place_(std::move(other.place_)),
        base_(std::exchange(other.base_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        longest_(other.longest_),
        writable_(other.writable_) {}
  mapping& operator=(mapping&& other) noexcept {
    mapping taken(std::move(other));
    std::swap(place_, taken.place_);
    std::swap(base_, taken.base_);
    std::swap(size_, taken.size_);
    std::swap(longest_, taken.longest_);
    std::swap(writable_, taken.writable_);
    return *this;
  }

  std::byte* data() const noexcept { return base_; }
  std::size_t size() const noexcept { return size_; }

  /// Windows has no hints for mappings.
  static void expect(access_pattern) noexcept {}

  /// Unmaps the file, but keeps its addresses ...
  void hide() noexcept {
    place_.hide();
    base_ = nullptr;
    size_ = 0;
  }

  /// ... and maps what the file contains now, at these addresses if there are any, and no more than there are. An empty
  /// file cannot be mapped; data() is then not null, and size() is 0. If this fails, nothing is mapped.
  result<void> show(native_handle handle) noexcept {
    const auto end = platform::size(handle);
    if (!end) return end.error();
    const std::uint64_t bytes = detail::lesser_of<std::uint64_t>(longest_, end.assume_value());
    if (bytes != 0) {
      const HANDLE section =
          calls::CreateFileMappingW(handle, nullptr, writable_ ? PAGE_READWRITE : PAGE_READONLY, 0, 0, nullptr);
      if (section == nullptr) return last_error();
      const error failure = place_.show(section, static_cast<std::size_t>(bytes), writable_);
      calls::CloseHandle(section);  // the view keeps what it needs
      if (failure.exists()) return failure;
    }
    base_ = bytes == 0 ? &nothing : place_.base();
    size_ = static_cast<std::size_t>(bytes);
    longest_ = place_.bytes();
    return success();
  }

 private:
  inline static std::byte nothing{};

  mapping(bool writable, std::size_t longest) noexcept : longest_(longest), writable_(writable) {}

  view_place place_;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t longest_;  // what show() maps at most; after the first time, what there are addresses for
  bool writable_ = false;
};

/// Makes a call that may truncate or extend the file while it is mapped. Returns what the call returns. Windows does
/// not truncate a mapped file; if the call fails for that reason, it is repeated while the file is unmapped. The
/// mappings are then restored at their addresses. Until then, touching a view ends the program.
template <class Mappings, class Call>
auto resize_beneath(Mappings& mappings, native_handle handle, Call&& call) {
  auto answer = call();
  if (answer || answer.error().code() != system_error(ERROR_USER_MAPPED_FILE).code()) return answer;
  for (mapping& each : mappings) each.hide();
  answer = call();
  for (mapping& each : mappings) static_cast<void>(each.show(handle));
  return answer;
}

/// Hands changes made through this view, and no other, to the system. FlushFileBuffers does not do that. While the
/// system itself writes the pages, FlushViewOfFile may fail with ERROR_LOCK_VIOLATION (.NET repeats it, too): it is
/// repeated for about a second. The file must be synced afterwards.
inline result<void> sync_view(std::span<std::byte> view) noexcept {
  constexpr int attempts = 20;
  if (view.empty()) return success();
  for (int attempt = 0;; ++attempt) {
    if (calls::FlushViewOfFile(view.data(), view.size()) != 0) return success();
    const DWORD code = calls::GetLastError();
    if (code != ERROR_LOCK_VIOLATION || attempt == attempts) return system_error(code);
    calls::Sleep(attempt < 4 ? 1 : 64);
  }
}

/// The same for all of a mapping.
inline result<void> flush(const mapping& shown) noexcept { return sync_view({shown.data(), shown.size()}); }

inline std::size_t page_size() noexcept { return memory_facts().dwPageSize; }

}  // namespace platform
QIO_END_NAMESPACE
