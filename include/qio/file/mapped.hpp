// SPDX-License-Identifier: BSL-1.0
// Mapped files: the mapping of a file that may grow, and transfers that are copies in memory, or system calls where a
// copy is impossible.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/process_mutex.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/file/modes.hpp>
#include <qio/file/system_file.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- The mapping of a file that may grow. No view of it becomes invalid before the file is closed ---

/// Reserves more address space than the file needs. When the file outgrows it, the whole file is mapped again, and the
/// old mapping is kept: both show the same pages. Each mapping is twice as long as the one before, so there are few.
///
/// Where a mapping cannot be longer than the file, the file is mapped again when a view of the new part is needed, or
/// when the file has doubled. Until then, transfers of the new part use the file's handle.
///
/// Any thread may ask for a range while another one grows the file.
class growing_map : kept_by_mapping {
 public:
  growing_map(platform::native_handle handle, bool writable, std::uint64_t reservation, access_pattern pattern) noexcept
      : handle_(handle), reservation_(reservation), writable_(writable), pattern_(pattern) {}

  ~growing_map() {
    if (sharing_ != nullptr) sharing_->remove(*this);
  }

  bool writable() const noexcept { return writable_; }

  /// The mappings end when the file is closed for all who share it. `sharing` outlives this object.
  void end_with(shared_handle& sharing) noexcept {
    release = [](kept_by_mapping& self, const platform::empty_file& by) noexcept {
      return static_cast<growing_map&>(self).end_mappings(by);
    };
    sharing_ = &sharing;
    sharing.add(*this);
  }

  /// The address of the file's byte `offset`, or null unless the file had `bytes` bytes from there on when its size was
  /// last read.
  std::byte* find(std::uint64_t offset, std::size_t bytes) const noexcept {
    const std::uint64_t size = known_size_.load(std::memory_order_acquire);
    if (offset > size || bytes > size - offset) return nullptr;
    return base_.load(std::memory_order_acquire) + offset;
  }

  /// What the newest mapping shows of a range: nothing past the end that the file had when its size was last read.
  std::span<std::byte> part(const extent& range) const noexcept {
    const std::uint64_t size = known_size_.load(std::memory_order_acquire);
    if (range.offset >= size) return {};
    return {base_.load(std::memory_order_acquire) + range.offset,
            static_cast<std::size_t>(lesser_of(range.bytes, size - range.offset))};
  }

  /// The newest mapping, or its beginning. What find() has found is in there at the same offset, whatever the file's
  /// size is now.
  std::span<std::byte> shown() const noexcept {
    const std::uint64_t size = mapped_.load(std::memory_order_acquire);  // first: see show_longest()
    return {base_.load(std::memory_order_acquire), static_cast<std::size_t>(size)};
  }

  /// Translates an address in another mapping of the file to the same byte in `window`, which shown() has returned, or
  /// to null if it is not in there; returns any other address unchanged. Two mappings share memory even though their
  /// addresses do not overlap.
  std::byte* in_window(std::byte* address, std::span<std::byte> window) {
    if (!is_mapped_twice_.load(std::memory_order_acquire)) return address;
    const std::lock_guard lock(mutex_);
    for (const platform::mapping& each : mappings_) {
      if (!is_within(each, address)) continue;
      const auto offset = static_cast<std::size_t>(address - each.data());
      return offset < window.size() ? window.data() + offset : nullptr;
    }
    return address;
  }

  /// Reads the file's size again. Maps what was added if that is worthwhile, or if it is needed for bytes before `end`.
  /// Returns the size.
  result<std::uint64_t> refresh(std::uint64_t end = 0) {
    const std::lock_guard lock(mutex_);
    return look_again(end);
  }

  /// Hands the changes made through each mapping to the system. Call it before syncing the file.
  result<void> flush() {
    const std::lock_guard lock(mutex_);
    for (const platform::mapping& each : mappings_)
      if (auto flushed = platform::flush(each); !flushed) return flushed;
    return success();
  }

  /// Calls `work` with what each mapping shows of a range, unless that is nothing, until it fails.
  template <class Work>
  result<void> for_each_part(const extent& range, Work&& work) {
    const std::lock_guard lock(mutex_);
    for (const platform::mapping& each : mappings_) {
      if (range.offset >= each.size() || range.bytes == 0) continue;
      const auto bytes = static_cast<std::size_t>(lesser_of<std::uint64_t>(range.bytes, each.size() - range.offset));
      if (auto done = work(std::span(each.data() + range.offset, bytes)); !done) return done;
    }
    return success();
  }

