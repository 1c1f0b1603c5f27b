// SPDX-License-Identifier: BSL-1.0
// Files and devices, as far as the library does not know them.
#pragma once

#include <qio/qio.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace qd1::platform {

enum class file_kind : std::uint8_t { missing, regular, directory, block_device, other };

/// What is at a path; symbolic links are followed. Throws usage_error where that cannot be found out.
file_kind kind_of(const std::string& path);

/// Bytes that may still be written on the file system of this directory.
std::uint64_t free_bytes(const std::string& directory);

/// Why a block device must not be written to: mounted, partitioned, a member of something. Empty if nothing is known.
std::string why_device_is_in_use(const std::string& path);

/// Remembers on the file itself that qd1 wrote all of it, and nobody changed it since. Does nothing where the file
/// system cannot keep that.
void mark_as_made_by_qd1(const std::string& path);
bool is_made_by_qd1(const std::string& path);

/// Drops the file's clean pages from the page cache; dirty, mapped and locked ones stay.
void drop_cached_pages(const std::string& path);

/// Whether this system tells at all which pages of files are in memory.
bool tells_cached_pages() noexcept;

/// How many of the file's pages are in the page cache; none where the system does not tell.
std::optional<std::uint64_t> cached_pages(const std::string& path, std::uint64_t bytes);

/// Of the first `bytes` of a file, how many are holes, or allocated but never written: reading those needs no device.
/// None where the file system does not tell.
std::optional<std::uint64_t> bytes_without_data(const std::string& path, std::uint64_t bytes);

/// Tells the kernel that a mapping will be used at random: no reading ahead, no mapping of neighbours. False where it
/// cannot be told.
bool advise_random(std::span<const std::byte> mapping) noexcept;

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
