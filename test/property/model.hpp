// The expected contents of the file, in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace property {

/// The library and the model disagree.
class mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& what) {
  if (!holds) throw mismatch(what);
}

/// With memcmp, which is fast in unoptimized builds, too.
inline bool are_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0;
}

class model {
 public:
  std::uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> all() const { return bytes_; }

  void resize(std::uint64_t bytes) { bytes_.resize(bytes); }
  void take(std::vector<std::byte> bytes) { bytes_ = std::move(bytes); }

  void write(std::uint64_t offset, std::span<const std::byte> data) {
    if (data.empty()) return;
    if (size() < offset + data.size()) resize(offset + data.size());
    std::copy(data.begin(), data.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  /// The bytes that a read of `bytes` bytes at `offset` returns.
  std::size_t readable(std::uint64_t offset, std::size_t bytes) const {
    return offset >= size() ? 0 : static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size() - offset));
  }

  /// What it returns.
  std::vector<std::byte> part(std::uint64_t offset, std::size_t bytes) const {
    const std::size_t there = readable(offset, bytes);
    if (there == 0) return {};
    const auto first = bytes_.begin() + static_cast<std::ptrdiff_t>(offset);
    return {first, first + static_cast<std::ptrdiff_t>(there)};
  }

  void expect(std::uint64_t offset, std::span<const std::byte> seen, const std::string& by) const {
    if (seen.empty()) return;
    if (readable(offset, seen.size()) == seen.size() && are_equal(seen, std::span(bytes_).subspan(offset, seen.size())))
      return;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (offset + i >= size() || seen[i] != bytes_[offset + i]) differs(offset + i, seen[i], by);
  }

  /// A write of `data` at `offset` was interrupted: each byte may be the old or the new one. The model takes over
  /// what was seen.
  void settle(std::uint64_t offset, std::span<const std::byte> data, std::span<const std::byte> seen,
              const std::string& by) {
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] != bytes_[offset + i] && seen[i] != data[i]) differs(offset + i, seen[i], by);
      bytes_[offset + i] = seen[i];
    }
  }

 private:
  [[noreturn]] void differs(std::uint64_t at, std::byte seen, const std::string& by) const {
    throw mismatch(by + ": byte " + std::to_string(at) + " is " + std::to_string(std::to_integer<int>(seen)) +
                   (at < size() ? ", not " + std::to_string(std::to_integer<int>(bytes_[at]))
                                : ", but the file ends at " + std::to_string(size())));
  }

  std::vector<std::byte> bytes_;
};

}  // namespace property
