// SPDX-License-Identifier: BSL-1.0
// How the file and its data affected the figures of a finished run, in words.
#pragma once

#include "measure/data_file.hpp"
#include "report.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

namespace qd1 {

/// Made before a run, asked after it.
class data_checks {
 public:
  explicit data_checks(const data_file& file);

  /// Makes reads invalid that needed no device. Notes data that compress or repeat, blocks that the file shares with
  /// others, and changes by another process.
  void judge(report& run) const;

 private:
  void notice_changes(report& run) const;

  const data_file& file_;
  std::optional<std::filesystem::file_time_type> written_;
  std::optional<std::uint64_t> shared_;  // bytes
};

/// Bits a byte by the frequencies of its bytes: 8 for what does not compress, 0 for zeros.
double entropy(std::span<const std::byte> data);

}  // namespace qd1
