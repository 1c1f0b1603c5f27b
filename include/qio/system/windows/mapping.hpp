// SPDX-License-Identifier: BSL-1.0
// A mapping of a file into memory.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/view_place.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::platform {

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

/// Hands changes made through this mapping, and no other, to the system. FlushFileBuffers does not do that. While the
/// system itself writes the pages, FlushViewOfFile may fail with ERROR_LOCK_VIOLATION (.NET repeats it, too): it is
/// repeated for about a second.
inline result<void> flush(const mapping& shown) noexcept {
  constexpr int attempts = 20;
  if (shown.size() == 0) return success();
  for (int attempt = 0;; ++attempt) {
    if (calls::FlushViewOfFile(shown.data(), 0) != 0) return success();
    const DWORD code = calls::GetLastError();
    if (code != ERROR_LOCK_VIOLATION || attempt == attempts) return system_error(code);
    calls::Sleep(attempt < 4 ? 1 : 64);
  }
}

/// Files with mappings are not shared here: see close_and_keep_number().
inline void end(mapping&) noexcept {}

inline std::size_t page_size() noexcept { return memory_facts().dwPageSize; }

}  // namespace qio::inline QIO_CONFIGURATION::platform
