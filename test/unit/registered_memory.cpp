// Registered memory over io_uring: when the kernel uses the registered pages, and when it does not.
#include "catch.hpp"
#include "sizes.hpp"
#include <qio/qio.hpp>

#if QIO_HAS_URING
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace {

constexpr std::size_t registered_bytes = 64 * block_size;

/// A file of two blocks of 7.
struct file_of_sevens {
  file_of_sevens() { std::ofstream(path, std::ios::binary) << std::string(2 * block_size, '\7'); }
  file_of_sevens(const file_of_sevens&) = delete;
  file_of_sevens& operator=(const file_of_sevens&) = delete;
  ~file_of_sevens() { std::filesystem::remove(path); }

  const std::string path =
      "registered-" + std::to_string(::getpid()) + ".data";  // cases run concurrently, in processes
};

/// Such a file, a context with registered memory, and new pages mapped over the middle of that memory. A transfer that
/// uses the pages which the kernel holds is not visible there.
template <class Mode>
class replaced_memory {
 public:
  replaced_memory() {
    REQUIRE(::mmap(replaced.data(), replaced.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                   -1, 0) == replaced.data());
    std::ranges::fill(replaced, std::byte{2});
  }
  replaced_memory(const replaced_memory&) = delete;
  replaced_memory& operator=(const replaced_memory&) = delete;

  /// Whether a read into it is visible there.
  template <class Buffer>
  bool shows_read_into(const Buffer& buffer) {
    auto file = qio::basic_file<Mode>::open(context, file_.path, qio::access::read).value();
    std::ranges::fill(replaced, std::byte{2});
    REQUIRE(context.run(file.async_read_at(0, buffer)).has_value());
    was_served_inline = file.statistics().served_inline != 0;
    return replaced.front() == std::byte{7};
  }

  qio::context context =
      qio::context::create({.engine = qio::engine_kind::ring, .registered_bytes = registered_bytes}).value();
  std::span<std::byte> replaced = context.registered_memory().subspan(16 * block_size, 16 * block_size);
  bool was_served_inline = false;  // the last read

 private:
  file_of_sevens file_;
};

bool has_a_ring() { return qio::context::create({.engine = qio::engine_kind::ring}).has_value(); }

bool can_be_direct() {
  const std::string path = "registered-probe-" + std::to_string(::getpid());
  const bool can = qio::direct_file::open(path, qio::access::read_write, qio::creation::if_needed).has_value();
  std::filesystem::remove(path);
  return can;
}

}  // namespace

TEST_CASE("a direct transfer in registered memory uses the pages that the kernel holds") {
  if (!has_a_ring()) QIO_SKIP("io_uring is unavailable here");
  if (!can_be_direct()) QIO_SKIP("no direct files here");
  replaced_memory<qio::direct> memory;
  const qio::fact told = *memory.context.explain().find("registered memory");
  if (told.value == "off") QIO_SKIP(told.reason);
  CHECK(told.value == std::to_string(registered_bytes) + " bytes");
  CHECK_FALSE(memory.shows_read_into(memory.replaced.first(block_size)));
  CHECK(memory.shows_read_into(std::array{qio::mutable_buffer(memory.replaced.first(block_size))}));
}

TEST_CASE("a child process does not inherit registered memory, and the ring still uses its parent's") {
  if (!has_a_ring()) QIO_SKIP("io_uring is unavailable here");
  if (!can_be_direct()) QIO_SKIP("no direct files here");
  const file_of_sevens sevens;
  auto context = qio::context::create({.engine = qio::engine_kind::ring, .registered_bytes = registered_bytes}).value();
  if (const qio::fact told = *context.explain().find("registered memory"); told.value == "off") QIO_SKIP(told.reason);
  const std::span<std::byte> memory = context.registered_memory();
  std::ranges::fill(memory, std::byte{1});
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::msync(memory.data(), memory.size(), MS_ASYNC) == -1 && errno == ENOMEM ? 0 : 1);
  std::ranges::fill(memory, std::byte{2});
  auto file = qio::direct_file::open(context, sevens.path, qio::access::read).value();
  REQUIRE(context.run(file.async_read_at(0, memory.first(block_size))).value() == block_size);
  CHECK(memory[block_size - 1] == std::byte{7});
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("registered memory consists of whole pages") {
  if (!has_a_ring()) QIO_SKIP("io_uring is unavailable here");
  auto context = qio::context::create({.engine = qio::engine_kind::ring, .registered_bytes = 1}).value();
  const std::span<std::byte> memory = context.registered_memory();
  CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % qio::platform::page_size() == 0);
  CHECK(memory.size() == qio::platform::page_size());
}

TEST_CASE("memory that a child process would inherit is not registered") {
  std::array<std::byte, 64> part_of_a_page;
  qio::detail::registered_memory memory;
  CHECK(memory.set(std::span(part_of_a_page).subspan(1)) == -EINVAL);
  CHECK_FALSE(memory.exists());
}

TEST_CASE("an inline transfer in registered memory uses the pages that are mapped at the time") {
  if (!has_a_ring()) QIO_SKIP("io_uring is unavailable here");
  replaced_memory<qio::cached> memory;
  const bool shows = memory.shows_read_into(memory.replaced.first(block_size));
  if (!memory.was_served_inline) QIO_SKIP("reads are not attempted on this file system");
  CHECK(shows);
}
#endif

TEST_CASE("an engine that cannot register memory still provides it, and explain() says so") {
  auto context = qio::context::create({.engine = qio::engine_kind::workers, .registered_bytes = 1}).value();
  CHECK(context.registered_memory().size() == qio::platform::page_size());
  const qio::fact told = *context.explain().find("registered memory");
  CHECK(told.value == "off");
  CHECK(told.reason == "only a context over io_uring registers memory");
}

TEST_CASE("create() fails with not_enough_memory if the registered memory cannot be allocated") {
  const auto refused = qio::context::create({.registered_bytes = ~std::size_t(0)});
  REQUIRE(!refused);
  CHECK(refused.error() == std::errc::not_enough_memory);
}
