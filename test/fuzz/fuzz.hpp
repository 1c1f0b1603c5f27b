// A target is a function of untrusted bytes. It must return, or throw the one exception that reports invalid input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

/// Ends the program unless a promise about accepted input holds.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

/// The input in parts. Returns zeros and empty strings when it is used up.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : left_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return left_.empty(); }
  std::size_t below(std::size_t end) {
    std::size_t number = 0;
    for (int byte = 0; byte < 2; ++byte) number = number << 8 | static_cast<unsigned char>(one());
    return number % end;
  }
  std::uint64_t bits() {
    std::uint64_t number = 0;
    for (int byte = 0; byte < 8; ++byte) number = number << 8 | static_cast<unsigned char>(one());
    return number;
  }
  std::string_view some(std::size_t bytes) {
    const std::string_view part = left_.substr(0, bytes);
    left_.remove_prefix(part.size());
    return part;
  }
  std::string rest() { return std::string(some(left_.size())); }

 private:
  char one() {
    const std::string_view part = some(1);
    return part.empty() ? '\0' : part.front();
  }

  std::string_view left_;
};

}  // namespace fuzz
