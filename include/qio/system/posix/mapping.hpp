// SPDX-License-Identifier: BSL-1.0
// A mapping of a file into memory. `mapping` is in mapping.hpp of each system.
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Maps a file from its beginning. May be longer than the file: accessing memory past the end raises SIGBUS until the
/// file has grown that far. `IsFlushedApart`: it needs flush() before the file is synced.
template <bool IsFlushedApart>
class shared_mapping {
 public:
  static constexpr bool covers_growth = true;  ///< may be longer than the file
  static constexpr bool is_flushed_apart = IsFlushedApart;

  /// Whether nobody can make the file shorter while it is mapped.
  static constexpr bool keeps_size(native_handle) noexcept { return false; }

  static result<shared_mapping> map(native_handle handle, std::uint64_t bytes, bool writable) noexcept {
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const base = ::mmap(nullptr, bytes, protection, MAP_SHARED, handle, 0);
    if (base == MAP_FAILED) return last_error();
    return shared_mapping(static_cast<std::byte*>(base), bytes);
  }

  shared_mapping(shared_mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  shared_mapping& operator=(shared_mapping&& other) noexcept {
    shared_mapping taken(std::move(other));
    std::swap(base_, taken.base_);
    std::swap(size_, taken.size_);
    return *this;
  }
  ~shared_mapping() {
    if (base_ != nullptr) ::munmap(base_, size_);
  }

  std::byte* data() const noexcept { return base_; }
  std::size_t size() const noexcept { return size_; }

  /// A hint, which a system without read-ahead ignores.
  void expect(access_pattern pattern) const noexcept {
    if (pattern == access_pattern::normal) return;
    static_cast<void>(::madvise(base_, size_, pattern == access_pattern::random ? MADV_RANDOM : MADV_SEQUENTIAL));
  }

 private:
  shared_mapping(std::byte* base, std::size_t size) noexcept : base_(base), size_(size) {}

  std::byte* base_;
  std::size_t size_;
};

/// Makes a call that may truncate or extend the file while it is mapped. Returns what the call returns.
template <class Mappings, class Call>
auto resize_beneath(Mappings&, native_handle, Call&& call) {
  return call();
}

inline std::size_t page_size() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace platform
QIO_END_NAMESPACE
