// SPDX-License-Identifier: BSL-1.0
// The file to measure on: found or created, and filled with real data. Never overwrites a file that qd1 did not make.
#pragma once

#include "platform/file.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace qd1 {

struct data_file_request {
  std::string path;  ///< a file, a directory, a block device; empty: the current directory
  std::optional<std::uint64_t> bytes;
  std::uint64_t block = 4096;
  bool overwrite = false;  ///< the user permits qd1 to destroy the file's contents
  std::uint64_t seed = 0;
};

class data_file {
 public:
  /// Throws usage_error if that is impossible or might do harm, and interruption if the user interrupts it. What it has
  /// created by then is removed.
  explicit data_file(const data_file_request& request);
  data_file(const data_file&) = delete;
  data_file& operator=(const data_file&) = delete;
  /// A file that qd1 made, and that has a name, is kept for the next run.
  ~data_file();

  /// For opening it, in any mode: always the same file, whatever has happened to its name meanwhile.
  const std::string& path() const noexcept { return path_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Why it may be read only; empty if it may be written.
  const std::string& why_read_only() const noexcept { return why_read_only_; }
  bool is_temporary() const noexcept { return temporary_ != nullptr; }

 private:
  void use_temporary(const std::string& directory, const data_file_request& request);
  void use_new(const data_file_request& request);
  void use_regular(const data_file_request& request);
  void use_device(const data_file_request& request);
  void hold(const std::string& path);
  void use_what_is_there(const data_file_request& request, std::uint64_t size);
  void fill(const data_file_request& request);
  void write_data(const data_file_request& request);

  std::unique_ptr<platform::temporary_file> temporary_;
  std::unique_ptr<platform::held_file> held_;
  std::unique_ptr<platform::device_claim> claim_;
  std::string name_;  // as given
  std::string path_;
  std::uint64_t bytes_ = 0;
  std::string why_read_only_;
  /// What is known of a file with a name: nothing; that qd1 was killed while it filled it; that qd1 made it.
  enum class origin : std::uint8_t { foreign, unfinished, own } origin_ = origin::foreign;
};

}  // namespace qd1