  /// Gives advice about all mappings, and those that follow.
  result<void> expect(access_pattern pattern) {
    {
      const std::lock_guard lock(mutex_);
      pattern_ = pattern;
    }
    return for_each_part(whole_file, [=](std::span<std::byte> part) { return platform::advise_view(part, pattern); });
  }

  /// Makes a system call that may change the size. No other thread sees the new size before the call has returned: the
  /// kernel publishes the size first and then zeroes the rest of the old last page (since Linux 6.13,
  /// pagecache_isize_extended), which would erase what is copied there in between.
  template <class Call>
  auto resize_by(Call&& call) {
    const std::lock_guard lock(mutex_);
    auto answer = platform::resize_beneath(mappings_, handle_, std::forward<Call>(call));
    if (!mappings_.empty()) show_longest();
    static_cast<void>(look_again(0));  // an error is reported to the next call that needs more
    return answer;
  }

 private:
  // What is accessed there from now on raises SIGBUS, like a part of the file that was cut off.
  error end_mappings(const platform::empty_file& by) noexcept {
    const std::lock_guard lock(mutex_);
    known_size_.store(0, std::memory_order_release);
    error failure;
    for (platform::mapping& each : mappings_)
      if (const error kept = by.replace(each); !failure.exists()) failure = kept;
    return failure;
  }

  static bool is_within(const platform::mapping& map, const std::byte* address) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address), begin = reinterpret_cast<std::uintptr_t>(map.data());
    return at >= begin && at - begin < map.size();
  }

  static constexpr std::uint64_t least_reservation = std::uint64_t(1) << 30;

  result<std::uint64_t> look_again(std::uint64_t end) {
    const auto size = platform::size(handle_);
    if (!size) return size.error();
    const std::uint64_t mapped = mapped_.load(std::memory_order_relaxed);
    const bool has_room = platform::mapping::covers_growth && has_room_;
    const bool is_worth_it = has_room || end > mapped || size.value() / 2 >= mapped;
    if (base_.load(std::memory_order_relaxed) == nullptr || (size.value() > mapped && is_worth_it)) {
      if (auto done = map(size.value()); !done) return done.error();
    }
    QIO_CHECK(mapped_.load(std::memory_order_relaxed) != 0 || !platform::mapping::covers_growth,
              "a growing_map has no mapping after the file was mapped");
    known_size_.store(lesser_of(size.value(), mapped_.load(std::memory_order_relaxed)), std::memory_order_release);
    return size.value();
  }

  static std::uint64_t whole_pages_of(std::uint64_t bytes) noexcept {
    const std::uint64_t page = platform::page_size();
    return (bytes + page - 1) / page * page;
  }

  result<void> map(std::uint64_t size) {
    const std::uint64_t needed = greater_of<std::uint64_t>(platform::page_size(), whole_pages_of(size));
    const std::uint64_t twice = needed > ~std::uint64_t(0) / 2 ? needed : 2 * needed;
    const std::uint64_t wanted = greater_of(greater_of(twice, reservation_), least_reservation);
    auto mapping = platform::mapping::map(handle_, wanted, writable_);
    // Address space may be limited (RLIMIT_AS): the file may fit where room to grow does not. Earlier mappings stay, so
    // each has to be longer by a part of the file.
    has_room_ = mapping.has_value();
    if (!mapping && wanted > needed + needed / 2)
      mapping = platform::mapping::map(handle_, whole_pages_of(needed + needed / 2), writable_);
    if (!mapping && wanted > needed) mapping = platform::mapping::map(handle_, needed, writable_);
    if (!mapping) return mapping.error();
    mapping.value().expect(pattern_);
    // More than there can be where each is longer than the file: fork(2) finds no array that is being moved.
    if (mappings_.empty()) mappings_.reserve(40);
    if (!mappings_.empty()) is_mapped_twice_.store(true, std::memory_order_release);
    mappings_.push_back(std::move(mapping).value());
    show_longest();
    return success();
  }

  // The address is stored before the length, so that the length which shown() reads is not that of a later mapping.
  void show_longest() noexcept {
    const std::uint64_t mapped = mappings_.back().size();
    known_size_.store(lesser_of(known_size_.load(std::memory_order_relaxed), mapped), std::memory_order_release);
    base_.store(mappings_.back().data(), std::memory_order_release);
    mapped_.store(mapped, std::memory_order_release);
  }

  platform::native_handle handle_;
  std::uint64_t reservation_;
  bool writable_;
  shared_handle* sharing_ = nullptr;
  process_mutex mutex_;  // guards what follows, each store of which leaves it consistent; atomics are read without it
  access_pattern pattern_;
  bool has_room_ = true;                     // the file was to grow within the longest mapping
  std::vector<platform::mapping> mappings_;  // the longest last
  std::atomic<std::byte*> base_ = nullptr;   // the address of the longest
  std::atomic<std::uint64_t> mapped_ = 0;    // its bytes
  std::atomic<bool> is_mapped_twice_ = false;
  std::atomic<std::uint64_t> known_size_ = 0;  // of the file; never more than mapped_
};

