// SPDX-License-Identifier: BSL-1.0
// What each mode decides about an open file, and which buffers its transfers accept. Mapped files have a header of
// their own.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/polling.hpp>
#include <qio/explanation.hpp>
#include <qio/file/system_file.hpp>
#include <qio/mode.hpp>
#include <qio/options.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/system/platform.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

// --- Buffers ---
//
// What the type of a buffer determines: whether it is a valid buffer, whether it outlives the call, and its size if
// fixed.

/// The size in bytes, if the buffer's type fixes it; otherwise 0, which is a multiple of everything.
template <class Buffer>
inline constexpr std::size_t static_extent = 0;
template <class T, std::size_t Count>
inline constexpr std::size_t static_extent<std::array<T, Count>> = sizeof(T) == 1 ? Count : 0;
template <class T, std::size_t Count>
inline constexpr std::size_t static_extent<T[Count]> = sizeof(T) == 1 ? Count : 0;
template <class T, std::size_t Count>
inline constexpr std::size_t static_extent<std::span<T, Count>> =
    sizeof(T) == 1 && Count != std::dynamic_extent ? Count : 0;

/// What a read fills: bytes, or several buffers.
template <class Buffer>
concept readable_into =
    std::convertible_to<Buffer, std::span<std::byte>> || std::convertible_to<Buffer, std::span<const mutable_buffer>>;

/// What a write sends: bytes, or several buffers.
template <class Buffer>
concept writable_from = std::convertible_to<Buffer, std::span<const std::byte>> ||
                        std::convertible_to<Buffer, std::span<const const_buffer>>;

/// Contiguous memory of another element type, such as a std::string. The declarations accept it so that the
/// static_asserts below can name the fix.
template <class Buffer>
concept holds_no_bytes = std::ranges::contiguous_range<Buffer> && !readable_into<Buffer> && !writable_from<Buffer> &&
                         !std::same_as<std::ranges::range_value_t<Buffer>, std::byte> &&
                         !std::same_as<std::ranges::range_value_t<Buffer>, mutable_buffer> &&
                         !std::same_as<std::ranges::range_value_t<Buffer>, const_buffer>;

/// Whether a buffer that is passed as `Buffer&&` still exists after the call returns: it has a name, or is a view of
/// memory that something else owns.
template <class Buffer>
inline constexpr bool is_borrowed =
    std::is_lvalue_reference_v<Buffer> || std::ranges::borrowed_range<Buffer> ||
    (!std::ranges::range<Buffer> && std::is_trivially_copyable_v<std::remove_cvref_t<Buffer>>);

/// Converts the caller's argument to what a transfer takes: one buffer, or a list of several.
template <class Buffer>
auto buffers_to_fill(Buffer& buffer) noexcept {
  static_assert(!holds_no_bytes<Buffer&>,
                "qio: a read fills std::byte: pass std::as_writable_bytes(std::span(x)) instead of x");
  if constexpr (holds_no_bytes<Buffer&>)
    return mutable_buffer();
  else if constexpr (std::convertible_to<Buffer&, std::span<std::byte>>)
    return mutable_buffer(std::span<std::byte>(buffer));
  else
    return buffer_list(std::span<const mutable_buffer>(buffer));
}

// A transfer does not know its direction; a write only reads its buffers.
template <class Buffer>
auto buffers_to_send(Buffer& buffer) noexcept {
  static_assert(!holds_no_bytes<Buffer&>,
                "qio: a write sends std::byte: pass std::as_bytes(std::span(x)) instead of x");
  if constexpr (holds_no_bytes<Buffer&>) {
    return mutable_buffer();
  } else if constexpr (std::convertible_to<Buffer&, std::span<const std::byte>>) {
    const std::span<const std::byte> bytes(buffer);
    return mutable_buffer(const_cast<std::byte*>(bytes.data()), bytes.size());
  } else {
    return buffer_list(std::span<const const_buffer>(buffer));
  }
}

/// Either of them, as a range.
inline std::span<const mutable_buffer> each_of(const mutable_buffer& only) noexcept { return {&only, 1}; }
inline buffer_list each_of(buffer_list several) noexcept { return several; }

// --- Policies ---
//
// The interface of a mode: what it decides about an open file. A static_assert next to each mode checks it.

