// Copies that fault.
#include "catch.hpp"
#include <qio/qio.hpp>

#include <cstring>
#include <span>
#include <vector>

namespace {

constexpr std::size_t page = 4096;

/// Two pages, of which the second is inaccessible.
struct half_there {
  half_there() : memory(static_cast<std::byte*>(::VirtualAlloc(nullptr, 2 * page, MEM_RESERVE, PAGE_NOACCESS))) {
    ::VirtualAlloc(memory, page, MEM_COMMIT, PAGE_READWRITE);
  }
  half_there(const half_there&) = delete;
  half_there& operator=(const half_there&) = delete;
  ~half_there() { ::VirtualFree(memory, 0, MEM_RELEASE); }
  std::byte* memory;
};

unsigned foreign_faults = 0;
std::byte* foreign_page = nullptr;

LONG CALLBACK commit_page(EXCEPTION_POINTERS* raised) {
  if (raised->ExceptionRecord->ExceptionCode != EXCEPTION_ACCESS_VIOLATION) return EXCEPTION_CONTINUE_SEARCH;
  ++foreign_faults;
  ::VirtualAlloc(foreign_page, page, MEM_COMMIT, PAGE_READWRITE);
  return EXCEPTION_CONTINUE_EXECUTION;
}

}  // namespace

TEST_CASE("a guarded copy that faults returns false, in either direction, and the next one works") {
  qio::platform::install_copy_guard();
  const half_there half;
  const std::span<const std::byte> mapped(half.memory, 2 * page);
  std::vector<std::byte> other(2 * page, std::byte{7});
  for (int round = 0; round < 3; ++round) {
    CHECK(qio::platform::guarded_copy(half.memory, other.data(), page, mapped));
    CHECK(half.memory[page - 1] == std::byte{7});
    CHECK(!qio::platform::guarded_copy(half.memory, other.data(), 2 * page, mapped));
    CHECK(!qio::platform::guarded_copy(half.memory + page, other.data(), 1, mapped));
    CHECK(!qio::platform::guarded_copy(other.data(), half.memory, page + 1, mapped));
    CHECK(qio::platform::guarded_copy(other.data(), half.memory, page, mapped));
  }
}

TEST_CASE("a guarded copy moves bytes that overlap, in either direction") {
  qio::platform::install_copy_guard();
  for (const std::size_t distance : {std::size_t(1), std::size_t(100), page / 2}) {
    std::vector<std::byte> memory(2 * page);
    for (std::size_t i = 0; i < page; ++i) memory[i] = std::byte(i * 7 / 3);
    auto expected = memory;
    std::memmove(expected.data() + distance, expected.data(), page);
    CHECK(qio::platform::guarded_copy(memory.data() + distance, memory.data(), page, memory));
    CHECK(memory == expected);
    std::memmove(expected.data(), expected.data() + distance, page);
    CHECK(qio::platform::guarded_copy(memory.data(), memory.data() + distance, page, memory));
    CHECK(memory == expected);
  }
}

TEST_CASE("a fault outside the guarded copy goes to other handlers") {
  qio::platform::install_copy_guard();
  const half_there half;
  foreign_page = half.memory + page;
  foreign_faults = 0;
  void* const handler = ::AddVectoredExceptionHandler(0, &commit_page);
  half.memory[page] = std::byte{1};  // outside a copy
  CHECK(foreign_faults == 1);

  // Within the copy, but in the caller's memory.
  const half_there other;
  foreign_page = other.memory + page;
  CHECK(qio::platform::guarded_copy(other.memory + page, half.memory, 1, {half.memory, page}));
  CHECK(foreign_faults == 2);
  ::RemoveVectoredExceptionHandler(handler);
}

TEST_CASE("the handler of faults leaves exceptions alone that are not its own, without looking at their address") {
  // Windows reports what was executed as the address of the exception; nothing can be read there.
  EXCEPTION_RECORD record{};
  record.ExceptionCode = EXCEPTION_ACCESS_VIOLATION;
  record.ExceptionAddress = nullptr;
  record.NumberParameters = 2;
  record.ExceptionInformation[0] = 8;  // execution
  EXCEPTION_POINTERS raised{&record, nullptr};
  CHECK(qio::platform::guard::on_fault(&raised) == EXCEPTION_CONTINUE_SEARCH);
  record.ExceptionCode = EXCEPTION_BREAKPOINT;
  record.ExceptionInformation[0] = 0;
  CHECK(qio::platform::guard::on_fault(&raised) == EXCEPTION_CONTINUE_SEARCH);
}
