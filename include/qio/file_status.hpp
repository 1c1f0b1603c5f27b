// SPDX-License-Identifier: BSL-1.0
// What the system knows about a file besides its contents, and the entries of directories.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

QIO_BEGIN_NAMESPACE

/// What a name leads to.
enum class file_type : std::uint8_t {
  unknown,           ///< the file system did not report it, or it is none of the others
  regular,           ///< a file with contents
  directory,         ///< a directory
  symbolic_link,     ///< a symbolic link; on Windows also a junction (mount point)
  block_device,      ///< such as a disk
  character_device,  ///< such as a terminal
  pipe,              ///< a named pipe (FIFO)
  socket,            ///< a socket of the Unix domain
};

/// A time of a file: of the system's clock, in nanoseconds since 1970 (UTC). It covers the years 1678 to 2261; what a
/// file system reports beyond becomes the first or the last of these times. Most file systems store fewer digits.
using file_time = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

/// Identifies a file among those that exist at a moment, on one machine. Hard links to a file have the same. After a
/// file has been removed, another may get its number.
struct file_id {
  std::uint64_t device = 0;  ///< of the file system: st_dev of stat(2); on Windows the volume's serial number
  std::uint64_t low = 0;     ///< the inode's number; on Windows the first 64 bits of the file's ID
  std::uint64_t high = 0;    ///< 0; on Windows the other 64 bits of the file's ID, which ReFS uses

  /// Whether both identify the same file.
  friend bool operator==(const file_id&, const file_id&) = default;
};

/// What the system reports about a file. Linux: statx(2). Windows: GetFileInformationByHandleEx (FileBasicInfo,
/// FileStandardInfo, FileIdInfo).
struct file_status {
  file_type type = file_type::unknown;  ///< never unknown for what has a type on this system
  /// The permission bits of chmod(2), 07777 at most. Windows has one: the read-only attribute. Files with it have 0444,
  /// others 0666, and directories have 0111 as well, whatever their access control lists say.
  std::uint32_t permissions = 0;
  std::uint64_t bytes = 0;  ///< its size: that of a regular file's contents, or the length of a link's target
  /// The space that the file takes on its device, in bytes: less than its size if it has holes or is compressed.
  std::uint64_t allocated_bytes = 0;
  std::uint32_t owner = 0;  ///< the number of the user that owns it; 0 on Windows, which has no such numbers
  std::uint32_t group = 0;  ///< the number of its group; 0 on Windows
  std::uint64_t links = 0;  ///< how many names it has
  file_id id;               ///< which file it is
  file_time accessed;       ///< of the last read, as far as the mount keeps it (mount(8), noatime, relatime)
  file_time modified;       ///< of the last write
  file_time changed;        ///< of the last change of contents or attributes
  /// When it was created. None if the file system does not store it, or the kernel does not report it (NFS, for
  /// example).
  std::optional<file_time> created;
};

/// One time of a file for set_times(): unchanged by default, a time, or the moment of the call.
class time_change {
 public:
  constexpr time_change() noexcept = default;
  /// A time of the system's clock, of any precision.
  template <class Duration>
  constexpr time_change(std::chrono::time_point<std::chrono::system_clock, Duration> time) noexcept
      : kind_(kind::at), time_(std::chrono::time_point_cast<std::chrono::nanoseconds>(time)) {}
  /// The system's time when it is set, in the precision of the file system.
  static constexpr time_change now() noexcept {
    time_change made;
    made.kind_ = kind::now;
    return made;
  }

  /// Whether the time stays as it is.
  constexpr bool is_unchanged() const noexcept { return kind_ == kind::unchanged; }
  /// Whether it becomes that of the call.
  constexpr bool is_now() const noexcept { return kind_ == kind::now; }
  /// The time, if it is neither.
  constexpr file_time time() const noexcept { return time_; }

 private:
  enum class kind : std::uint8_t { unchanged, now, at };
  kind kind_ = kind::unchanged;
  file_time time_{};
};

/// The times that set_times() sets.
struct file_times {
  time_change accessed = {};  ///< of the last read
  time_change modified = {};  ///< of the last write
};

/// An entry of a directory. Valid until the reader's next batch.
struct directory_entry {
  /// The name, without the directory: any bytes but '/' and null; a null character follows them. On Windows, the name
  /// in UTF-8; see directory_reader.
  std::string_view name;
  file_type type = file_type::unknown;  ///< unknown where the file system does not store it with the name
  /// file_id::low of the file. For a mount point, that of the directory beneath the mount; on overlays, it may differ
  /// from what status() reports.
  std::uint64_t id = 0;
};

QIO_END_NAMESPACE
