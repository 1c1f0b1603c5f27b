// SPDX-License-Identifier: BSL-1.0
// The interface of a mode: what it decides about an open file. A static_assert next to each mode checks it.
#pragma once

#include <qio/configuration.hpp>
#include <qio/explanation.hpp>
#include <qio/file/system_file.hpp>
#include <qio/mode.hpp>
#include <qio/options.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

/// What one mode adds to a system_file: its own data, and the members below. Each mode specializes it in the header of
/// the same name; file/modes.hpp lists them. Nothing here is virtual, and nothing is inherited by default.
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

}  // namespace qio::inline QIO_CONFIGURATION::detail
