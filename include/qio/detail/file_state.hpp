// SPDX-License-Identifier: BSL-1.0
// What an open file is, at an address that does not change while the file is moved.
#pragma once

#include <qio/detail/buffers.hpp>
#include <qio/detail/growing_map.hpp>
#include <qio/detail/platform.hpp>
#include <qio/engine/request.hpp>
#include <qio/explanation.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace qio::detail {

/// Goes on with a transfer whose first call gave `answer`, until it is over.
inline result<std::size_t> finish_read(platform::native_handle handle, transfer io, std::uint32_t end_block,
                                       raw_result answer) noexcept {
  error failure;
  while (io.after_read(answer, end_block, failure) == transfer::progress::unfinished)
    answer = platform::read_some(handle, io.next());
  if (failure.exists()) return failure;
  return io.transferred();
}

inline result<std::size_t> finish_write(platform::native_handle handle, transfer io, raw_result answer) noexcept {
  error failure;
  while (io.after_write(answer, failure) == transfer::progress::unfinished)
    answer = platform::write_some(handle, io.next());
  if (failure.exists()) return failure;
  return io.transferred();
}

/// Of files that are not mapped.
struct no_map {
  no_map(platform::native_handle, bool, std::uint64_t) noexcept {}
};

template <class Mode>
struct file_state {
  using map_type = std::conditional_t<Mode::is_mapped, growing_map, no_map>;

  static result<std::unique_ptr<file_state>> open(path_view path, access wanted, creation how,
                                                  const open_options& options) {
    // A shared mapping reads what it writes (mmap(2) demands it).
    if (Mode::is_mapped && wanted == access::write) wanted = access::read_write;
    auto opening = platform::opening::begin(path, wanted, how, options.permissions);
    if (!opening) return opening.error();
    const platform::native_handle opened = opening.value().handle();
    auto state = std::make_unique<file_state>(opened, wanted, options);
    if (auto prepared = state->prepare(opened, options); !prepared) return prepared.error();
    auto committed = opening.value().commit();
    if (!committed) return committed.error();
    state->handle = committed.value();  // only now: until then the opening closes it
    // The mapping was made before the file was emptied.
    if constexpr (Mode::is_mapped)
      if (auto refreshed = state->map.refresh(); !refreshed) return refreshed.error();
    return state;
  }

  file_state(platform::native_handle opened, access wanted, const open_options& options)
      : map(opened, wanted != access::read, options.reservation) {
    activity.inline_reads = !Mode::is_direct;
  }
  file_state(const file_state&) = delete;
  file_state& operator=(const file_state&) = delete;
  ~file_state() {
    if (handle != platform::invalid_handle) static_cast<void>(platform::close(handle));
  }

  result<void> close() noexcept { return platform::close(std::exchange(handle, platform::invalid_handle)); }

  /// Describes a transfer in `io`. No error, or why it cannot be asked of the system; `block` is what its offset and
  /// lengths must be multiples of.
  template <class Buffers>
  error describe(transfer& io, std::uint64_t offset, Buffers buffers, std::uint32_t block) const noexcept {
    io = transfer(offset, buffers);
    if (io.total() > max_offset || offset > max_offset - io.total()) {
      const bool overflows = offset + io.total() < offset;
      const std::uint64_t end = overflows ? std::numeric_limits<std::uint64_t>::max() : offset + io.total();
      return error(errc::offset_too_large, end, max_offset);
    }
    if constexpr (Mode::is_direct) {
      if ((offset & (block - 1)) != 0) return error(errc::misaligned_offset, offset, block);
      for (const mutable_buffer& each : each_of(buffers)) {
        if ((each.size & (block - 1)) != 0) return error(errc::misaligned_length, each.size, block);
        const auto address = reinterpret_cast<std::uintptr_t>(each.data);
        if ((address & (needed.memory - 1)) != 0) return error(errc::misaligned_buffer, address, needed.memory);
      }
    }
    return error();
  }

  /// What a read that stops at no multiple of it has met the end by.
  std::uint32_t end_block() const noexcept { return direct_active ? needed.read : 1; }

  template <class Buffers>
  result<std::size_t> read(std::uint64_t offset, Buffers buffers) const {
    transfer io;
    if (const error refusal = describe(io, offset, buffers, needed.read); refusal.exists()) return refusal;
    if (io.total() == 0) return std::size_t(0);
    if constexpr (Mode::is_mapped)
      if (copy_out(io, each_of(buffers))) return io.total();
    const raw_result answer = platform::read_some(handle, io.next());
    if (io.is_finished_by(answer)) return io.total();
    return finish_read(handle, io, end_block(), answer);
  }

