// Which writes run inline, on the context's thread.
#include "../world.hpp"
#include "memory_directory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace contract {

namespace {

// Pages that a process has mapped do not leave the cache.
using attempting_unmapped = std::tuple<by_default<qio::cached>>;
using attempting = std::tuple<by_default<qio::cached>, by_default<qio::mapped>>;

template <class World>
bool is_off(World& w) {
  auto probe = w.with(0);
  return probe.explain().find("inline writes")->value == "off";
}

/// Whether the write that `write` makes ran inline. If not, an engine has carried it out.
template <class World, class Write>
bool is_inline(World& w, typename World::file& file, Write&& write) {
  const qio::file_statistics before = file.statistics();
  REQUIRE(w.template run<std::size_t>(write));
  CHECK(served(file.statistics()) == served(before) + 1);
  return file.statistics().served_inline == before.served_inline + 1;
}

/// The same, but also true if an earlier write waited, which may happen at any time and keeps this one from the
/// attempt.
template <class World, class Write>
bool may_be_inline(World& w, typename World::file& file, Write&& write) {
  const bool waited = file.statistics().blocked_submissions != 0;
  return is_inline(w, file, write) || waited;
}

/// How many pages of a file are in the kernel's cache.
template <class File>
std::size_t cached_pages(File& file) {
  const std::size_t bytes = file.size().value();
  std::vector<unsigned char> pages((bytes + os::page_size() - 1) / os::page_size());
  void* const map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.native_handle(), 0);
  REQUIRE(map != MAP_FAILED);
  const int failed = ::mincore(map, bytes, pages.data());
  ::munmap(map, bytes);
  REQUIRE(failed == 0);
  return static_cast<std::size_t>(std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return p & 1; }));
}

/// Whether a read that may not wait finds that byte.
template <class File>
bool is_cached(File& file, std::uint64_t offset) {
  char byte;
  const iovec part{&byte, 1};
  return ::preadv2(file.native_handle(), &part, 1, static_cast<off_t>(offset), RWF_NOWAIT) == 1;
}