/// What one mode adds to a system_file: its own data, and the members below. Each mode specializes it, below or in
/// file/mapped.hpp. Nothing here is virtual, and nothing is inherited by default.
///
/// - `reads_inline`, `writes_inline`: whether the context's thread may attempt them, through the page cache.
/// - `has_own_sync`: whether sync() is more than the system's sync of the handle.
/// - `needed_access(wanted)`: the access that the handle needs.
/// - construction from the handle being opened, the granted access and the options.
/// - `prepare(file, opening, options)`: finds out whether the mode is available, before the open changes the disk.
/// - `commit(opening)`: the last step of the open, which returns the handle.
/// - `alignment()`, `end_block()`, `flags()`: what transfers must be multiples of; the block size, where a read that
///   stops between two blocks has reached the end of the file; and the flags of each system call.
/// - `untorn_limits()`: basic_file::atomic_write_limits().
/// - `fits(io, buffers, block)`, `misfit(io, buffers, block)`: whether the alignment is right, and the error if not;
///   `block` is alignment().read or .write. The range of offsets has been checked.
/// - `read(file, io, buffers)`, `write(file, io, buffers, more)`, `resize(file, bytes)`, `sync(file, kind)`: blocking
///   operations. `io` is not empty and fits. `more`: flags of this write besides flags().
/// - `is_direct()`, `is_uncached()`: whether the mode is in force, rather than degraded.
/// - `allow_polling(engine, file, handle)`: finds out which transfers the engine may poll. The file does not own the
///   handle yet.
/// - `explain(file, out)`: the facts after "durable writes".
template <class Mode, class System>
class mode_policy;

template <class Policy, class System>
concept complete_mode_policy =
    std::constructible_from<Policy, platform::native_handle, access, const open_options&> &&
    requires(Policy& self, const Policy& seen, system_file<System>& file, const system_file<System>& seen_file,
             typename System::opening& opening, transfer& io, mutable_buffer buffers, explanation& out) {
      { Policy::reads_inline } -> std::convertible_to<bool>;
      { Policy::writes_inline } -> std::convertible_to<bool>;
      { Policy::has_own_sync } -> std::convertible_to<bool>;
      { Policy::needed_access(access::read) } noexcept -> std::same_as<access>;
      { self.prepare(seen_file, opening, open_options{}) } -> std::same_as<result<void>>;
      { self.commit(opening) } -> std::same_as<result<platform::native_handle>>;
      { seen.alignment() } noexcept -> std::same_as<qio::alignment>;
      { seen.end_block() } noexcept -> std::same_as<std::uint32_t>;
      { seen.flags() } noexcept -> std::same_as<platform::transfer_flags>;
      { seen.untorn_limits() } noexcept -> std::same_as<atomic_write_limits>;
      { seen.fits(io, buffers, 1u) } noexcept -> std::same_as<bool>;
      { seen.misfit(io, buffers, 1u) } noexcept -> std::same_as<error>;
      { self.read(seen_file, io, buffers) } -> std::same_as<result<std::size_t>>;
      { self.write(file, io, buffers, platform::durable) } -> std::same_as<result<std::size_t>>;
      { self.resize(file, std::uint64_t()) } -> std::same_as<result<void>>;
      { self.sync(file, sync_kind::everything) } -> std::same_as<result<void>>;
      { seen.is_direct() } noexcept -> std::same_as<bool>;
      { seen.is_uncached() } noexcept -> std::same_as<bool>;
      { seen.explain(seen_file, out) } -> std::same_as<void>;
    };

/// For modes whose transfers may have any offset, length and address.
struct any_alignment {
  static constexpr qio::alignment alignment() noexcept { return {}; }
  static constexpr std::uint32_t end_block() noexcept { return 1; }
  static constexpr atomic_write_limits untorn_limits() noexcept { return {}; }
  template <class Buffers>
  static constexpr bool fits(const transfer&, Buffers, std::uint32_t) noexcept {
    return true;
  }
  template <class Buffers>
  static constexpr error misfit(const transfer&, Buffers, std::uint32_t) noexcept {
    return {};
  }
};

/// Which transfers of a file in the page cache are attempted inline, and why not.
template <class System>
void explain_inline(const system_file<System>& file, explanation& out) {
  const inline_activity& activity = file.activity;
  const auto add = [&out](const char* transfers, bool are_attempted, const char* reason) {
    out.add(transfers, are_attempted ? "on" : "off", reason == nullptr ? "" : reason);
  };
  add("inline reads", activity.attempt_of_reads != nullptr, activity.why_no_reads);
  const bool writes = activity.attempt_of_writes != nullptr, is_limited = writes && platform::has_file_size_limit();
  add("inline writes", writes && !is_limited,
      is_limited ? "the process has a limit on the size of files" : activity.why_no_writes);
}