  template <class Buffers>
  result<std::size_t> write(std::uint64_t offset, Buffers buffers) {
    transfer io;
    if (const error refusal = describe(io, offset, buffers, needed.write); refusal.exists()) return refusal;
    if (io.total() == 0) return std::size_t(0);
    if constexpr (Mode::is_mapped) {
      if (!map.writable()) return error(errc::access_not_granted);
      if (copy_in(io, each_of(buffers))) return io.total();
      return map.resize_by([&] { return finish_write(handle, io, platform::write_some(handle, io.next())); });
    }
    const raw_result answer = platform::write_some(handle, io.next());
    if (io.is_finished_by(answer)) return io.total();
    return finish_write(handle, io, answer);
  }

  result<void> resize(std::uint64_t bytes) {
    if constexpr (Mode::is_mapped)
      return map.resize_by([&] { return platform::resize(handle, bytes); });
    else
      return platform::resize(handle, bytes);
  }

  result<std::span<std::byte>> view(std::uint64_t offset, std::size_t bytes)
    requires(Mode::is_mapped)
  {
    std::byte* found = map.find(offset, bytes);
    if (found == nullptr) {
      const auto size = map.refresh();
      if (!size) return size.error();
      found = map.find(offset, bytes);
      const std::uint64_t end = bytes > max_offset - std::min(offset, max_offset) ? max_offset : offset + bytes;
      if (found == nullptr) return error(errc::beyond_end, end, size.value());
    }
    return std::span(found, bytes);
  }

  void explain(explanation& out) const {
    out.add("mode", std::string(Mode::name));
    if constexpr (Mode::is_direct) {
      out.add("direct", direct_active ? "on" : "off", direct_active ? "" : support);
      out.add("alignment",
              "memory " + std::to_string(needed.memory) + ", read " + std::to_string(needed.read) + ", write " +
                  std::to_string(needed.write),
              direct_active ? support : "assumed, since there is no device to ask");
    } else {
      out.add("inline reads", activity.inline_reads ? "on" : "off",
              activity.inline_reads ? "" : "the file system cannot tell whether a read would wait (RWF_NOWAIT)");
    }
  }

  platform::native_handle handle = platform::invalid_handle;
  qio::alignment needed;
  bool direct_active = false;
  std::string support;  // of direct files: where the alignment is known from, or why it is not direct
  file_activity activity;
  [[no_unique_address]] mutable map_type map;

 private:
  result<void> prepare(platform::native_handle opened, const open_options& options) {
    if constexpr (Mode::is_direct) return prepare_direct(opened, options.fallback);
    if constexpr (Mode::is_mapped) {
      platform::install_copy_guard();
      if (auto mapped = map.refresh(); !mapped) return mapped.error();
    }
    static_cast<void>(opened);
    static_cast<void>(options);
    return BOOST_OUTCOME_V2_NAMESPACE::success();
  }

  result<void> prepare_direct(platform::native_handle opened, if_not_direct fallback) {
    platform::direct_support found = platform::find_direct_support(opened);
    if (!found.refusal.exists())
      if (const auto made = platform::make_direct(opened); !made) found.refusal = errc::direct_not_supported;
    if (found.refusal.exists() && fallback == if_not_direct::fail) return found.refusal;
    direct_active = !found.refusal.exists();
    // Without a device to ask: what every device in use accepts, so that what works here works there.
    needed = direct_active ? found.needed : qio::alignment{4096, 4096, 4096};
    support = direct_active ? std::move(found.source) : found.refusal.message();
    return BOOST_OUTCOME_V2_NAMESPACE::success();
  }

  // Copies between memory and the mapping. False where that cannot serve it all: past the end as it was last seen, or a
  // fault on the way (the file was truncated, the device failed, the disk is full). The system call that is made
  // then knows which, and answers exactly as for a cached file.
  //
  // Where somebody else cut the file off within a page, that page does not fault: past the end it shows zeros, and
  // keeps what is written there from the file. So a write asks afterwards whether the end is still beyond it. A read
  // need ask only if its last byte is zero.
  bool copy_out(const transfer& io, std::span<const mutable_buffer> memory) const {
    const std::byte* from = map.find(io.offset(), io.total());
    if (from == nullptr && map.refresh()) from = map.find(io.offset(), io.total());
    if (from == nullptr) return false;
    std::byte last{0};
    for (const mutable_buffer& each : memory) {
      if (each.size == 0) continue;
      if (!platform::guarded_copy(each.data, from, each.size, from)) return false;
      from += each.size;
      last = static_cast<const std::byte*>(each.data)[each.size - 1];
    }
    return last != std::byte{0} || is_within_file(io);
  }

  bool copy_in(const transfer& io, std::span<const mutable_buffer> memory) {
    std::byte* to = map.find(io.offset(), io.total());
    if (to == nullptr && map.refresh()) to = map.find(io.offset(), io.total());
    if (to == nullptr) return false;
    for (const mutable_buffer& each : memory) {
      if (each.size == 0) continue;
      if (!platform::guarded_copy(to, each.data, each.size, to)) return false;
      to += each.size;
    }
    return is_within_file(io);
  }

  bool is_within_file(const transfer& io) const noexcept {
    const auto size = platform::size(handle);
    return size && io.offset() + io.total() <= size.assume_value();
  }
};

}  // namespace qio::detail
