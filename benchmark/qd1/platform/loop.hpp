// SPDX-License-Identifier: BSL-1.0
// Block devices that are files, and where the bytes of files lie. Only Linux has and reports both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1::platform {

/// What a loop device shows at this moment.
struct loop_file {
  std::string path;  ///< by which it can be opened; empty if it is unknown, or has no name here
  bool is_device = false;
  bool is_direct = false;    ///< the device does not use the page cache of the file
  std::uint64_t offset = 0;  ///< in the file, where the device begins
};

/// Finds a device by its name ("loop0").
loop_file file_behind(const std::string& device);

/// A loop device that shows a file, and reads it through the page cache, as long as this exists.
class buffered_loop {
 public:
  explicit buffered_loop(const std::string& path);
  buffered_loop(const buffered_loop&) = delete;
  buffered_loop& operator=(const buffered_loop&) = delete;
  ~buffered_loop();

  /// Why there is none; empty: there is.
  const std::string& why_not() const noexcept { return why_not_; }
  const std::string& path() const noexcept { return path_; }  ///< "/dev/loop0"

 private:
  [[maybe_unused]] int handle_ = -1;
  std::string path_;
  std::string why_not_;
};

struct byte_range {
  std::uint64_t begin = 0, end = 0;
};

/// Where ranges of a file lie.
struct placement {
  std::vector<byte_range> on_device;  ///< of what is stored as it is, by the file system's own addresses
  std::uint64_t missing = 0;          ///< bytes in holes, or in blocks that were never written
  std::uint64_t encoded = 0;          ///< bytes that are not stored as they are: compressed, or packed with others
};

/// None where the file system does not report it.
std::optional<placement> place(const std::string& path, const std::vector<byte_range>& ranges);

}  // namespace qd1::platform
