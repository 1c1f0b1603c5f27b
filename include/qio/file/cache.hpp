// SPDX-License-Identifier: BSL-1.0
// The page cache of a file: what basic_file has to advise the system, to fill and to empty its cache, and to look at
// it.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/extent.hpp>
#include <qio/mode.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>
#include <span>
#include <system_error>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- What the members do: each is one function of an open file's state, called now or by a worker ---

struct advise_order {
  access_pattern pattern;

  template <class State>
  result<void> operator()(State& of) const {
    if (auto advised = of.file.files.advise(of.file.handle, pattern); !advised) return advised;
    if constexpr (requires { of.mode.advise(pattern); }) return of.mode.advise(pattern);
    return success();
  }
};

/// The pages of a range of a mapped file, all of which the file has.
template <class State>
result<std::span<std::byte>> pages_of(State& of, const extent& range) {
  if (const error misfit = of.range_misfit(range); misfit.exists()) return misfit;
  constexpr std::uint64_t most = ~std::size_t(0);  // which no file has in memory
  return of.mode.view(range.offset, static_cast<std::size_t>(lesser_of(range.bytes, most)));
}

struct advise_range {
  access_pattern pattern;
  extent range;

  template <class State>
  result<void> operator()(State& of) const {
    const auto pages = pages_of(of, range);
    if (!pages) return pages.error();
    return pages.value().empty() ? result<void>(success()) : platform::advise_view(pages.value(), pattern);
  }
};

struct prefetch_pages {
  extent range;

  template <class State>
  result<void> operator()(State& of) const {
    if (const error misfit = of.range_misfit(range); misfit.exists()) return misfit;
    if constexpr (requires { of.mode.prefetch(of.file, range); })
      return of.mode.prefetch(of.file, range);
    else
      return of.file.files.prefetch(of.file.handle, range);
  }
};

struct forget_pages {
  extent range;

  template <class State>
  result<void> operator()(State& of) const {
    if (const error misfit = of.range_misfit(range); misfit.exists()) return misfit;
    if constexpr (requires { of.mode.unmap_pages(range); }) of.mode.unmap_pages(range);
    return of.file.files.forget(of.file.handle, range);
  }
};

struct find_resident {
  extent range;

  template <class State>
  result<residency> operator()(State& of) const {
    if (const error misfit = of.range_misfit(range); misfit.exists()) return misfit;
    auto found = of.file.files.resident(of.file.handle, range);
    // Without cachestat(2), the file is mapped, which needs a handle that may be read.
    if (!found && !of.file.may_read() && found.error() == std::errc::permission_denied)
      return of.file.activity.not_granted(access::read);
    return found;
  }
};

}  // namespace detail

/// The members of basic_file that concern the page cache, in every mode. Direct transfers bypass the cache, so what
/// these members do to it changes nothing for them. Ranges are in bytes, at any offset; whole_file is all of it. One
/// that ends past the end of the file is used as far as the file reaches, an empty one does nothing, and one that ends
/// past 2^63 - 1 fails with errc::offset_too_large. They may be used while transfers are in flight, by any thread, and
/// need no particular access unless a member says so. None changes what the file contains, or how durable it is.
/// Nothing is allocated.
///
/// The asynchronous members are operations that a worker thread carries out: see async_call() for what a deadline or a
/// stop can end. See docs/page_cache.md for costs.
///
/// Windows has prefetch() for mapped files. Everything else fails there with an error that says what is missing;
/// nothing is emulated. On a simulated disk, advise() and prefetch() succeed without an effect, forget() drops the
/// pages of the whole file (which shows what a failed write has lost), and resident() fails with
/// errc::residency_not_supported.
template <class File, file_mode Mode, class Engine>
class file_cache {
 public:
  /// In which order the file will mostly be read from now on: like open_options::pattern, as often as necessary. A
  /// hint, which changes no result. It belongs to the open file description: to this file and those that share its
  /// handle.
  ///
  /// Linux: posix_fadvise(2), which doubles the read-ahead (sequential), or leaves it out (random); for a mapped file,
  /// madvise(2) for all of its mappings as well. Windows: errc::advice_not_supported.
  result<void> advise(access_pattern pattern) { return self().act(detail::advise_order{pattern}); }

