// SPDX-License-Identifier: BSL-1.0
// Memory that runs out at each allocation of what opens, adopts, shares and releases a file: what was open stays open,
// and the disk stays as it was. A separate program, because it replaces `new`.
#include "catch.hpp"
#include "directory.hpp"
#include <qio/any_file.hpp>
#include <qio/engine/simulated.hpp>
#include <qio/names.hpp>
#include <qio/qio.hpp>
#include <qio/shared_file.hpp>
#include <qio/shared_log.hpp>
#include <qio/writer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace {

std::uint64_t left = ~std::uint64_t(0);  // allocations until one fails, and every later one

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (left == 0) return nullptr;
  --left;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* const memory = allocate(bytes, alignof(std::max_align_t))) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* const memory = allocate(bytes, static_cast<std::size_t>(alignment))) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocate(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using qio::access;
using qio::creation;

/// Longer than a string holds without an allocation.
constexpr const char* long_name = "a name that is too long for a string to hold without an allocation";

bool is_open(int handle) { return ::fcntl(handle, F_GETFD) != -1; }
int highest_handle() {
  const int next = ::dup(STDIN_FILENO);
  ::close(next);
  return next;
}
std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Calls `action()`, which returns whether it succeeded, with memory for 0 allocations, then 1, and so on, until it
/// succeeds. After each call that throws, or fails for lack of memory, `check()`.
template <class Action, class Check>
void fail_each_allocation(Action action, Check check) {
  std::uint64_t failures = 0;
  for (bool succeeded = false; !succeeded; ++failures) {
    REQUIRE(failures < 1000);
    bool threw = false;
    left = failures;
    try {
      succeeded = action();
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    left = ~std::uint64_t(0);
    INFO("after " << failures << " allocations");
    if (!succeeded) check();
    CHECK((threw || succeeded));
  }
}

/// `body(on...)` for files without a context, and for those of a context over each engine: `on` is what open() and
/// adopt() take first.
template <class Body>
void on_each(Body body) {
  body();
  for (const auto engine : {qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers}) {
    auto context = qio::context::create({.engine = engine});
    if (context) body(context.value());
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a handle that adopt() has no memory for stays open, and the caller's", "", qio::cached, qio::direct,
                   qio::mapped) {
  const qio_test::directory where;
  const std::string path = where / "file";
  std::ofstream(path) << "contents";
  on_each([&](const auto&... on) {
    const int handle = ::open(path.c_str(), O_RDWR | O_CLOEXEC | (TestType::is_direct ? O_DIRECT : 0));
    if (handle < 0) QIO_SKIP("no direct I/O here");
    const int before = highest_handle();
    fail_each_allocation(
        [&] {
          auto adopted = qio::basic_file<TestType>::adopt(on..., handle);
          return adopted.has_value();
        },
        [&] {
          CHECK(is_open(handle));
          CHECK(highest_handle() == before);
        });
    CHECK(!is_open(handle));  // the file that was adopted in the end has closed it
  });
}

TEST_CASE("a finish() of a writer that has no memory has not written everything, and says so later") {
  const qio_test::directory where;
  auto context = qio::context::create().value();
  const std::vector<std::byte> bytes(10'000, std::byte{1});
  int canceled = 0;
  for (std::uint64_t allocations = 0; allocations < 5; ++allocations) {
    INFO("after " << allocations << " allocations");
    auto file = qio::cached_file::open(context, where / "file", qio::access::read_write, creation::always_new).value();
    auto to = qio::writer<qio::async_cached_file>::create(file, {.block_bytes = 4096}).value();
    const auto write = [&]() -> qio::task<bool> { co_return (co_await to.write(bytes)).has_value(); };
    REQUIRE(context.run(write()));
    const auto finish_twice = [&]() -> qio::task<qio::result<void>> {
      left = allocations;
      try {
        static_cast<void>(co_await to.finish());
      } catch (const std::bad_alloc&) {}
      left = ~std::uint64_t(0);
      co_return co_await to.finish();
    };
    const auto finished = context.run(finish_twice());
    CHECK((finished ? file.size().value() == bytes.size() : finished.error() == std::errc::operation_canceled));
    canceled += !finished;
  }
  CHECK(canceled > 0);
  CHECK(canceled < 5);
}

TEMPLATE_TEST_CASE("an open that has no memory leaves the disk as it was, and nothing open", "", qio::cached,
                   qio::direct, qio::mapped) {
  const qio_test::directory where;
  const std::string path = where / long_name;
  on_each([&](const auto&... on) {
    for (const auto how : {creation::open_existing, creation::if_needed, creation::only_if_missing,
                           creation::truncate_existing, creation::always_new, creation::emptied})
      for (const bool exists : {false, true}) {
        if (exists ? how == creation::only_if_missing
                   : how == creation::open_existing || how == creation::truncate_existing)
          continue;
        ::unlink(path.c_str());
        if (exists) std::ofstream(path) << "contents";
        const int before = highest_handle();
        fail_each_allocation(
            [&] { return qio::basic_file<TestType>::open(on..., path, access::read_write, how).has_value(); },
            [&] {
              CHECK(highest_handle() == before);
              CHECK(where.entries() == (exists ? 1 : 0));
              if (exists) CHECK(contents(path) == "contents");
            });
      }
  });
  const int before = highest_handle();
  ::unlink(path.c_str());
  if (!qio::basic_file<TestType>::open_unnamed(where.path())) QIO_SKIP("no files without a name here");
  fail_each_allocation([&] { return qio::basic_file<TestType>::open_unnamed(where.path()).has_value(); },
                       [&] { CHECK(highest_handle() == before); });
}

TEMPLATE_TEST_CASE("a file that share_with() has no memory for stays open", "", qio::cached, qio::mapped) {
  const qio_test::directory where;
  const std::string path = where / long_name;
  std::ofstream(path) << "contents";
  auto other = qio::context::create().value();
  on_each([&](const auto&... on) {
    auto file = qio::basic_file<TestType>::open(on..., path, access::read_write).value();
    const int handle = file.native_handle();
    const auto is_usable = [&] {
      std::array<std::byte, 8> bytes;
      return file.is_open() && file.read_at(0, bytes).value() == 8;
    };
    fail_each_allocation([&] { return file.share_with(other).has_value(); }, [&] { CHECK(is_usable()); });
    CHECK(is_usable());
    CHECK(file.release().value() == handle);  // nobody shares it any more
    CHECK(is_open(handle));
    ::close(handle);
  });
}

TEMPLATE_TEST_CASE("a file that shared_file::share() has no memory for stays open, and can be shared later", "",
                   qio::cached, qio::mapped) {
  const qio_test::directory where;
  const std::string path = where / "file";
  std::ofstream(path) << "contents";
  auto context = qio::context::create().value();
  auto file = qio::basic_file<TestType>::open(path, access::read_write).value();
  const int handle = file.native_handle();
  fail_each_allocation(
      [&] {
        auto shared = qio::shared_file<TestType>::share(std::move(file));
        if (!shared) return false;
        left = ~std::uint64_t(0);
        // The same of files that are opened on it.
        fail_each_allocation([&] { return shared.value().open_on(context).has_value(); },
                             [&] { CHECK(shared.value().is_open()); });
        fail_each_allocation([&] { return shared.value().open_blocking().has_value(); },
                             [&] { CHECK(shared.value().is_open()); });
        return true;
      },
      [&] {
        REQUIRE(file.is_open());
        CHECK(is_open(handle));
        std::array<std::byte, 8> bytes;
        CHECK(file.read_at(0, bytes).value() == 8);
      });
  CHECK(!is_open(handle));
}

TEST_CASE("release(), and moves into an any_file, need no memory") {
  const qio_test::directory where;
  const std::string path = where / "file";
  std::ofstream(path) << "contents";
  on_each([&](const auto&... on) {
    auto file = qio::cached_file::open(on..., path, access::read_write).value();
    const int handle = file.native_handle();
    left = 0;
    qio::any_file any(std::move(file));
    auto moved = std::move(any);
    const auto released = moved.visit([](auto& inner) { return inner.release(); });
    left = ~std::uint64_t(0);
    CHECK(released.value() == handle);
    CHECK(is_open(handle));
    ::close(handle);
  });
}

TEST_CASE("asynchronous locks need no memory") {
  const qio_test::directory where;
  const std::string path = where / "file";
  std::ofstream(path) << "contents";
  on_each([&](const auto&... on) {
    auto holder = qio::cached_file::open(path, access::read_write).value();
    auto file = qio::cached_file::open(on..., path, access::read_write).value();
    left = 0;
    bool is_right = holder.try_lock(qio::lock_kind::exclusive).value();
    if constexpr (sizeof...(on) != 0) {
      auto& context = (const_cast<qio::context&>(on), ...);
      bool locked = false;
      auto waiting = file.async_lock(qio::lock_kind::exclusive);
      waiting.start([&locked](qio::result<void> given) { locked = given.has_value(); });
      context.poll();
      is_right = is_right && holder.unlock();
      context.run();
      is_right = is_right && locked;
    }
    left = ~std::uint64_t(0);
    CHECK(is_right);
  });
}

TEST_CASE("appending to a log of threads, and trimming it, need no memory") {
  const qio_test::directory where;
  const auto accept = [](const qio::log_record&) { return true; };
  for (const auto engine : {qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers}) {
    auto opened = qio::shared_log<qio::cached>::open(where / "log", accept, {.log = {}, .context = {.engine = engine}});
    if (!opened) continue;
    auto& log = opened.value();
    const std::array<std::byte, 100> record{};
    left = 0;
    const auto appended = log.append(record);
    const auto trimmed = log.trim(appended.value());
    left = ~std::uint64_t(0);
    CHECK(trimmed.value() == appended.value());
  }
}

TEST_CASE("a temporary file or directory that has no memory leaves nothing behind") {
  const qio_test::directory where;
  const std::string within = where / long_name;
  std::filesystem::create_directory(within);
  const auto is_empty = [&] { return std::filesystem::is_empty(within); };
  on_each([&](const auto&... on) {
    fail_each_allocation([&] { return qio::temporary_file<>::create(on..., {.within = within.c_str()}).has_value(); },
                         [&] { CHECK(is_empty()); });
    CHECK(is_empty());
  });
  fail_each_allocation([&] { return qio::temporary_directory<>::create({.within = within.c_str()}).has_value(); },
                       [&] { CHECK(is_empty()); });
  CHECK(is_empty());
}