// --- Mapped files: transfers are copies in memory, or system calls where a copy is impossible ---

template <class System>
class mode_policy<mapped, System> : public any_alignment {
  static_assert(System::has_mappings, "qio: files of this engine cannot be mapped");

 public:
  static constexpr bool reads_inline = System::has_page_cache;
  static constexpr bool writes_inline = System::has_page_cache;
  static constexpr bool has_own_sync = platform::mapping::is_flushed_apart;

  /// A writable shared mapping needs a handle that can be read, too (mmap(2)).
  static constexpr access needed_access(access wanted) noexcept {
    return wanted == access::write ? access::read_write : wanted;
  }

  mode_policy(platform::native_handle handle, access granted, const open_options& options) noexcept
      : map_(handle, granted != access::read, options.reservation, options.pattern), copies_(options.guards_copies) {}

  result<void> prepare(const system_file<System>&, const typename System::opening& opening, const open_options&) {
    if (copies_) platform::install_copy_guard();
    if (auto mapped = map_.refresh(); !mapped) return mapped.error();
    keeps_size_ = copies_ && platform::mapping::keeps_size(opening.handle());
    return success();
  }
  /// A call that may change the file's size: see growing_map.
  template <class Call>
  auto resize_by(Call&& call) {
    return map_.resize_by(std::forward<Call>(call));
  }

  /// The mapping shows the file until it is closed for all who share it. `sharing` outlives this object.
  void end_with(shared_handle& sharing) noexcept { map_.end_with(sharing); }

  static constexpr platform::transfer_flags flags = 0;
  static constexpr bool is_uncached = false;

  /// Copies between memory and the mapping. False if a copy cannot do all of it: past the last known end of the file,
  /// or after a fault (the file was truncated, the device failed, the disk is full). The system call that follows finds
  /// out which, and returns exactly what it returns for a cached file.
  //
  /// If another process has truncated the file within a page, that page does not fault: past the end it shows zeros,
  /// and what is written there does not reach the file. So a write checks afterwards whether the end is still beyond
  /// it. A read has to check only if its last byte is zero. Neither has to where nobody can truncate a mapped file.
  template <class Buffers>
  bool copy_out(const system_file<System>& file, const transfer& io, Buffers memory) const {
    const std::span<std::byte> window = window_for(io);
    if (window.empty()) return false;
    const std::byte* from = window.data() + io.offset();
    std::byte last{0};
    for (const mutable_buffer each : each_of(memory)) {
      if (each.size == 0) continue;
      std::byte* const to =
          map_.in_window(static_cast<std::byte*>(each.data), window);  /// a view of this file, perhaps
      if (to == nullptr || !platform::guarded_copy(to, from, each.size, window)) return false;
      from += each.size;
      last = to[each.size - 1];
    }
    return last != std::byte{0} || is_within_file(file, io);
  }

  template <class Buffers>
  result<std::size_t> write(system_file<System>& file, transfer& io, Buffers buffers, platform::transfer_flags more) {
    if (!file.may_write()) return file.activity.not_granted(access::write);
    // A copy is not durable before a sync; a write by a system call can be.
    const bool is_durable = file.activity.writes_durably || more != 0;
    if (!is_durable && copy_in(file, io, buffers)) return io.total();
    if (is_durable && map_.find(io.offset(), io.total()) != nullptr) return file.write(io, buffers, more);
    return map_.resize_by([&] { return file.write(io, buffers, more); });
  }

  /// Hands the changes made through the mapping to the system, before a sync.
  result<void> flush() { return map_.flush(); }

  bool is_writable() const noexcept { return map_.writable(); }

  result<std::span<std::byte>> view(std::uint64_t offset, std::size_t bytes) const {
    std::byte* found = map_.find(offset, bytes);
    if (found == nullptr) {
      const std::uint64_t end = bytes > max_offset - lesser_of(offset, max_offset) ? max_offset : offset + bytes;
      const auto size = map_.refresh(end);
      if (!size) return size.error();
      found = map_.find(offset, bytes);
      if (found == nullptr) return error(errc::beyond_end, end, size.value());
    }
    return std::span(found, bytes);
  }

