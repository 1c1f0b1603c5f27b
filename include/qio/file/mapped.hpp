// SPDX-License-Identifier: BSL-1.0
// Mapped files: transfers are copies in memory, or system calls where a copy is impossible.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/file/buffers.hpp>
#include <qio/file/growing_map.hpp>
#include <qio/file/mode_policy.hpp>
#include <qio/mode.hpp>
#include <qio/system/operating_system.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace qio::inline QIO_CONFIGURATION::detail {

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
  /// The file was mapped before commit() truncates it.
  result<platform::native_handle> commit(typename System::opening& opening) {
    return map_.resize_by([&] { return opening.commit(); });
  }

  /// The mapping shows the file until it is closed for all who share it. `sharing` outlives this object.
  void end_with(shared_handle& sharing) noexcept { map_.end_with(sharing); }

  static constexpr platform::transfer_flags flags() noexcept { return 0; }
  static constexpr bool is_direct() noexcept { return false; }
  static constexpr bool is_uncached() noexcept { return false; }

  template <class Buffers>
  result<std::size_t> read(const system_file<System>& file, transfer& io, Buffers buffers) const {
    if (copy_out(file, io, buffers)) return io.total();
    return file.read(io, buffers, 0, 1);
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

  result<void> resize(system_file<System>& file, std::uint64_t bytes) {
    return map_.resize_by([&] { return file.files.resize(file.handle, bytes); });
  }

  result<void> sync(system_file<System>& file, sync_kind kind) {
    if (auto flushed = map_.flush(); !flushed) return flushed;
    return file.files.sync(file.handle, kind);
  }

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

  template <class Engine>
  static void allow_polling(const Engine&, system_file<System>&, platform::native_handle) noexcept {}

  void explain(const system_file<System>& file, explanation& out) const {
    explain_inline(file, out);
    const bool holds = copies_ && platform::guard_holds();
    out.add("transfers", holds ? "copies" : "system calls",
            holds      ? ""
            : !copies_ ? "open_options::guards_copies is false"
                       : "faults do not reach the library's handler");
  }

 private:
  // Copies between memory and the mapping. False if a copy cannot do all of it: past the last known end of the file, or
  // after a fault (the file was truncated, the device failed, the disk is full). The system call that follows finds out
  // which, and returns exactly what it returns for a cached file.
  //
  // If another process has truncated the file within a page, that page does not fault: past the end it shows zeros, and
  // what is written there does not reach the file. So a write checks afterwards whether the end is still beyond it. A
  // read has to check only if its last byte is zero. Neither has to where nobody can truncate a mapped file.
  template <class Buffers>
  bool copy_out(const system_file<System>& file, const transfer& io, Buffers memory) const {
    const std::span<std::byte> window = window_for(io);
    if (window.empty()) return false;
    const std::byte* from = window.data() + io.offset();
    std::byte last{0};
    for (const mutable_buffer each : each_of(memory)) {
      if (each.size == 0) continue;
      std::byte* const to = map_.in_window(static_cast<std::byte*>(each.data), window);  // a view of this file, perhaps
      if (to == nullptr || !platform::guarded_copy(to, from, each.size, window)) return false;
      from += each.size;
      last = to[each.size - 1];
    }
    return last != std::byte{0} || is_within_file(file, io);
  }

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

}  // namespace qio::inline QIO_CONFIGURATION::detail
