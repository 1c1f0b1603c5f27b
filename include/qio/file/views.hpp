// SPDX-License-Identifier: BSL-1.0
// Views: what basic_file has to access a mapped file without copies.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/extent.hpp>
#include <qio/file/cache.hpp>
#include <qio/mode.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- What the members do: each is one function of an open file's state, called now or by a worker ---

struct find_view {
  std::uint64_t offset;
  std::size_t bytes;

  template <class State>
  result<std::span<std::byte>> operator()(State& of) const {
    return of.mode.view(offset, bytes);
  }
};

struct find_view_up_to {
  std::uint64_t offset;
  std::size_t bytes;

  template <class State>
  result<std::span<std::byte>> operator()(State& of) const {
    const std::uint64_t begin = lesser_of(offset, max_offset);
    return of.mode.view_up_to({begin, lesser_of<std::uint64_t>(bytes, max_offset - begin)});
  }
};

struct find_writable_view {
  std::uint64_t offset;
  std::size_t bytes;

  template <class State>
  result<std::span<std::byte>> operator()(State& of) const {
    if (!of.mode.is_writable()) return of.file.activity.not_granted(access::write);
    return of.mode.view(offset, bytes);
  }
};

struct use_huge_pages {
  extent range;

  template <class State>
  result<void> operator()(State& of) const {
    const auto pages = pages_of(of, range);
    if (!pages) return pages.error();
    return pages.value().empty() ? result<void>(success()) : platform::use_huge_pages(pages.value());
  }
};

struct prefault_range {
  extent range;
  bool for_writing;

  template <class State>
  result<void> operator()(State& of) const {
    if (for_writing && !of.mode.is_writable()) return of.file.activity.not_granted(access::write);
    const auto pages = pages_of(of, range);
    if (!pages) return pages.error();
    return pages.value().empty() ? result<void>(success()) : of.mode.prefault(pages.value(), for_writing);
  }
};

struct sync_of_range {
  extent range;

  template <class State>
  result<void> operator()(State& of) const {
    return of.sync_range(range);
  }
};

struct map_privately {
  extent range;

  template <class State>
  result<platform::private_mapping> operator()(State& of) const {
    const auto pages = pages_of(of, range);
    if (!pages) return pages.error();
    if (pages.value().empty()) return platform::private_mapping();
    return platform::private_mapping::map(of.file.handle, range.offset, pages.value().size());
  }
};

}  // namespace detail

/// A part of a file in memory, in which a program may store without changing the file: the first store to a page copies
/// it, and the copy belongs to this object. From basic_file::private_view(). It needs neither the file object nor its
/// context, and may be used by any thread. Moving it leaves the addresses as they are.
///
/// Pages without a store show the file, and may change with it. If the file becomes shorter, accessing what
/// was cut off raises SIGBUS, and Linux drops copies from there, too.
class [[nodiscard]] private_view {
 public:
  /// Shows nothing.
  private_view() noexcept = default;

  /// Valid until this object is destroyed or assigned to.
  std::span<std::byte> bytes() const noexcept { return mapping_.shown(); }

 private:
  template <class, file_mode, class>
  friend class file_views;

  explicit private_view(platform::private_mapping mapping) noexcept : mapping_(std::move(mapping)) {}

  platform::private_mapping mapping_;
};

/// The members of basic_file that access a mapped file without copies. Only mapped files have them.
///
/// Those that take an extent, in bytes, concern all pages that a part of it is in. A range that ends past 2^63 - 1
/// fails with errc::offset_too_large, and an empty one does nothing. The asynchronous members are operations that a
/// worker thread carries out: see async_call() for what a deadline or a stop can end.
template <class File, file_mode Mode, class Engine>
class file_views {
 public:
  /// The file's own pages: `bytes` bytes from `offset` on, without a copy, and without a system call unless the file
  /// has grown. Valid until the file is closed, even if it grows. A range past the end fails with errc::beyond_end; a
  /// truncation by others since the size was last read goes unnoticed.
  ///
  /// If the file shrinks while a view is in use, accessing what was cut off raises SIGBUS, which ends the process; so
  /// does a device that cannot read the page. Use read_at(), which returns an error, where that can happen.
  result<std::span<const std::byte>> view(std::uint64_t offset, std::size_t bytes) const
    requires(Mode::is_mapped)
  {
    auto found = self().act(detail::find_view{offset, bytes});
    if (!found) return found.error();
    return std::span<const std::byte>(found.value());
  }

  /// The same, as far as the file reaches: fewer bytes than asked for only at its end, and none at or past it. If there
  /// are fewer, it has read the file's size, which takes a system call.
  result<std::span<const std::byte>> view_up_to(std::uint64_t offset, std::size_t bytes) const
    requires(Mode::is_mapped)
  {
    auto found = self().act(detail::find_view_up_to{offset, bytes});
    if (!found) return found.error();
    return std::span<const std::byte>(found.value());
  }

