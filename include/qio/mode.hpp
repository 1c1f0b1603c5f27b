// SPDX-License-Identifier: BSL-1.0
// The modes of a file: what each demands of the caller and offers.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

namespace qio {

/// Through the kernel's page cache: reads are served from memory where they can be, writes are accepted into
/// memory and reach the device later (see sync).
struct cached {
  static constexpr std::string_view name = "cached";
  static constexpr bool is_direct = false;
  static constexpr bool is_uncached = false;
  static constexpr bool is_mapped = false;
};

/// Through the page cache, which lets go of the pages as soon as the transfer is done with them (RWF_DONTCACHE, Linux
/// 6.14, on file systems that have it: ext4, XFS): for what will not be read again soon, and should not drive out what
/// will. A read takes from the cache what is there, and leaves that there; what was read ahead stays until it is read.
/// A write starts writing back at once, and its pages go when they are on the device; it is no more durable than a
/// cached one. Nothing need be aligned.
struct uncached {
  static constexpr std::string_view name = "uncached";
  static constexpr bool is_direct = false;
  static constexpr bool is_uncached = true;
  static constexpr bool is_mapped = false;
};

/// Past the page cache, between the caller's memory and the device (O_DIRECT). Offsets, lengths and addresses
/// must be aligned; file.alignment() tells to what. A completed write has left the page cache out, it is *not*
/// durable: the device may hold it in its own cache until sync.
struct direct {
  static constexpr std::string_view name = "direct";
  static constexpr bool is_direct = true;
  static constexpr bool is_uncached = false;
  static constexpr bool is_mapped = false;
};

/// The page cache itself, mapped into the process. Reads and writes are copies in memory; view() needs not even
/// those.
struct mapped {
  static constexpr std::string_view name = "mapped";
  static constexpr bool is_direct = false;
  static constexpr bool is_uncached = false;
  static constexpr bool is_mapped = true;
};

/// What makes a type a mode.
template <class T>
concept file_mode = requires {
  { T::name } -> std::convertible_to<std::string_view>;
  { T::is_direct } -> std::convertible_to<bool>;
  { T::is_uncached } -> std::convertible_to<bool>;
  { T::is_mapped } -> std::convertible_to<bool>;
};
static_assert(file_mode<cached> && file_mode<uncached> && file_mode<direct> && file_mode<mapped>);

/// What the file may be used for.
enum class access : std::uint8_t { read, write, read_write };

/// What open() does about a file that exists, or does not.
enum class creation : std::uint8_t {
  open_existing,      ///< the file must exist
  if_needed,          ///< created, empty, if it does not exist
  only_if_missing,    ///< created; an error (std::errc::file_exists) if it exists
  truncate_existing,  ///< the file must exist, and loses its contents; needs access to write
  /// An empty file, put in the place of one that exists: who has the old one open keeps it, its other names (hard
  /// links) too, but owner, permissions and attributes are those of a new file. Of regular files only.
  always_new,
};

/// What opening a direct or an uncached file does where that mode cannot be had.
enum class if_unavailable : std::uint8_t {
  fail,       ///< errc::direct_not_supported, errc::direct_in_memory …, or errc::uncached_not_supported
  use_cache,  ///< opens through the page cache; is_direct() or is_uncached() is false, and file.explain() says why
};

/// What sync() makes durable: still there after the machine loses power, if the device keeps what it promises.
enum class sync_kind : std::uint8_t {
  data,           ///< the contents of the part of the file that existed at the last sync
  data_and_size,  ///< the contents and the size: everything that is needed to read them back
  everything,     ///< times, permissions and attributes as well
};

/// Direct transfers: what the file demands, in bytes, each a power of two; 1 where nothing is demanded.
struct alignment {
  std::uint32_t memory = 1;  ///< of the address of the buffer
  std::uint32_t read = 1;    ///< of the offset and the length of a read
  std::uint32_t write = 1;   ///< of the offset and the length of a write

  friend bool operator==(const alignment&, const alignment&) = default;
};

class directory;

/// How open() creates files, and what it puts up with.
struct open_options {
  std::uint32_t permissions = 0666;  ///< POSIX permission bits of a created file, before the process's umask
  if_unavailable fallback = if_unavailable::fail;  ///< for direct and uncached files only
  /// For asynchronous writes to cached and mapped files: whether those of 128 KiB or less are carried out at once, on
  /// the context's thread, where a write normally ends in memory (ext4, XFS, btrfs, tmpfs). That is several times
  /// faster than the way through a worker of the kernel. It may wait all the same (when the kernel throttles who writes
  /// too much, or the file system commits its journal): then the engine gets the writes of that file for sixteen times
  /// as long as the wait was, so that the context's thread waits a seventeenth of its time at most, and
  /// file_statistics::blocked_submissions counts it. False leaves all writes to the engine.
  bool inline_writes = true;
  /// A write is over, successfully, when its data are durable, and all that it takes to read them back, such as the new
  /// size: as if data_and_size had been synced for these bytes (O_DSYNC; FILE_FLAG_WRITE_THROUGH, which not every
  /// device heeds). Of writes that fail more is said at sync(). A mapped file writes by system calls then; what is
  /// stored to its views needs sync(), and so does resize(). For a file of which some writes are to be durable and
  /// others not, open it twice.
  bool durable_writes = false;
  /// For mapped files only: bytes of address space to reserve, so that the file can grow so far without a second
  /// mapping. 0 chooses. Costs no memory.
  std::uint64_t reservation = 0;
  /// For paths that come from elsewhere (an archive, a request): the path begins at this directory, and the file is
  /// beneath it, else the open fails with errc::leaves_directory. See directory. It must stay until the file is open;
  /// null means that the path may lead anywhere.
  const directory* beneath = nullptr;
};

}  // namespace qio
