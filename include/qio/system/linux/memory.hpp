// SPDX-License-Identifier: BSL-1.0
// Memory from the system: huge pages, and memory of one NUMA node.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; missing in older headers
#endif

QIO_BEGIN_NAMESPACE
namespace platform {

struct memory_block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // a multiple of the size of its pages
};

/// The size of the pages that MAP_HUGETLB takes, in bytes; 0 if the kernel has none.
inline std::size_t huge_page_bytes() noexcept {
  std::FILE* const file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return 0;
  char line[128];
  unsigned long kibibytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "Hugepagesize: %lu kB", &kibibytes) == 1) break;
  std::fclose(file);
  return std::size_t(kibibytes) * 1024;
}

inline void unmap_memory(const memory_block& block) noexcept {
  if (block.data != nullptr) ::munmap(block.data, block.bytes);
}

/// Maps memory, which is allocated when it is first used. Transparent huge pages are given where the kernel has them
/// (madvise(2), MADV_HUGEPAGE); the size is then rounded up to a multiple of theirs.
inline result<memory_block> reserve_memory(std::size_t bytes, huge_pages kind) noexcept {
  constexpr std::size_t transparent = std::size_t(2) << 20;
  std::size_t page = kind == huge_pages::never ? static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : transparent;
  if (kind == huge_pages::required && (page = huge_page_bytes()) == 0) return system_error(EOPNOTSUPP);
  memory_block block{nullptr, (bytes + (page - 1)) & ~(page - 1)};
  if (block.bytes < bytes) return system_error(ENOMEM);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (kind == huge_pages::required ? MAP_HUGETLB : 0);
  // Larger by one page, so that a part of it begins at a multiple of a huge page. (MAP_HUGETLB aligns by itself.)
  const std::size_t more = kind == huge_pages::preferred ? page : 0;
  void* const mapped = ::mmap(nullptr, block.bytes + more, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped == MAP_FAILED) return last_error();
  block.data = static_cast<std::byte*>(mapped);
  if (more != 0) {
    const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(mapped) % page) % page;
    if (before != 0) ::munmap(block.data, before);
    block.data += before;
    if (more != before) ::munmap(block.data + block.bytes, more - before);
    static_cast<void>(::madvise(block.data, block.bytes, MADV_HUGEPAGE));
  }
  return block;
}

/// The same, but it is present: nothing of it is allocated later. `node` is a NUMA node, or negative for any (mbind(2)
/// with MPOL_BIND).
inline result<memory_block> map_memory(std::size_t bytes, huge_pages kind, int node) noexcept {
  const auto reserved = reserve_memory(bytes, kind);
  if (!reserved) return reserved;
  const memory_block block = reserved.value();
  if (node >= 0) {
    constexpr int bind = 2;  // MPOL_BIND, of linux/mempolicy.h
    constexpr unsigned long bits = 1024;
    constexpr unsigned long in_one = sizeof(unsigned long) * CHAR_BIT;
    unsigned long nodes[bits / in_one] = {};
    const auto number = static_cast<unsigned long>(node);
    if (number < bits) nodes[number / in_one] = 1ul << number % in_one;
    if (number >= bits || ::syscall(__NR_mbind, block.data, block.bytes, bind, nodes, bits + 1, 0) != 0) {
      const error failure = number >= bits ? system_error(EINVAL) : last_error();
      unmap_memory(block);
      return failure;
    }
  }
  // Before Linux 5.14, pages come when they are first used.
  if (::madvise(block.data, block.bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    const error failure = last_error();
    unmap_memory(block);
    return failure;
  }
  return block;
}

}  // namespace platform
QIO_END_NAMESPACE
