// Where a test may leave files.
#pragma once

#include "os.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>

namespace qio_test {

/// A new directory, in QIO_TEST_DIRECTORY or the current one; gone with all its files when the test ends.
class directory {
 public:
  directory() {
    const char* const parent = std::getenv("QIO_TEST_DIRECTORY");
    static std::atomic<unsigned> number = 0;
    path_ = std::string(parent == nullptr ? "." : parent) + "/test-" + std::to_string(os::process_number()) + '-' +
            std::to_string(++number);
    std::filesystem::create_directory(path_);
  }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string operator/(const char* name) const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

}  // namespace qio_test