  /// As much of a range as the file has.
  result<std::span<std::byte>> view_up_to(const extent& range) const {
    const std::span<std::byte> found = map_.part(range);
    if (found.size() == range.bytes) return found;
    const auto size = map_.refresh(range.offset + range.bytes);
    if (!size) return size.error();
    return map_.part(range);
  }

  // --- the pages of views: file/cache.hpp and file/views.hpp ---

  result<void> advise(access_pattern pattern) { return map_.expect(pattern); }

  result<void> prefetch(const system_file<System>& file, const extent& range) const {
    if constexpr (!platform::prefetches_views) return file.files.prefetch(file.handle, range);
    const auto found = view_up_to(range);
    if (!found) return found.error();
    return found.value().empty() ? result<void>(success()) : platform::prefetch_view(found.value());
  }

  /// Pages that a process has mapped are not dropped from the page cache.
  void unmap_pages(const extent& range) {
    static_cast<void>(map_.for_each_part(range, [](std::span<std::byte> part) -> result<void> {
      platform::unmap_pages(part);
      return success();
    }));
  }

  /// Makes the pages of a view present. Where the system does not, reads them, if a fault can be caught.
  result<void> prefault(std::span<std::byte> view, bool for_writing) const {
    const auto populated = platform::populate(view, for_writing);
    if (!populated) return populated.error();
    if (populated.value()) return success();
    if (for_writing || !copies_ || !platform::guard_holds()) return error(errc::prefault_not_supported);
    const std::size_t page = platform::page_size();
    const std::size_t in_first = page - reinterpret_cast<std::uintptr_t>(view.data()) % page;
    std::byte read;
    for (std::size_t at = 0; at < view.size(); at = at == 0 ? in_first : at + page)
      if (!platform::guarded_copy(&read, view.data() + at, 1, view)) return error(errc::prefault_failed);
    return success();
  }

  /// Makes a range of the file durable that ends where the newest mapping ends, or before.
  result<void> sync_range(const system_file<System>& file, const extent& range) {
    if constexpr (platform::mapping::is_flushed_apart)
      if (auto handed = map_.for_each_part(range, &platform::sync_view); !handed) return handed;
    // msync(2) ignores the mapping of a file that was opened for reading.
    if (platform::mapping::is_flushed_apart || !map_.writable())
      return file.files.sync(file.handle, sync_kind::data_and_size);
    const std::span<std::byte> part = map_.part(range);
    return part.empty() ? result<void>(success()) : platform::sync_view(part);
  }

  void explain(const system_file<System>& file, explanation& out) const {
    explain_inline(file, out);
    const bool holds = copies_ && platform::guard_holds();
    out.add("transfers", holds ? "copies" : "system calls",
            holds      ? ""
            : !copies_ ? "open_options::guards_copies is false"
                       : "faults do not reach the library's handler");
  }

 private:
  template <class Buffers>
  bool copy_in(const system_file<System>& file, const transfer& io, Buffers memory) {
    const std::span<std::byte> window = window_for(io);
    if (window.empty()) return false;
    std::byte* to = window.data() + io.offset();
    for (const mutable_buffer each : each_of(memory)) {
      if (each.size == 0) continue;
      const std::byte* const from = map_.in_window(static_cast<std::byte*>(each.data), window);
      if (from == nullptr || !platform::guarded_copy(to, from, each.size, window)) return false;
      to += each.size;
    }
    return is_within_file(file, io);
  }

  // The mapping that all of `io` is copied from or to, although the file's size may change meanwhile, and a fault in
  // which means that. Empty if `io` ends past the last known end of the file.
  std::span<std::byte> window_for(const transfer& io) const {
    if (!copies_ || !platform::guard_holds()) return {};
    const auto is_there = [&] { return map_.find(io.offset(), io.total()) != nullptr; };
    if (!is_there() && (!map_.refresh() || !is_there())) return {};
    const std::span<std::byte> shown = map_.shown();
    return {shown.data(), greater_of(shown.size(), static_cast<std::size_t>(io.offset() + io.total()))};
  }

  bool is_within_file(const system_file<System>& file, const transfer& io) const noexcept {
    if (keeps_size_) return true;
    const auto size = file.files.size(file.handle);
    return size && io.offset() + io.total() <= size.assume_value();
  }

  mutable growing_map map_;
  bool copies_;              // transfers are guarded copies where possible
  bool keeps_size_ = false;  // nobody can truncate the file while it is mapped
};

static_assert(complete_mode_policy<mode_policy<mapped, operating_system>, operating_system>);

}  // namespace detail
QIO_END_NAMESPACE
