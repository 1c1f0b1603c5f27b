// What GCC calls for each access to memory in code compiled with -fsanitize=thread, in place of that option's library.
// Atomic operations are carried out here, and another thread may continue before each.
#include "runtime.hpp"

#include <atomic>
#include <cstdint>

using namespace schedules;

namespace {

template <class Value>
bool exchange_if(volatile Value* at, Value* expected, Value desired, bool may_fail) noexcept {
  point("compare and exchange");
  if (may_fail && is_scheduled() && has_disturbances() && choose(8) == 0) {
    *expected = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    return false;
  }
  return __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

}  // namespace

#define MODIFYING(bits, type, name, builtin)                              \
  type __tsan_atomic##bits##_##name(volatile type* at, type value, int) { \
    point(#name);                                                         \
    return __atomic_##builtin(at, value, __ATOMIC_SEQ_CST);               \
  }
#define ATOMIC(bits, type)                                                                                       \
  type __tsan_atomic##bits##_load(const volatile type* at, int) {                                                \
    point("load");                                                                                               \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                \
  }                                                                                                              \
  void __tsan_atomic##bits##_store(volatile type* at, type value, int) {                                         \
    point("store");                                                                                              \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                               \
  }                                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* expected, type desired, int, int) { \
    return exchange_if(at, expected, desired, false);                                                            \
  }                                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* at, type* expected, type desired, int, int) {   \
    return exchange_if(at, expected, desired, true);                                                             \
  }                                                                                                              \
  MODIFYING(bits, type, exchange, exchange_n)                                                                    \
  MODIFYING(bits, type, fetch_add, fetch_add)                                                                    \
  MODIFYING(bits, type, fetch_sub, fetch_sub)                                                                    \
  MODIFYING(bits, type, fetch_and, fetch_and)                                                                    \
  MODIFYING(bits, type, fetch_or, fetch_or)                                                                      \
  MODIFYING(bits, type, fetch_xor, fetch_xor)                                                                    \
  MODIFYING(bits, type, fetch_nand, fetch_nand)

// Plain accesses are no places to continue elsewhere: between two that are ordered by atomic operations, no other
// thread would see a difference, and the thread sanitizer finds those that are not.
#define PLAIN(size)                           \
  void __tsan_read##size(void*) {}            \
  void __tsan_write##size(void*) {}           \
  void __tsan_unaligned_read##size(void*) {}  \
  void __tsan_unaligned_write##size(void*) {} \
  void __tsan_volatile_read##size(void*) {}   \
  void __tsan_volatile_write##size(void*) {}

extern "C" {
ATOMIC(8, std::uint8_t)
ATOMIC(16, std::uint16_t)
ATOMIC(32, std::uint32_t)
ATOMIC(64, std::uint64_t)
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read_range(void*, std::size_t) {}
void __tsan_write_range(void*, std::size_t) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_atomic_thread_fence(int) { point("fence"); }
void __tsan_atomic_signal_fence(int) {}
}
