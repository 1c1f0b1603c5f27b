// SPDX-License-Identifier: BSL-1.0
// Memory from the system: large pages, and memory of one NUMA node.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/handle.hpp>

#include <cstddef>

QIO_BEGIN_NAMESPACE
namespace platform {

struct memory_block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // a multiple of the size of its pages
};

inline void unmap_memory(const memory_block& block) noexcept {
  if (block.data != nullptr) calls::VirtualFree(block.data, 0, MEM_RELEASE);
}

/// Committed, and for large pages resident. `node` is a NUMA node that the system prefers, or negative for any. Large
/// pages need the privilege SeLockMemoryPrivilege (VirtualAlloc).
inline result<memory_block> map_memory(std::size_t bytes, huge_pages kind, int node) noexcept {
  constexpr DWORD any_node = 0xffffffff;  // NUMA_NO_PREFERRED_NODE
  const auto attempt = [&](std::size_t page, DWORD more) -> result<memory_block> {
    memory_block block{nullptr, (bytes + (page - 1)) & ~(page - 1)};
    if (block.bytes < bytes) return system_error(ERROR_NOT_ENOUGH_MEMORY);
    block.data = static_cast<std::byte*>(calls::VirtualAllocExNuma(::GetCurrentProcess(), nullptr, block.bytes,
                                                                   MEM_RESERVE | MEM_COMMIT | more, PAGE_READWRITE,
                                                                   node < 0 ? any_node : static_cast<DWORD>(node)));
    if (block.data == nullptr) return last_error();
    return block;
  };
  if (kind != huge_pages::never) {
    const std::size_t large = calls::GetLargePageMinimum();
    auto found = large == 0 ? result<memory_block>(system_error(ERROR_NOT_SUPPORTED)) : attempt(large, MEM_LARGE_PAGES);
    if (found || kind == huge_pages::required) return found;
  }
  return attempt(4096, 0);
}

/// The same, of any node. (Ordinary pages become resident when they are first used.)
inline result<memory_block> reserve_memory(std::size_t bytes, huge_pages kind) noexcept {
  return map_memory(bytes, kind, -1);
}

}  // namespace platform
QIO_END_NAMESPACE
