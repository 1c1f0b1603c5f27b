// SPDX-License-Identifier: BSL-1.0
// A copy out of the page cache itself, mapped into the process.
#include "measure/competitor.hpp"

#include <sys/mman.h>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY);
  void* const mapped = ::mmap(nullptr, competitor.bytes(), PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
  if (mapped == MAP_FAILED) compare::fail("mmap", std::strerror(errno));
  compare::page buffer;
  // Out of the compiler's sight: what it knows the size of, GCC copies by an instruction (rep movsq) that is slower
  // than the C library's copy.
  std::size_t bytes = compare::block;
  asm volatile("" : "+r"(bytes));
  competitor.one_at_a_time([&](compare::round& round) {
    while (round.has_next()) {
      const std::uint64_t offset = round.next_read();
      std::memcpy(buffer.bytes, static_cast<const std::byte*>(mapped) + offset, bytes);
      asm volatile("" : : "r"(buffer.bytes) : "memory");  // all of it is wanted, not only what is checked
      round.finished_read(offset, compare::block, buffer.bytes);
    }
  });
}
