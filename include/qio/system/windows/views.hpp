// SPDX-License-Identifier: BSL-1.0
// Views of mapped files: what the system is asked to do with their pages, and views that the file does not see.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/mapping.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- The pages of a view ---

/// Whether prefetch() of a mapped file needs its views.
inline constexpr bool prefetches_views = true;

inline result<void> advise_view(std::span<std::byte>, access_pattern) noexcept {
  return error(errc::advice_not_supported);
}
inline void unmap_pages(std::span<std::byte>) noexcept {}

/// Starts reading the pages of a view that is not empty.
inline result<void> prefetch_view(std::span<std::byte> view) noexcept {
  WIN32_MEMORY_RANGE_ENTRY range{view.data(), view.size()};
  if (calls::PrefetchVirtualMemory(::GetCurrentProcess(), 1, &range, 0) == 0) return last_error();
  return success();
}

/// Windows cannot put pages of a file into a working set.
inline result<bool> populate(std::span<std::byte>, bool) noexcept { return false; }
/// It has large pages only for memory without a file (SEC_LARGE_PAGES).
inline result<void> use_huge_pages(std::span<std::byte>) noexcept { return error(errc::huge_pages_not_supported); }

// --- Views that the file does not see ---

/// A part of a file, mapped so that a store copies the page first.
class private_mapping {
 public:
  private_mapping() noexcept = default;

  /// The range is not empty.
  static result<private_mapping> map(native_handle handle, std::uint64_t offset, std::size_t bytes) noexcept {
    private_mapping made;
    made.before_ = offset % memory_facts().dwAllocationGranularity;
    const std::uint64_t begin = offset - made.before_;
    const HANDLE section = calls::CreateFileMappingW(handle, nullptr, PAGE_WRITECOPY, 0, 0, nullptr);
    if (section == nullptr) return last_error();
    void* const base = calls::MapViewOfFileEx(section, FILE_MAP_COPY, static_cast<DWORD>(begin >> 32),
                                              static_cast<DWORD>(begin & 0xffffffff), made.before_ + bytes, nullptr);
    const error failure = base == nullptr ? last_error() : error();
    calls::CloseHandle(section);  // the view keeps what it needs
    if (failure.exists()) return failure;
    made.shown_ = {static_cast<std::byte*>(base) + made.before_, bytes};
    return made;
  }

  private_mapping(private_mapping&& other) noexcept
      : shown_(std::exchange(other.shown_, {})), before_(std::exchange(other.before_, 0)) {}
  private_mapping& operator=(private_mapping&& other) noexcept {
    private_mapping taken(std::move(other));
    std::swap(shown_, taken.shown_);
    std::swap(before_, taken.before_);
    return *this;
  }
  ~private_mapping() {
    if (!shown_.empty()) calls::UnmapViewOfFile(shown_.data() - before_);
  }

  std::span<std::byte> shown() const noexcept { return shown_; }

 private:
  std::span<std::byte> shown_;
  std::size_t before_ = 0;  // bytes of the view before those
};

}  // namespace platform
QIO_END_NAMESPACE