  /// Like view(), writable. What is stored there reaches the device at sync(), or when the kernel decides. On a full
  /// disk, storing to a hole raises SIGBUS; write_at() returns an error instead, and so does prefault() before.
  result<std::span<std::byte>> writable_view(std::uint64_t offset, std::size_t bytes)
    requires(Mode::is_mapped)
  {
    return self().act(detail::find_writable_view{offset, bytes});
  }

  /// A view whose changes never reach the file: see qio::private_view. The range must be within the file, otherwise
  /// errc::beyond_end. The file may have been opened for reading only. The view remains if the file is closed, by
  /// shared_file::close(), too, and keeps the system's file open: on Linux its locks and the space of a removed file,
  /// on Windows its size (a smaller one fails with ERROR_USER_MAPPED_FILE). It takes memory for each page that is
  /// changed; where the system grants no more memory than it has, for all of them (std::errc::not_enough_memory).
  ///
  /// Linux: mmap(2) with MAP_PRIVATE. Windows: FILE_MAP_COPY.
  result<qio::private_view> private_view(std::uint64_t offset, std::size_t bytes) const
    requires(Mode::is_mapped)
  {
    auto mapped = self().act(detail::map_privately{{offset, bytes}});
    if (!mapped) return mapped.error();
    return qio::private_view(std::move(mapped).value());
  }

  /// Makes a range durable, and what is needed to read it back: what was stored in views of it, and what was written to
  /// it, by this file or others, before the call. Waits for the device, but only for the dirty pages of the range. The
  /// range may end past the end of the file, which is synced as far as it reaches. A failure stays, as that of sync(),
  /// and reaches those that overlap it: sync(), and other syncs of ranges, but on Linux not async_sync().
  ///
  /// Linux: msync(2); of a file that was opened for reading, fdatasync(2), which syncs all of it. Windows:
  /// FlushViewOfFile for the range, and FlushFileBuffers, which syncs all that was written.
  result<void> sync_range(const extent& range)
    requires(Mode::is_mapped)
  {
    return self().act(detail::sync_of_range{range});
  }
  /// The same on a worker thread.
  auto async_sync_range(const extent& range, const operation_options& options = {})
    requires(Mode::is_mapped && engine<Engine>)
  {
    return self().act_on_worker(detail::sync_of_range{range}, options);
  }

  /// Reads a range of the file, and puts its pages into the page tables, so that accessing the views of it that view()
  /// returns takes no page fault until the system evicts them. Waits for the device. The range must be within the file,
  /// otherwise errc::beyond_end.
  ///
  /// With access::write or read_write, also for stores: holes get space, all pages count as modified and are written
  /// back, and the file must have been opened for writing (errc::access_not_granted). Unless the file system gives
  /// space to a page only when it is written back, a full disk is found here, and not by a SIGBUS. If a page cannot be
  /// made present (the file has become shorter, the device failed or is full): errc::prefault_failed, and a part of the
  /// range may be present.
  ///
  /// Linux: madvise(2) with MADV_POPULATE_READ or MADV_POPULATE_WRITE (Linux 5.14). Before, and on Windows: reads a
  /// byte of each page, if open_options::guards_copies lets it catch faults; for stores errc::prefault_not_supported.
  result<void> prefault(const extent& range, access wanted = access::read)
    requires(Mode::is_mapped)
  {
    return self().act(detail::prefault_range{range, wanted != access::read});
  }
  /// The same on a worker thread: its page tables are those of the process.
  auto async_prefault(const extent& range, access wanted = access::read, const operation_options& options = {})
    requires(Mode::is_mapped && engine<Engine>)
  {
    return self().act_on_worker(detail::prefault_range{range, wanted != access::read}, options);
  }

  /// Asks for huge pages in the views of a range that view() returns, until the file has outgrown its reservation. A
  /// hint: success means that the kernel has noted it, not that there is a huge page. It uses one where the file system
  /// has large folios and a part of 2 MiB, aligned, is read in one piece (XFS, ext4 and btrfs of newer kernels), and on
  /// tmpfs if /sys/kernel/mm/transparent_hugepage/shmem_enabled is `advise`. The range must be within the file,
  /// otherwise errc::beyond_end.
  ///
  /// Linux: madvise(2) with MADV_HUGEPAGE. Kernels without transparent huge pages, and Windows:
  /// errc::huge_pages_not_supported.
  result<void> use_huge_pages(const extent& range)
    requires(Mode::is_mapped)
  {
    return self().act(detail::use_huge_pages{range});
  }

 protected:
  file_views() noexcept = default;
  ~file_views() = default;
  file_views(const file_views&) noexcept = default;
  file_views& operator=(const file_views&) noexcept = default;

 private:
  File& self() noexcept { return static_cast<File&>(*this); }
  const File& self() const noexcept { return static_cast<const File&>(*this); }
};

QIO_END_NAMESPACE
