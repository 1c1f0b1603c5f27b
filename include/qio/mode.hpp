// SPDX-License-Identifier: BSL-1.0
// The modes of a file: what each requires and offers.
#pragma once

#include <qio/configuration.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

QIO_BEGIN_NAMESPACE

/// Through the kernel's page cache: reads of cached data are served from memory; writes go to memory and reach the
/// device later (see sync).
struct cached {
  static constexpr std::string_view name = "cached";  ///< in messages and explanations
  static constexpr bool is_direct = false;            ///< whether transfers bypass the page cache
  static constexpr bool is_uncached = false;          ///< whether the cache drops the pages after a transfer
  static constexpr bool is_mapped = false;            ///< whether transfers are copies in memory
};

/// Through the page cache, which drops the pages as soon as the transfer no longer needs them (RWF_DONTCACHE,
/// Linux 6.14, on file systems that support it: ext4, XFS). For data that will not be read again soon and should not
/// displace data that will. A read uses pages that are in the cache and leaves them there; pages that were read ahead
/// stay until they are read. A write starts writing back at once, and its pages are dropped when they are on the
/// device; it is no more durable than a cached write. Needs no alignment.
struct uncached {
  static constexpr std::string_view name = "uncached";  ///< in messages and explanations
  static constexpr bool is_direct = false;              ///< whether transfers bypass the page cache
  static constexpr bool is_uncached = true;             ///< whether the cache drops the pages after a transfer
  static constexpr bool is_mapped = false;              ///< whether transfers are copies in memory
};

/// Bypasses the page cache: transfers between the caller's memory and the device (O_DIRECT). Offsets, lengths and
/// addresses must be multiples of file.alignment(). A completed write has bypassed the page cache, but is *not*
/// durable: the device may hold it in its own cache until sync. A read that reaches the end of the file may also change
/// the rest of the buffer, up to the end of the block: btrfs leaves bytes from past the end there (Linux 6.18).
struct direct {
  static constexpr std::string_view name = "direct";  ///< in messages and explanations
  static constexpr bool is_direct = true;             ///< whether transfers bypass the page cache
  static constexpr bool is_uncached = false;          ///< whether the cache drops the pages after a transfer
  static constexpr bool is_mapped = false;            ///< whether transfers are copies in memory
};

/// The page cache itself, mapped into the process. Reads and writes are copies in memory; view() does not even copy.
struct mapped {
  static constexpr std::string_view name = "mapped";  ///< in messages and explanations
  static constexpr bool is_direct = false;            ///< whether transfers bypass the page cache
  static constexpr bool is_uncached = false;          ///< whether the cache drops the pages after a transfer
  static constexpr bool is_mapped = true;             ///< whether transfers are copies in memory
};

/// The requirements of a mode.
template <class T>
concept file_mode = requires {
  { T::name } -> std::convertible_to<std::string_view>;
  { T::is_direct } -> std::convertible_to<bool>;
  { T::is_uncached } -> std::convertible_to<bool>;
  { T::is_mapped } -> std::convertible_to<bool>;
};
static_assert(file_mode<cached> && file_mode<uncached> && file_mode<direct> && file_mode<mapped>);

/// The kinds of access that a file is opened for.
enum class access : std::uint8_t {
  read,        ///< reads only
  write,       ///< writes only
  read_write,  ///< both
};

/// Which other locks a lock of a file keeps out: see basic_file::try_lock().
enum class lock_kind : std::uint8_t {
  shared,     ///< exclusive ones
  exclusive,  ///< all
};

/// In which order a file will mostly be read: a hint to the system's read-ahead. See open_options::pattern.
enum class access_pattern : std::uint8_t {
  normal,      ///< the system detects it
  random,      ///< nothing is read ahead
  sequential,  ///< more is read ahead
};

/// What open() does if the file exists, and if it does not.
enum class creation : std::uint8_t {
  open_existing,      ///< the file must exist
  if_needed,          ///< created, empty, if it does not exist
  only_if_missing,    ///< created; an error (std::errc::file_exists) if it exists
  truncate_existing,  ///< the file must exist, and loses its contents; needs access to write
  /// A new, empty file replaces one that exists. Handles and other names (hard links) of the old file keep it. Owner,
  /// permissions and attributes are those of a new file. Replaces regular files only. Symbolic links at the end of the
  /// path are followed, except those of other users in a world-writable sticky directory
  /// (std::errc::permission_denied).
  always_new,
  emptied,  ///< created, or loses its contents and stays the same file; needs access to write
};

/// How long what is written to a file will stay: a hint to the device, which can then keep data of one kind together
/// (fcntl(2), F_SET_RW_HINT). Relative to each other; what they mean is up to the program. See open_options::lifetime.
enum class data_lifetime : std::uint8_t {
  unknown,      ///< no hint
  short_lived,  ///< such as temporary files and logs
  medium,
  long_lived,
  extreme,  ///< such as archives
};

/// "short_lived", ...
constexpr std::string_view name_of(data_lifetime lifetime) noexcept {
  switch (lifetime) {
    case data_lifetime::unknown: return "unknown";
    case data_lifetime::short_lived: return "short_lived";
    case data_lifetime::medium: return "medium";
    case data_lifetime::long_lived: return "long_lived";
    case data_lifetime::extreme: return "extreme";
  }
  return {};
}

/// What sync() makes durable. Durable data survives a power failure if the device honors flushes.
enum class sync_kind : std::uint8_t {
  data,           ///< the contents of the part of the file that existed at the last sync
  data_and_size,  ///< the contents and the size: everything that is needed to read them back
  everything,     ///< times, permissions and attributes as well
};

/// What a file requires of direct transfers, in bytes. Each is a power of two; 1 means no requirement.
struct alignment {
  std::uint32_t memory = 1;  ///< of the address of the buffer
  std::uint32_t read = 1;    ///< of the offset and the length of a read
  std::uint32_t write = 1;   ///< of the offset and the length of a write

  /// Whether all three are equal.
  friend bool operator==(const alignment&, const alignment&) = default;
};

/// The lengths in bytes that an untorn write may have: see write_options::untorn. Powers of two, or all 0 if the file
/// does not support untorn writes.
struct atomic_write_limits {
  std::uint32_t smallest = 0;  ///< the shortest untorn write
  std::uint32_t largest = 0;   ///< the longest one
  std::uint32_t optimal = 0;   ///< the longest one that the device supports by itself; longer ones need the file
                               ///< system and are slower (Linux 6.16; `largest` where the system does not report it)

  /// Whether all three are equal.
  friend bool operator==(const atomic_write_limits&, const atomic_write_limits&) = default;
};

namespace detail {

// --- what a handle must be for a mode ---

/// The properties that a handle must have when it is opened, on systems where they cannot be set later.
struct handle_kind {
  bool direct = false;
  bool asynchronous = false;    ///< for use by an engine
  bool writes_durably = false;  ///< a write completes only when it is durable
  access_pattern pattern = access_pattern::normal;
  bool follows_links = true;  ///< a symbolic link at the end of the path
  bool regular_only = false;  ///< no device, not even for a moment
  bool is_unnamed = false;    ///< the path is that of a directory, where a file without a name is created
};

/// Whether opening a file so takes away what it contains, and the file itself stays.
constexpr bool empties(creation how) noexcept { return how == creation::truncate_existing || how == creation::emptied; }

/// A handle that was opened elsewhere, and its properties.
template <class Opening>
struct adopted_handle {
  Opening opening;  ///< with nothing left to do; until it is committed, the handle belongs to the caller
  access granted;
  bool writes_durably;
  bool is_direct;
};

}  // namespace detail
QIO_END_NAMESPACE
