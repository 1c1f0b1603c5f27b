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

QIO_BEGIN_NAMESPACE
namespace detail {

/// The real operating system. It is the type `system` of every engine, except those whose files are elsewhere; these
/// have a type with the same members.
struct operating_system {
  static constexpr bool has_mappings = true;
  static constexpr bool has_page_cache = true;  ///< transfers, opens and closes may be attempted inline

  static constexpr bool has_writeback = platform::has_writeback;

  using opening = platform::opening;

  static constexpr auto& begin = opening::begin;
  template <class MayBeUsed>
  static result<opening> begin_at_once(path_view path, platform::native_handle beneath, access wanted, handle_kind kind,
                                       platform::known_file_systems& known, MayBeUsed&& may_be_used) {
    return opening::begin_at_once(path, beneath, wanted, kind, known, may_be_used);
  }
  static constexpr auto& adopt = platform::adopt;
  static constexpr auto& make_direct = platform::make_direct;
  static constexpr auto& takes_flags = platform::takes_flags;
  static constexpr auto& read = platform::read_some;
  static constexpr auto& write = platform::write_some;
  static constexpr auto& sync = platform::sync;
  static constexpr auto& start_writeback = platform::start_writeback;
  /// Asks the system to drop what it has cached of the file and has written back.
  static constexpr auto& drop_pages = platform::drop_cached_pages;
  static constexpr auto& size = platform::size;
  static constexpr auto& resize = platform::resize;
  /// Locks the file for this handle, until it is closed. False if another handle has locked it.
  static constexpr auto& lock_exclusively = platform::lock_exclusively;
  static constexpr auto& unlock = platform::unlock;
  static constexpr auto& close = platform::close;
};

}  // namespace detail
QIO_END_NAMESPACE