// --- Cached files: plain system calls ---

template <class System>
class mode_policy<cached, System> : public any_alignment {
 public:
  static constexpr bool reads_inline = System::has_page_cache;
  static constexpr bool writes_inline = System::has_page_cache;
  static constexpr bool has_own_sync = false;

  static constexpr access needed_access(access wanted) noexcept { return wanted; }

  mode_policy(platform::native_handle, access, const open_options&) noexcept {}

  static result<void> prepare(const system_file<System>&, const typename System::opening&, const open_options&) {
    return success();
  }
  static result<platform::native_handle> commit(typename System::opening& opening) { return opening.commit(); }

  static constexpr platform::transfer_flags flags() noexcept { return 0; }
  static constexpr bool is_direct() noexcept { return false; }
  static constexpr bool is_uncached() noexcept { return false; }

  template <class Buffers>
  static result<std::size_t> read(const system_file<System>& file, transfer& io, Buffers buffers) {
    return file.read(io, buffers, 0, 1);
  }
  template <class Buffers>
  static result<std::size_t> write(system_file<System>& file, transfer& io, Buffers buffers,
                                   platform::transfer_flags more) {
    return file.write(io, buffers, more);
  }
  static result<void> resize(system_file<System>& file, std::uint64_t bytes) {
    return file.files.resize(file.handle, bytes);
  }
  static result<void> sync(system_file<System>& file, sync_kind kind) { return file.files.sync(file.handle, kind); }

  template <class Engine>
  static void allow_polling(const Engine&, system_file<System>&, platform::native_handle) noexcept {}

  static void explain(const system_file<System>& file, explanation& out) { explain_inline(file, out); }
};

static_assert(complete_mode_policy<mode_policy<cached, operating_system>, operating_system>);

// --- Uncached files: system calls that ask the kernel to drop the pages after each transfer ---

template <class System>
class mode_policy<uncached, System> : public any_alignment {
 public:
  static constexpr bool reads_inline = false;  // what was read before is no longer cached
  static constexpr bool writes_inline = System::has_page_cache;
  static constexpr bool has_own_sync = false;

  /// prepare() probes the flag with a read.
  static constexpr access needed_access(access wanted) noexcept {
    return wanted == access::write ? access::read_write : wanted;
  }

  mode_policy(platform::native_handle, access, const open_options&) noexcept {}

  result<void> prepare(const system_file<System>& file, const typename System::opening& opening,
                       const open_options& options) {
    is_active_ = file.files.takes_flags(opening.handle(), platform::drop_pages);
    if (!is_active_ && options.fallback == if_unavailable::fail) return error(errc::uncached_not_supported);
    return success();
  }
  static result<platform::native_handle> commit(typename System::opening& opening) { return opening.commit(); }

  platform::transfer_flags flags() const noexcept { return is_active_ ? platform::drop_pages : 0; }
  static constexpr bool is_direct() noexcept { return false; }
  bool is_uncached() const noexcept { return is_active_; }

  template <class Buffers>
  result<std::size_t> read(const system_file<System>& file, transfer& io, Buffers buffers) const {
    return file.read(io, buffers, flags(), 1);
  }
  template <class Buffers>
  result<std::size_t> write(system_file<System>& file, transfer& io, Buffers buffers,
                            platform::transfer_flags more) const {
    return file.write(io, buffers, flags() | more);
  }
  static result<void> resize(system_file<System>& file, std::uint64_t bytes) {
    return file.files.resize(file.handle, bytes);
  }
  static result<void> sync(system_file<System>& file, sync_kind kind) { return file.files.sync(file.handle, kind); }

  template <class Engine>
  static void allow_polling(const Engine&, system_file<System>&, platform::native_handle) noexcept {}

  void explain(const system_file<System>& file, explanation& out) const {
    explain_inline(file, out);
    out.add("uncached", is_active_ ? "on" : "off", is_active_ ? "" : error(errc::uncached_not_supported).message());
  }

 private:
  bool is_active_ = false;
};

static_assert(complete_mode_policy<mode_policy<uncached, operating_system>, operating_system>);

// --- Direct files: aligned transfers, and devices that may be polled ---

template <class System>
class mode_policy<direct, System> {
 public:
  static constexpr bool reads_inline = false;
  static constexpr bool writes_inline = false;
  static constexpr bool has_own_sync = false;

  static constexpr access needed_access(access wanted) noexcept { return wanted; }

  mode_policy(platform::native_handle, access, const open_options&) {}

