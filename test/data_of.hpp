// Where a file has data.
#pragma once

#include <qio/qio.hpp>

#include <cstdint>
#include <vector>

namespace qio_test {

/// All ranges of data, in order; none where the file system does not report them.
template <class File>
std::vector<qio::extent> data_of(File& file) {
  std::vector<qio::extent> found;
  for (std::uint64_t at = 0;;) {
    const auto next = file.next_data(at);
    if (!next || !next.value()) return found;
    found.push_back(*next.value());
    at = found.back().offset + found.back().bytes;
  }
}

}  // namespace qio_test
