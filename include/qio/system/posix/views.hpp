// SPDX-License-Identifier: BSL-1.0
// Views of mapped files: what the system is asked to do with their pages, and views that the file does not see.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/mapping.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- The pages of a view: all that a part of it is in ---

/// Whether prefetch() of a mapped file needs its views.
inline constexpr bool prefetches_views = false;

/// A range of memory, in whole pages.
struct whole_pages {
  explicit whole_pages(std::span<std::byte> view) noexcept {
    const std::size_t before = reinterpret_cast<std::uintptr_t>(view.data()) % page_size();
    begin = view.data() - before;
    bytes = view.size() + before;
  }
  std::byte* begin;
  std::size_t bytes;  // which the system rounds up
};

/// madvise(2), of a view that is not empty. EAGAIN is a shortage that may pass, or that the process has as many
/// mappings as it may have (vm.max_map_count), which does not.
inline result<void> advise_pages(std::span<std::byte> view, int advice) noexcept {
  const whole_pages pages(view);
  for (int attempts = 1; ::madvise(pages.begin, pages.bytes, advice) != 0;) {
    if (errno == EAGAIN && attempts++ < 10) continue;
    if (errno != EINTR) return last_error();
  }
  return success();
}

inline result<void> advise_view(std::span<std::byte> view, access_pattern pattern) noexcept {
  return advise_pages(view, pattern == access_pattern::random       ? MADV_RANDOM
                            : pattern == access_pattern::sequential ? MADV_SEQUENTIAL
                                                                    : MADV_NORMAL);
}

/// Takes the pages out of this process's page tables. They stay in the page cache, and come back when they are
/// accessed.
inline void unmap_pages(std::span<std::byte> view) noexcept { static_cast<void>(advise_pages(view, MADV_DONTNEED)); }

inline result<void> prefetch_view(std::span<std::byte>) noexcept { return error(errc::prefetch_not_supported); }

/// Writes the dirty pages of a writable view to the device, and what is needed to read them back.
inline result<void> sync_view(std::span<std::byte> view) noexcept {
  const whole_pages pages(view);
  while (::msync(pages.begin, pages.bytes, MS_SYNC) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

// --- Views that the file does not see ---

/// A part of a file, mapped so that a store copies the page first.
class private_mapping {
 public:
  private_mapping() noexcept = default;

  /// The range is not empty.
  static result<private_mapping> map(native_handle handle, std::uint64_t offset, std::size_t bytes) noexcept {
    const std::size_t before = offset % page_size();
    void* const base = ::mmap(nullptr, before + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, handle,
                              static_cast<off_t>(offset - before));
    if (base == MAP_FAILED) return last_error();
    private_mapping made;
    made.shown_ = {static_cast<std::byte*>(base) + before, bytes};
    return made;
  }

  private_mapping(private_mapping&& other) noexcept : shown_(std::exchange(other.shown_, {})) {}
  private_mapping& operator=(private_mapping&& other) noexcept {
    private_mapping taken(std::move(other));
    std::swap(shown_, taken.shown_);
    return *this;
  }
  ~private_mapping() {
    if (shown_.empty()) return;
    const whole_pages pages(shown_);
    ::munmap(pages.begin, pages.bytes);
  }

  std::span<std::byte> shown() const noexcept { return shown_; }

 private:
  std::span<std::byte> shown_;
};

}  // namespace platform
QIO_END_NAMESPACE
