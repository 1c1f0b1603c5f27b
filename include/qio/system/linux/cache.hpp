// SPDX-License-Identifier: BSL-1.0
// What a program asks of the page cache: advice, reading ahead, dropping pages, and what is cached.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/file_system.hpp>
#include <qio/system/linux/page_cache.hpp>
#include <qio/system/posix/advice.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/mapping.hpp>
#include <qio/system/posix/status.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Reading ahead ---

/// Whether the file may have holes: it takes less space than its size.
inline bool may_have_holes(native_handle handle) noexcept {
  struct stat file;
  return ::fstat(handle, &file) == 0 && file.st_blocks < file.st_size / 512;
}

/// Starts reading what is not cached, without holes, whose pages are only zeros. One call reads no more than the file's
/// read-ahead or the largest request of its device (force_page_cache_ra() in mm/readahead.c), and ignores the rest; so
/// there is one for each part.
inline result<void> prefetch(native_handle handle, const extent& range) noexcept {
  constexpr std::uint64_t part = 128 << 10;
  const auto size = platform::size(handle);
  if (!size) return size.error();
  const std::uint64_t end = detail::lesser_of(range.offset + range.bytes, size.assume_value());
  std::uint64_t end_of_data = may_have_holes(handle) ? 0 : end;
  for (std::uint64_t offset = range.offset; offset < end;) {
    if (offset >= end_of_data) {
      const auto found = next_data(handle, offset);
      const std::optional<extent> data = found ? found.assume_value() : extent{offset, end - offset};
      if (!data) break;
      offset = data->offset;
      end_of_data = detail::lesser_of(end, data->offset + data->bytes);
      continue;
    }
    const std::uint64_t next = detail::lesser_of(end_of_data, (offset / part + 1) * part);
    if (auto begun = advise_range(handle, {offset, next - offset}, POSIX_FADV_WILLNEED); !begun) return begun;
    offset = next;
  }
  return success();
}

// --- What is cached ---

/// A mapping that nobody reads, which mincore(2) needs.
class unread_mapping {
 public:
  /// Both are multiples of a page. The mapping may be past the end of the file.
  unread_mapping(native_handle handle, std::uint64_t offset, std::size_t bytes) noexcept
      : base_(::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, handle, static_cast<off_t>(offset))), bytes_(bytes) {}
  unread_mapping(const unread_mapping&) = delete;
  unread_mapping& operator=(const unread_mapping&) = delete;
  ~unread_mapping() {
    if (exists()) ::munmap(base_, bytes_);
  }

  bool exists() const noexcept { return base_ != MAP_FAILED; }

  result<std::uint64_t> cached_pages() const noexcept {
    constexpr std::size_t most = 1024;
    const std::size_t page = page_size();
    unsigned char pages[most];
    std::uint64_t cached = 0;
    int attempts = 1;
    for (std::size_t done = 0; done < bytes_;) {
      const std::size_t length = detail::lesser_of(bytes_ - done, most * page);
      if (::mincore(static_cast<char*>(base_) + done, length, pages) != 0) {
        if (errno == EAGAIN && attempts++ < 10) continue;
        return last_error();
      }
      for (std::size_t i = 0; i < length / page; ++i) cached += pages[i] & 1u;
      done += length;
    }
    return cached;
  }

 private:
  void* base_;
  std::size_t bytes_;
};

/// Whether mincore(2) reports nothing but "cached", as it does since Linux 5.2 to users who neither own the file nor
/// may write to it: then it reports that also of a page that does not exist. (The last page that does may be part of a
/// larger folio.)
inline result<bool> mincore_is_blind(native_handle handle, std::uint64_t size) noexcept {
  constexpr std::uint64_t distance = 1 << 30;
  const std::uint64_t beyond = (size / distance + 2) * distance;
  if (static_cast<std::int64_t>(beyond) < 0) return true;  // there is no such page: nobody knows
  const unread_mapping nothing(handle, beyond, page_size());
  if (!nothing.exists()) return last_error();
  const auto cached = nothing.cached_pages();
  if (!cached) return cached.error();
  if (cached.assume_value() == 0) return false;
  const auto now = platform::size(handle);
  return now && now.assume_value() <= beyond;
}

/// By mincore(2), in bytes of whole pages. `begin` and `end` are multiples of a page, `size` is that of the file.
inline result<std::uint64_t> cached_by_mincore(native_handle handle, std::uint64_t begin, std::uint64_t end,
                                               std::uint64_t size) noexcept {
  constexpr std::uint64_t mapped_at_once = 256 << 20;
  std::uint64_t cached = 0;
  for (std::uint64_t offset = begin; offset < end; offset += mapped_at_once) {
    const auto bytes = static_cast<std::size_t>(detail::lesser_of(mapped_at_once, end - offset));
    const unread_mapping part(handle, offset, bytes);
    if (!part.exists()) return last_error();
    const auto pages = part.cached_pages();
    if (!pages) return pages;
    cached += pages.assume_value();
  }
  if (cached == 0) return cached;
  const auto blind = mincore_is_blind(handle, size);
  if (!blind) return blind.error();
  if (blind.assume_value()) return error(errc::residency_hidden);
  return cached * page_size();
}

/// Whether the pages of the file may be those of another one: in an overlay those of its layers, in FUSE those of the
/// file that the daemon has named.
inline bool has_pages_elsewhere(native_handle handle) noexcept {
  struct statfs system;
  return ::fstatfs(handle, &system) != 0 || type_of(system) == file_system_type::overlay ||
         type_of(system) == file_system_type::fuse;
}

/// By cachestat(2); by mincore(2) where that is missing, forbidden or finds nothing.
inline result<residency> resident(native_handle handle, const extent& range) noexcept {
#if defined(__NR_cachestat)
  constexpr long number = __NR_cachestat;
#else
  constexpr long number = 451;
#endif
  struct {  // struct cachestat_range (linux/mman.h)
    std::uint64_t offset, bytes;
  } asked{};
  struct {  // struct cachestat, in pages
    std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } found{};
  const auto size = platform::size(handle);
  if (!size) return size.error();
  const std::uint64_t page = page_size();
  const std::uint64_t begin = range.offset / page * page;
  const std::uint64_t last = detail::lesser_of(range.offset + range.bytes, size.assume_value());
  const residency none{0, 0, 0, 0, 0};
  if (range.offset >= last) return none;
  const std::uint64_t end = (last + page - 1) / page * page;
  asked = {begin, end - begin};
  const bool is_answered = ::syscall(number, handle, &asked, &found, 0) == 0;
  if (!is_answered && errno != ENOSYS && errno != EPERM && errno != EOPNOTSUPP) return last_error();
  if ((found.cached | found.evicted) != 0)
    return residency{found.cached * page, found.dirty * page, found.writeback * page, found.evicted * page,
                     found.recently_evicted * page};
  if (is_answered && !has_pages_elsewhere(handle)) return none;
  const auto cached = cached_by_mincore(handle, begin, end, size.assume_value());
  if (!cached) return cached.error();
  if (cached.assume_value() != 0) return residency{cached.assume_value(), {}, {}, {}, {}};
  return residency{0, 0, 0, {}, {}};
}

}  // namespace platform
QIO_END_NAMESPACE