  result<void> prepare(const system_file<System>& file, const typename System::opening& opening,
                       const open_options& options) {
    platform::direct_support found = file.files.make_direct(opening);
    if (found.refusal.exists() && options.fallback == if_unavailable::fail) return found.refusal;
    is_active_ = !found.refusal.exists();
    // Without a device to query: what every device in use accepts, so that code which works here works on them.
    needed_ = is_active_ ? found.needed : qio::alignment{4096, 4096, 4096};
    if (is_active_) untorn_ = found.untorn;
    source_ = is_active_ ? std::move(found.source) : found.refusal.message();
    return success();
  }
  static result<platform::native_handle> commit(typename System::opening& opening) { return opening.commit(); }

  qio::alignment alignment() const noexcept { return needed_; }
  std::uint32_t end_block() const noexcept { return is_active_ ? needed_.read : 1; }
  atomic_write_limits untorn_limits() const noexcept { return untorn_; }
  static constexpr platform::transfer_flags flags() noexcept { return 0; }
  bool is_direct() const noexcept { return is_active_; }
  static constexpr bool is_uncached() noexcept { return false; }

  template <class Buffers>
  bool fits(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    std::uint64_t places = io.offset();
    std::uintptr_t addresses = 0;
    for (const mutable_buffer each : each_of(buffers)) {
      places |= each.size;
      addresses |= reinterpret_cast<std::uintptr_t>(each.data);
    }
    return (places & (block - 1)) == 0 && (addresses & (needed_.memory - 1)) == 0;
  }

  template <class Buffers>
  error misfit(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    if ((io.offset() & (block - 1)) != 0) return error(errc::misaligned_offset, io.offset(), block);
    for (const mutable_buffer each : each_of(buffers)) {
      if ((each.size & (block - 1)) != 0) return error(errc::misaligned_length, each.size, block);
      const auto address = reinterpret_cast<std::uintptr_t>(each.data);
      if ((address & (needed_.memory - 1)) != 0) return error(errc::misaligned_buffer, address, needed_.memory);
    }
    return {};
  }

  template <class Buffers>
  result<std::size_t> read(const system_file<System>& file, transfer& io, Buffers buffers) const {
    return file.read(io, buffers, 0, end_block());
  }
  template <class Buffers>
  static result<std::size_t> write(system_file<System>& file, transfer& io, Buffers buffers,
                                   platform::transfer_flags more) {
    return file.write(io, buffers, more);
  }
  static result<void> resize(system_file<System>& file, std::uint64_t bytes) {
    return file.files.resize(file.handle, bytes);
  }
  static result<void> sync(system_file<System>& file, sync_kind kind) { return file.files.sync(file.handle, kind); }

  template <class Engine>
  void allow_polling(const Engine& engine, system_file<System>& file, platform::native_handle handle) {
    polling_ =
        is_active_ ? engine.find_polling(handle, needed_) : polling_support{false, false, "the file is not direct"};
    if (polling_.reads) file.activity.poll(opcode::read);
    if (polling_.writes && file.activity.writes_durably) {
      polling_.writes = false;
      polling_.reason = "a durable write takes more than one request to the device";
    }
    if (polling_.writes) file.activity.poll(opcode::write);
  }

  void explain(const system_file<System>& file, explanation& out) const {
    out.add("direct", is_active_ ? "on" : "off", is_active_ ? "" : source_);
    out.add("alignment",
            "memory " + std::to_string(needed_.memory) + ", read " + std::to_string(needed_.read) + ", write " +
                std::to_string(needed_.write),
            is_active_ ? source_ : "assumed, because there is no device to query");
    explain_polling(file.activity, out);
  }

 private:
  void explain_polling(const file_activity& activity, explanation& out) const {
    const bool begun = polling_.reads || polling_.writes;
    if (begun && activity.polled == 0)
      out.add("polling", "off", "the device has refused a polled transfer since the file was opened");
    else
      out.add("polling",
              !begun             ? "off"
              : !polling_.writes ? "reads"
              : !polling_.reads  ? "writes"
                                 : "reads and writes",
              polling_.reason);
  }

  qio::alignment needed_;
  atomic_write_limits untorn_;
  bool is_active_ = false;
  polling_support polling_{false, false, "only a context over io_uring polls"};
  std::string source_;  // the source of the alignment, or why the file is not direct
};

static_assert(complete_mode_policy<mode_policy<direct, operating_system>, operating_system>);

}  // namespace qio::inline QIO_CONFIGURATION::detail
