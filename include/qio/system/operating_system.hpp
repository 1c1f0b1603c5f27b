// SPDX-License-Identifier: BSL-1.0
// What a file needs from a system, as an object, so that a simulated system can replace the real one.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <cstdint>
#include <type_traits>

namespace qio::inline QIO_CONFIGURATION::detail {

/// The real operating system. It is the type `system` of every engine, except those whose files are elsewhere; these
/// have a type with the same members.
struct operating_system {
  static constexpr bool has_mappings = true;
  static constexpr bool has_page_cache = true;  ///< transfers, opens and closes may be attempted inline

  static constexpr bool has_writeback = platform::has_writeback;

  using opening = platform::opening;

  static result<opening> begin(path_view path, platform::native_handle beneath, access wanted, creation how,
                               std::uint32_t permissions, handle_kind kind) {
    return opening::begin(path, beneath, wanted, how, permissions, kind);
  }
  template <class MayBeUsed>
  static result<opening> begin_at_once(path_view path, platform::native_handle beneath, access wanted, handle_kind kind,
                                       platform::known_file_systems& known, MayBeUsed&& may_be_used) {
    return opening::begin_at_once(path, beneath, wanted, kind, known, may_be_used);
  }
  static result<adopted_handle<opening>> adopt(platform::native_handle handle, handle_kind kind) {
    return platform::adopt(handle, kind);
  }
  static platform::direct_support make_direct(const opening& of) { return platform::make_direct(of); }
  static bool takes_flags(platform::native_handle handle, platform::transfer_flags flags) noexcept {
    return platform::takes_flags(handle, flags);
  }
  static raw_result read(platform::native_handle handle, const piece& what, platform::transfer_flags flags) noexcept {
    return platform::read_some(handle, what, flags);
  }
  static raw_result write(platform::native_handle handle, const piece& what, platform::transfer_flags flags) noexcept {
    return platform::write_some(handle, what, flags);
  }
  static result<void> sync(platform::native_handle handle, sync_kind kind) noexcept {
    return platform::sync(handle, kind);
  }
  static raw_result start_writeback(platform::native_handle handle, std::uint64_t offset, std::size_t bytes) noexcept {
    return platform::start_writeback(handle, offset, bytes);
  }
  /// Asks the system to drop what it has cached of the file and has written back.
  static void drop_pages(platform::native_handle handle) noexcept { platform::drop_cached_pages(handle); }
  static result<std::uint64_t> size(platform::native_handle handle) noexcept { return platform::size(handle); }
  static result<void> resize(platform::native_handle handle, std::uint64_t bytes) noexcept {
    return platform::resize(handle, bytes);
  }
  /// Locks the file for this handle, until it is closed. False if another handle has locked it.
  static result<bool> lock_exclusively(platform::native_handle handle) noexcept {
    return platform::lock_exclusively(handle);
  }
  static void unlock(platform::native_handle handle) noexcept { platform::unlock(handle); }
  static result<void> close(platform::native_handle handle) noexcept { return platform::close(handle); }
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