/// Writes everything back, and asks the kernel to drop it. The kernel does not do that at once for a page that is being
/// read ahead, or that another CPU has not yet put on its list. Returns whether it has dropped it in the end.
template <class File>
bool drop_from_cache(File& file) {
  REQUIRE(file.sync());
  for (int tries = 0; tries < 1000; ++tries) {
    REQUIRE(::posix_fadvise(file.native_handle(), 0, 0, POSIX_FADV_DONTNEED) == 0);
    if (cached_pages(file) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

PROMISE(short_inline, attempting, "a write of 128 KiB runs inline, and one of more than 1 MiB goes to the engine") {
  if (is_off(w)) QIO_SKIP("no inline writes here");
  auto file = w.with(0);
  constexpr std::size_t short_enough = 128 * 1024, most = 1024 * 1024;
  auto source = memory::with_pattern(0, most + 1);
  CHECK(may_be_inline(w, file, [&] { return file.async_write_at(0, source.part(0, 4096)); }));
  CHECK(may_be_inline(w, file, [&] { return file.async_write_at(0, source.part(0, short_enough)); }));
  CHECK(!is_inline(w, file, [&] { return file.async_write_at(0, source.all()); }));
  const std::vector<qio::const_buffer> pair{qio::const_buffer(source.part(0, 4000)),
                                            qio::const_buffer(source.part(4000, 4192))};
  CHECK(may_be_inline(w, file, [&] { return file.async_write_at(0, pair); }));
  memory read(most + 1);
  CHECK(file.read_at(0, read.all()).value() == most + 1);
  CHECK(holds_pattern(read.all(), 0));
  CHECK(file.statistics().blocked_submissions <= 3);
}

PROMISE(switched_off, attempting, "writes go to the engine if inline_writes is never, and explain() says so") {
  auto file =
      w.open("data", access::read_write, creation::always_new, {.inline_writes = qio::inline_transfers::never}).value();
  auto source = memory::with_pattern(0, 4096);
  CHECK(!is_inline(w, file, [&] { return file.async_write_at(0, source.all()); }));
  CHECK(file.explain().find("inline writes")->value == "off");
  CHECK(file.explain().find("inline writes")->reason == "switched off");
}

PROMISE(durable_not_inline, attempting, "a durable write goes to the engine") {
  auto file = w.open("data", access::read_write, creation::always_new, {.durable_writes = true}).value();
  auto source = memory::with_pattern(0, 4096);
  CHECK(!is_inline(w, file, [&] { return file.async_write_at(0, source.all()); }));
  CHECK(file.explain().find("inline writes")->value == "off");
  CHECK(!file.explain().find("inline writes")->reason.empty());
}

PROMISE(durable_request_not_inline, attempting, "a write with .durable goes to the engine, others do not") {
  if (is_off(w)) QIO_SKIP("no inline writes here");
  auto file = w.with(8192);
  auto source = memory::with_pattern(0, 4096);
  CHECK(!is_inline(w, file, [&] { return file.async_write_at(0, source.all(), {.durable = true}); }));
  CHECK(may_be_inline(w, file, [&] { return file.async_write_at(0, source.all(), {.durable = false}); }));
}

PROMISE(partial_pages, attempting_unmapped, "a write to a part of a page that is not cached goes to the engine") {
  if (is_off(w)) QIO_SKIP("no inline writes here");
  if (os::is_in_memory(w.where.path())) QIO_SKIP("every page of a file is in memory");
  const std::size_t page = os::page_size();
  auto file = w.with(8 * page + 100);
  auto source = memory::with_pattern(0, 3 * page);
  const auto write = [&](std::uint64_t offset, std::size_t bytes) {
    REQUIRE(drop_from_cache(file));
    return is_inline(w, file, [&] { return file.async_write_at(offset, source.part(offset % page, bytes)); });
  };
  // Asking whether a page is cached makes the kernel read it, and a fast device may complete that before the answer. If
  // it always does, which the reads below show, this test cannot see anything. The reads alternate with the writes,
  // because the speed of a device, above all of an emulated one, depends on what else is running.
  bool cannot_be_seen = false;
  const auto is_given_away = [&](std::uint64_t offset, std::size_t bytes) {
    int missed = 0;
    for (int tries = 0; tries < 100; ++tries) {
      static_cast<void>(write(0, page));  // the page written last counts as cached
      if (!write(offset, bytes)) return true;
      REQUIRE(drop_from_cache(file));
      missed += !is_cached(file, offset);
    }
    cannot_be_seen = missed < 10;
    return cannot_be_seen;
  };
  const auto waited = [&] { return file.statistics().blocked_submissions != 0; };
  memory byte(1);
  REQUIRE(file.read_at(8 * page, byte.all()).value() == 1);  // the last page; the others may come with it
  if (!may_be_inline(w, file, [&] { return file.async_write_at(8 * page + 50, source.part(50, 10)); }))
    QIO_SKIP("the file system does not report what is in its cache");

  CHECK((write(0, page) || waited()));                 // whole pages need not be read
  CHECK(is_given_away(page + 50, 100));                // within a page
  CHECK(is_given_away(2 * page + 50, page - 50));      // to the end of a page
  CHECK(is_given_away(3 * page, page + 1));            // into the next page
  CHECK(is_given_away(5 * page + 1, 2 * page - 192));  // both
  CHECK((write(10 * page, 100) || waited()));          // past the end of the file there is nothing to read
  // One record after another, each in the page where the previous one ended.
  for (std::size_t i = 1; i < 100; ++i)
    CHECK(may_be_inline(w, file, [&] { return file.async_write_at(10 * page + i * 100, source.part(0, 100)); }));
  if (cannot_be_seen) QIO_SKIP("the device is so fast that a page is cached before the kernel says whether it is");
}

PROMISE(not_behind_others, attempting, "a write goes to the engine while the engine has other operations of the file") {
  if (is_off(w)) QIO_SKIP("no inline writes here");
  if (os::is_in_memory(w.where.path())) QIO_SKIP("the engine does not get a sync that has nothing to do");
  auto file = w.with(4096);
  auto source = memory::with_pattern(0, 4096);
  auto sync = file.async_sync();
  sync.start([](qio::result<void>) {});
  REQUIRE(w.write(file, 0, source.all()).value() == 4096);
  CHECK(file.statistics().served_inline == 0);
  w.context->run();
  CHECK(may_be_inline(w, file, [&] { return file.async_write_at(0, source.all()); }));
}

PROMISE(sync_in_memory, attempting, "a sync of a file on tmpfs needs no engine, whatever inline_writes is") {
  const memory_directory in_memory;
  if (in_memory.path.empty()) QIO_SKIP("no tmpfs");
  for (const auto wanted : {qio::inline_transfers::automatic, qio::inline_transfers::never}) {
    auto file = contract::world<Where>::file::open(*w.context, in_memory.path + "/file", qio::access::read_write,
                                                   qio::creation::if_needed, {.inline_writes = wanted})
                    .value();
    const qio::file_statistics before = file.statistics();
    CHECK(w.context->run(file.async_sync()));
    CHECK(file.statistics().served_inline == before.served_inline + 1);
    auto source = memory::with_pattern(0, 100);
    REQUIRE(w.context->run(file.async_write_at(0, source.all())).value() == 100);
    CHECK(w.context->run(file.async_sync()));
  }
}

PROMISE(fair_writes, each_engine, "inline writes do not starve other coroutines") {
  auto file = w.with(4096);
  bool done = false;
  std::size_t writes = 0;
  memory buffer(4096);
  const auto busy = [&]() -> qio::task<> {
    while (!done) writes += co_await file.async_write_at(0, buffer.all()) ? 1u : 0u;
  };
  const auto other = [&]() -> qio::task<> {
    for (int i = 0; i < 10; ++i) co_await w.context->schedule();
    done = true;
  };
  w.context->run(qio::when_all(busy(), busy(), other()));
  CHECK(writes > 0);
}

}  // namespace contract
