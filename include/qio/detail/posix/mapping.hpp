// SPDX-License-Identifier: BSL-1.0
// A part of the address space that shows a file.
#pragma once

#include <qio/detail/posix/handle.hpp>
#include <qio/result.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace qio::platform {

/// Shows a file from its beginning. May be longer than the file: what lies past the end appears when the file has
/// grown so far, and raises SIGBUS until then.
class mapping {
 public:
  static constexpr bool covers_growth = true;      ///< may be longer than the file
  static constexpr bool is_flushed_apart = false;  ///< by flush(), before the file is synced

  static result<mapping> map(native_handle handle, std::uint64_t bytes, bool writable) noexcept {
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const base = ::mmap(nullptr, bytes, protection, MAP_SHARED, handle, 0);
    if (base == MAP_FAILED) return last_error();
    return mapping(static_cast<std::byte*>(base), bytes);
  }

  mapping(mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  mapping& operator=(mapping&& other) noexcept {
    mapping taken(std::move(other));
    std::swap(base_, taken.base_);
    std::swap(size_, taken.size_);
    return *this;
  }
  ~mapping() {
    if (base_ != nullptr) ::munmap(base_, size_);
  }

  std::byte* data() const noexcept { return base_; }
  std::size_t size() const noexcept { return size_; }

 private:
  mapping(std::byte* base, std::size_t size) noexcept : base_(base), size_(size) {}

  std::byte* base_;
  std::size_t size_;
};

/// Makes a call that may cut off or extend the file, while these show it.
template <class Mappings, class Call>
auto resize_beneath(Mappings&, native_handle, Call&& call) {
  return call();
}

/// Syncing the file writes what was changed through mappings, too.
inline result<void> flush(const mapping&) noexcept { return BOOST_OUTCOME_V2_NAMESPACE::success(); }

inline std::size_t page_size() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace qio::platform