  /// The same for a range, of mapped files only: Linux keeps no such advice about ranges of other files. It concerns
  /// the views and copies of this file object, until advise() for the whole file, or until the file has outgrown its
  /// reservation. Each range costs the process up to two mappings (/proc/sys/vm/max_map_count). The range must be
  /// within the file, otherwise errc::beyond_end.
  ///
  /// Linux: madvise(2). Windows: errc::advice_not_supported.
  result<void> advise(access_pattern pattern, const extent& range)
    requires(Mode::is_mapped)
  {
    return self().act(detail::advise_range{pattern, range});
  }

  /// Has the system begin to read a range into the page cache, without waiting for the device. Pages that are cached
  /// already are not read again. A hint: the system may ignore it where memory is short, errors of reading are not
  /// reported, and what was read may have left the cache before it is used. May wait for free memory, for a free place
  /// in the device's queue, and for what the file system must read to find the blocks.
  ///
  /// Linux: posix_fadvise(2) with POSIX_FADV_WILLNEED, once for each 128 KiB, because a call reads no more than the
  /// read-ahead of the device and ignores the rest; nothing on tmpfs. Holes are left out: in a file that takes less
  /// space than its size, the data is found as by next_data(), which moves the handle's file position. Windows:
  /// PrefetchVirtualMemory for mapped files; in other modes errc::prefetch_not_supported.
  result<void> prefetch(const extent& range) { return self().act(detail::prefetch_pages{range}); }
  /// The same on a worker thread.
  auto async_prefetch(const extent& range, const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::prefetch_pages{range}, options);
  }

  /// Asks the system to drop the pages of a range from the page cache. It drops those that are clean, that lie within
  /// the range as a whole (the file's last page counts as one), and that no process has mapped, locked or in use at the
  /// moment. What the kernel caches as one piece (a large folio, on newer kernels) leaves only as a whole. Other pages
  /// stay, without an error; so look at resident() if it matters. Dirty pages begin to be written back:
  /// to drop them, sync() before. The views of this file object, if it is mapped, do not keep pages: they leave its
  /// page tables, and come back, from the device, when a view is accessed.
  ///
  /// Linux: posix_fadvise(2) with POSIX_FADV_DONTNEED; nothing on tmpfs. Windows: errc::forget_not_supported.
  result<void> forget(const extent& range = whole_file) { return self().act(detail::forget_pages{range}); }
  /// The same on a worker thread.
  auto async_forget(const extent& range = whole_file, const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::forget_pages{range}, options);
  }

  /// How much of a range is in the page cache, by whomever it was read. May be wrong by the time it is known.
  ///
  /// Linux: cachestat(2) (Linux 6.5), which reports everything. Where that is missing, forbidden by a sandbox, or finds
  /// nothing because the pages are another file's (overlay, FUSE), mincore(2) on a mapping that is made for the call:
  /// then only `cached` is known, and the file must be open for reading (errc::access_not_granted). On tmpfs, nothing
  /// is ever dirty.
  ///
  /// The kernel hides the cache from users who neither own the file nor may write to it: errc::residency_hidden, which
  /// is std::errc::operation_not_permitted. Windows: errc::residency_not_supported.
  result<residency> resident(const extent& range = whole_file) const {
    return self().act(detail::find_resident{range});
  }
  /// The same on a worker thread.
  auto async_resident(const extent& range = whole_file, const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::find_resident{range}, options);
  }

 protected:
  file_cache() noexcept = default;
  ~file_cache() = default;
  file_cache(const file_cache&) noexcept = default;
  file_cache& operator=(const file_cache&) noexcept = default;

 private:
  File& self() noexcept { return static_cast<File&>(*this); }
  const File& self() const noexcept { return static_cast<const File&>(*this); }
};

QIO_END_NAMESPACE
