// SPDX-License-Identifier: BSL-1.0
#include "output/text_file.hpp"

#include "failure.hpp"

#include <fstream>
#include <iterator>

namespace qd1 {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw usage_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& contents) {
  std::ofstream file(path, std::ios::binary);
  file << contents;
  if (!file.flush()) throw usage_error(path + ": cannot be written");
}

}  // namespace qd1
