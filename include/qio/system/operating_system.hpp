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

  /// Whether handles of both are of one system.
  friend bool operator==(const operating_system&, const operating_system&) = default;

  using opening = platform::opening;
  using temporary_place = platform::temporary_place;

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
  static constexpr auto& allocate = platform::allocate;
  static constexpr auto& try_lock = platform::try_lock;
  static constexpr auto& status = platform::status;
  static constexpr auto& status_of_path = platform::status_of_path;
  static constexpr auto& set_permissions = platform::set_permissions;
  static constexpr auto& set_owner = platform::set_owner;
  static constexpr auto& set_times = platform::set_times;
  static constexpr auto& discard = platform::discard;
  static constexpr auto& zero = platform::zero;
  static constexpr auto& next_data = platform::next_data;
  static constexpr auto& is_same_file = platform::is_same_file;
  static constexpr auto& clone = platform::clone;
  static constexpr auto& clone_unit = platform::clone_unit;
  static constexpr auto& copy = platform::copy;
  static constexpr auto& advise = platform::advise;
  static constexpr auto& prefetch = platform::prefetch;
  static constexpr auto& forget = platform::forget;
  static constexpr auto& resident = platform::resident;
  static constexpr auto& unlock = platform::unlock;
  static constexpr auto& is_locked = platform::is_locked;
  static constexpr auto& set_lifetime = platform::set_lifetime;
  static constexpr auto& give_name = platform::give_name;
  static constexpr auto& close = platform::close;
  // Names: the first argument is the directory that the paths must stay beneath, or platform::anywhere.
  static constexpr auto& rename = platform::rename;
  static constexpr auto& link = platform::link;
  static constexpr auto& symlink = platform::symlink;
  static constexpr auto& read_link = platform::read_link;
  static constexpr auto& remove = platform::remove;
  static constexpr auto& create_directory = platform::create_directory;
  static constexpr auto& remove_directory = platform::remove_directory;
  static constexpr auto& sync_directory = platform::sync_directory;
  static constexpr auto& permissions_of = platform::permissions_of;
  static constexpr auto& keep_permissions = platform::keep_permissions;
  static constexpr auto& duplicate = platform::duplicate;
  static constexpr auto& temporary_directory = platform::temporary_directory;
  static constexpr auto& temporary_name = platform::temporary_name;
  static constexpr auto& find_place = platform::temporary_place::find;
};

}  // namespace detail
QIO_END_NAMESPACE
