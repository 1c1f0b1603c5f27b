// SPDX-License-Identifier: BSL-1.0
// A part of the address space that shows a file.
#pragma once

#include <qio/detail/windows/handle.hpp>
#include <qio/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace qio::platform {

/// Shows a file from its beginning to its end, as that is when it is mapped: a view of more would make the file longer.
class mapping {
 public:
  static constexpr bool covers_growth = false;    ///< may be longer than the file
  static constexpr bool is_flushed_apart = true;  ///< by flush(), before the file is synced

  /// Shows less than `bytes` where the file is shorter.
  static result<mapping> map(native_handle handle, std::uint64_t bytes, bool writable) noexcept {
    mapping made(writable, static_cast<std::size_t>(bytes));
    if (auto shown = made.show(handle); !shown) return shown.error();
    return made;
  }

  mapping(mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)), writable_(other.writable_) {}
  mapping& operator=(mapping&& other) noexcept {
    mapping taken(std::move(other));
    std::swap(base_, taken.base_);
    std::swap(size_, taken.size_);
    std::swap(writable_, taken.writable_);
    return *this;
  }
  ~mapping() { hide(); }

  std::byte* data() const noexcept { return base_; }
  std::size_t size() const noexcept { return size_; }

  /// Unmaps it, but for the memory of where it was …
  void hide() noexcept {
    if (base_ != nullptr && base_ != &nothing) calls::UnmapViewOfFile(base_);
    place_ = std::exchange(base_, nullptr);
  }

  /// … and maps what there is of it now, at that place if it had one. Nothing of an empty file can be shown; it is
  /// somewhere all the same. If it fails, nothing is shown any more.
  result<void> show(native_handle handle) noexcept {
    const std::size_t wanted = std::exchange(size_, 0);
    const auto end = platform::size(handle);
    if (!end) return end.error();
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, end.assume_value()));
    if (bytes == 0) {
      base_ = &nothing;
      return BOOST_OUTCOME_V2_NAMESPACE::success();
    }
    const HANDLE section =
        calls::CreateFileMappingW(handle, nullptr, writable_ ? PAGE_READWRITE : PAGE_READONLY, 0, 0, nullptr);
    if (section == nullptr) return last_error();
    const DWORD granted = writable_ ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_READ;
    void* const base = calls::MapViewOfFileEx(section, granted, 0, 0, bytes, place_);
    const error failure = base == nullptr ? last_error() : error();
    calls::CloseHandle(section);  // the view keeps what it needs
    if (failure.exists()) return failure;
    base_ = static_cast<std::byte*>(base);
    size_ = bytes;
    return BOOST_OUTCOME_V2_NAMESPACE::success();
  }

 private:
  inline static std::byte nothing{};

  mapping(bool writable, std::size_t size) noexcept : size_(size), writable_(writable) {}

  std::byte* base_ = nullptr;
  std::byte* place_ = nullptr;
  std::size_t size_ = 0;
  bool writable_ = false;
};

/// Makes a call that may cut off or extend the file, while these show it. Windows cuts off nothing that is mapped: then
/// without them, for that moment. They come back where they were; one whose place another thread has taken meanwhile
/// does not, and touching its views ends the program.
template <class Mappings, class Call>
auto resize_beneath(Mappings& mappings, native_handle handle, Call&& call) {
  auto answer = call();
  if (answer || answer.error().code() != system_error(ERROR_USER_MAPPED_FILE).code()) return answer;
  for (mapping& each : mappings) each.hide();
  answer = call();
  for (mapping& each : mappings) static_cast<void>(each.show(handle));
  return answer;
}

/// Hands to the system what was changed through it, and through no other view; FlushFileBuffers does not see to that.
inline result<void> flush(const mapping& shown) noexcept {
  if (shown.size() != 0 && calls::FlushViewOfFile(shown.data(), 0) == 0) return last_error();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

inline std::size_t page_size() noexcept {
  static const std::size_t bytes = [] {
    SYSTEM_INFO system;
    ::GetSystemInfo(&system);
    return system.dwPageSize;
  }();
  return bytes;
}

}  // namespace qio::platform
