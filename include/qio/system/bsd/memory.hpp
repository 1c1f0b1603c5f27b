// SPDX-License-Identifier: BSL-1.0
// Memory from the system, in ordinary pages: neither macOS nor FreeBSD has a call for huge ones, or for a NUMA node.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/mapping.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>

QIO_BEGIN_NAMESPACE
namespace platform {

struct memory_block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // a multiple of the size of its pages
};

inline void unmap_memory(const memory_block& block) noexcept {
  if (block.data != nullptr) ::munmap(block.data, block.bytes);
}

/// Maps memory, which is allocated when it is first used.
inline result<memory_block> reserve_memory(std::size_t bytes, huge_pages kind) noexcept {
  if (kind == huge_pages::required) return system_error(EOPNOTSUPP);
  const std::size_t page = page_size();
  memory_block block{nullptr, (bytes + (page - 1)) & ~(page - 1)};
  if (block.bytes < bytes) return system_error(ENOMEM);
  void* const mapped = ::mmap(nullptr, block.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
  if (mapped == MAP_FAILED) return last_error();
  block.data = static_cast<std::byte*>(mapped);
  return block;
}

/// The same, but it is present. `node` must be negative: any NUMA node.
inline result<memory_block> map_memory(std::size_t bytes, huge_pages kind, int node) noexcept {
  if (node >= 0) return system_error(EOPNOTSUPP);
  const auto reserved = reserve_memory(bytes, kind);
  if (!reserved) return reserved;
  const memory_block block = reserved.value();
  const std::size_t page = page_size();
  for (std::size_t at = 0; at < block.bytes; at += page)
    static_cast<volatile std::byte&>(block.data[at]) = std::byte{0};
  return block;
}

}  // namespace platform
QIO_END_NAMESPACE
