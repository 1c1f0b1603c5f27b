// Transfers of more bytes than a system call moves (0x7ffff000).
#include "../world.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace contract {
namespace {

constexpr std::size_t more_than_a_call = 0x7ffff000u + 5 * 4096;

/// A long range of addresses that maps the same few pages repeatedly, so it needs no memory.
class endless_memory {
 public:
  explicit endless_memory(std::size_t bytes) : size_((bytes + shown - 1) / shown * shown) {
    const int pages = ::memfd_create("pages", MFD_CLOEXEC);
    if (pages < 0 || ::ftruncate(pages, shown) != 0) return;
    void* const range = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range != MAP_FAILED) begin_ = static_cast<std::byte*>(range);
    for (std::size_t at = 0; begin_ != nullptr && at < size_; at += shown) {
      void* const there = ::mmap(begin_ + at, shown, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, pages, 0);
      if (there == MAP_FAILED) std::abort();  // half a range would look like a failure of the library
    }
    ::close(pages);
  }
  ~endless_memory() {
    if (begin_ != nullptr) ::munmap(begin_, size_);
  }
  std::span<std::byte> first(std::size_t bytes) const { return {begin_, bytes}; }

 private:
  static constexpr std::size_t shown = std::size_t(16) << 20;
  std::size_t size_;
  std::byte* begin_ = nullptr;
};

template <class Mode>
using large_engines = std::tuple<under<qio::no_engine, Mode>, on_ring_and_workers<Mode>>;
using large_cached = large_engines<qio::cached>;
using large_direct = large_engines<qio::direct>;

}  // namespace

PROMISE(large_read, large_direct, "a read larger than one system call can move is complete") {
  const endless_memory memory(more_than_a_call);
  REQUIRE(memory.first(1).data() != nullptr);
  auto file = w.with(0);
  REQUIRE(file.resize(more_than_a_call));
  auto tail = memory::with_pattern(0, 4096);
  REQUIRE(file.write_at(more_than_a_call - 4096, tail.all()));
  CHECK(w.read(file, 0, memory.first(more_than_a_call)).value() == more_than_a_call);
  CHECK(holds_pattern(memory.first(more_than_a_call).last(4096), 0));
  CHECK(w.read(file, 3 * 4096, memory.first(more_than_a_call)).value() == more_than_a_call - 3 * 4096);
}

PROMISE(large_vector, large_direct, "a vectored read that a system call ends within a buffer is complete") {
  auto file = w.with(0);
  REQUIRE(file.resize(more_than_a_call));
  auto tail = memory::with_pattern(0, 4096);
  REQUIRE(file.write_at(more_than_a_call - 4096, tail.all()));
  const std::size_t piece = std::size_t(24) << 20;  // 0x7ffff000 is not a multiple of it
  memory target(piece);
  std::vector<qio::mutable_buffer> buffers(more_than_a_call / piece, target.all());
  memory last(more_than_a_call % piece);
  buffers.emplace_back(last.all());
  CHECK(w.read(file, 0, buffers).value() == more_than_a_call);
  CHECK(holds_pattern(last.all().last(4096), 0));
}

// On devices that take no time, because gigabytes in the page cache take many seconds.
PROMISE(large_cached_transfers, large_cached,
        "reads and writes of devices that are larger than one system call can move are complete") {
  const endless_memory memory(2 * more_than_a_call);
  auto nothing = w.open_path("/dev/null", access::write, creation::open_existing).value();
  CHECK(w.write(nothing, 0, memory.first(2 * more_than_a_call)).value() == 2 * more_than_a_call);
  auto zeros = w.open_path("/dev/zero", access::read, creation::open_existing).value();
  CHECK(w.read(zeros, 0, memory.first(more_than_a_call)).value() == more_than_a_call);
}

}  // namespace contract
