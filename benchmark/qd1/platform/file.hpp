// SPDX-License-Identifier: BSL-1.0
// Files and devices, as far as the library does not know them.
#pragma once

#include <qio/qio.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace qd1::platform {

enum class file_kind : std::uint8_t { missing, regular, directory, block_device, other };

/// What is at a path; symbolic links are followed. Throws usage_error where that cannot be found out.
file_kind kind_of(const std::string& path);

/// The same for all names of a file, a directory or a block device, and different for any other; also of a file that
/// does not exist yet, in a directory that does. Empty for what keeps no data, such as a terminal, and for what cannot
/// be found out.
std::string file_identity(const std::string& path);

/// Bytes that may still be written on the file system of this directory.
std::uint64_t free_bytes(const std::string& directory);

/// A file or device that stays the same one, whatever others rename or link meanwhile.
class held_file {
 public:
  /// Throws usage_error where there is none.
  explicit held_file(const std::string& path);
  held_file(const held_file&) = delete;
  held_file& operator=(const held_file&) = delete;
  ~held_file();

  /// By which this process can open it, in any mode.
  const std::string& path() const { return path_; }

 private:
  qio::platform::native_handle handle_;
  std::string path_;
};

/// A new file, by no symbolic link that another user may have put into its path. Throws usage_error, also if there is
/// one.
qio::cached_file create_file(const std::string& path);

/// Whether what is open is what is at a path.
bool is_same_file(qio::platform::native_handle opened, const std::string& path);

/// For a file that will be overwritten. Throws usage_error unless `path` still leads to the held file, by no symbolic
/// link that another user may have put there.
void require_no_link_of_others(const std::string& path, const held_file& held);

/// Keeps others from mounting, partitioning and assembling a block device before it is overwritten.
class device_claim {
 public:
  /// Throws usage_error, with the reason, where it is mounted, partitioned or a part of something.
  explicit device_claim(const held_file& device, const std::string& name);
  device_claim(const device_claim&) = delete;
  device_claim& operator=(const device_claim&) = delete;
  ~device_claim();

 private:
  [[maybe_unused]] qio::platform::native_handle handle_;
};

/// The device that shows the contents of this file or device ("loop0"), as losetup(8) makes them; empty if there is
/// none. Overwriting the file overwrites what is mounted there.
std::string device_over(const std::string& path);

/// Marks the file itself as written entirely by qd1 and unchanged since. Does nothing where the file system cannot keep
/// that. The mark counts only on files that only this user may write to: then nobody else can have set it. It contains
/// the identity of the file, so a copy does not have it, and the time when it was set, so any later change ends it,
/// even one of times.
void mark_as_made_by_qd1(const std::string& path);
bool is_made_by_qd1(const std::string& path);

/// Marks the file itself as one that qd1 is filling with that many bytes, until it is marked as made. If that never
/// happens, the process was killed meanwhile. Does nothing where the file system cannot keep that. The mark counts only
/// on files that only this user may write to, that have one name, and that have no more bytes.
void mark_as_unfinished(const std::string& path, std::uint64_t bytes);
bool is_unfinished(const std::string& path);

/// Why a file that will be overwritten is in use: another process has it open for writing, or holds a lock on it. Empty
/// if neither is seen at this moment, in which this process may not have it open for writing itself.
std::string why_in_use(const std::string& path);

/// Removes the name of the held file, unless the name leads to another file by now. Never throws.
void remove_file(const std::string& path, std::unique_ptr<held_file> held) noexcept;

/// Writes a file and puts it in the place of `path` when it is complete. Nothing is followed where others may write: a
/// symbolic link there is refused, and so are pipes and devices. Devices that keep data are refused everywhere, and so
/// is a file behind a loop device. Throws usage_error where not all could be written.
void write_whole_file(const std::string& path, std::string_view contents);

/// Throws usage_error where write_whole_file() could not write. Leaves everything as it was.
void require_writable(const std::string& path);

/// Whether the system has a page cache for what is at this path.
bool is_cacheable(const std::string& path);

/// Drops the file's clean pages from the page cache; dirty, mapped and locked ones stay.
void drop_cached_pages(const std::string& path);

/// Whether this system reports at all which pages of files are in memory.
bool tells_cached_pages() noexcept;

/// How many of the file's pages are in the page cache; none where the system does not report it.
std::optional<std::uint64_t> cached_pages(const std::string& path, std::uint64_t bytes);

/// How many of the first `bytes` of a file are holes, or allocated but never written: reading those needs no device.
/// None where the file system does not report it.
std::optional<std::uint64_t> bytes_without_data(const std::string& path, std::uint64_t bytes);

/// How many of them share their blocks with another file, or a snapshot: the first write to each allocates new blocks.
/// None where the file system does not report it.
std::optional<std::uint64_t> shared_bytes(const std::string& path, std::uint64_t bytes);

/// Whether qio::open_options::pattern has an effect on mappings.
bool takes_advice_on_mappings() noexcept;

/// A file with parts that are locked by one process at a time, and free when that ends, however it does. It is made
/// where there is none, and stays.
class lock_file {
 public:
  explicit lock_file(const std::string& path);
  lock_file(const lock_file&) = delete;
  lock_file& operator=(const lock_file&) = delete;
  ~lock_file();

  /// Waits as long as another has it, another lock_file of this process included.
  void lock(std::uint64_t part);
  void unlock(std::uint64_t part) noexcept;

 private:
  std::string path_;
  qio::platform::native_handle handle_;
};

/// A file that is gone with the process, however that ends.
class temporary_file {
 public:
  explicit temporary_file(const std::string& directory);
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file();

  /// By which this process can open it again, in any mode.
  const std::string& path() const { return path_; }

 private:
  qio::platform::native_handle handle_;
  std::string path_;
};

}  // namespace qd1::platform
