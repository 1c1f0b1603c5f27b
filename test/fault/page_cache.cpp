// Which transfers run inline on file systems that cannot tell what is in the page cache, and what that may cost.
#include "catch.hpp"
#include "disk.hpp"
#include "engines.hpp"
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using fault::on_every_engine;
using qio::inline_transfers;

constexpr std::size_t block = 4096;

/// A file of that many blocks, each filled with its number modulo 256.
void make_file(const std::string& path, std::size_t blocks) {
  std::ofstream file(path, std::ios::binary);
  for (std::size_t i = 0; i < blocks; ++i) file << std::string(block, static_cast<char>(i));
}

template <class File>
qio::task<std::size_t> right_reads(File& from, std::size_t first, std::size_t count) {
  std::vector<std::byte> buffer(block);
  std::size_t right = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    const auto bytes = co_await from.async_read_at(i * block, buffer);
    right += bytes && bytes.value() == block && buffer.front() == std::byte(i) && buffer.back() == std::byte(i);
  }
  co_return right;
}

/// To whole blocks and parts of them, within a page and across two.
template <class File>
qio::task<std::size_t> complete_writes(File& to, std::size_t count) {
  const std::vector<std::byte> buffer(block, std::byte{7});
  std::size_t complete = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t offset = i * block + i % 3 * 100;
    const auto bytes = co_await to.async_write_at(offset, std::span(buffer).first(block - i % 5 * 1000));
    complete += bytes && bytes.value() == block - i % 5 * 1000;
  }
  co_return complete;
}

template <class Context>
auto opened(Context& on, const std::string& path, const qio::open_options& options = {}) {
  return qio::cached_file::open(on, path, qio::access::read_write, qio::creation::open_existing, options).value();
}

/// Whether most of what `run` did ran inline. Preemption may use up the
/// time of a turn. A transfer may wait at any time; then there is nothing to be seen, and it is tried again.
template <class File, class Run>
bool runs_inline(const File& file, std::uint64_t transfers, Run&& run) {
  for (int tries = 0; tries < 20; ++tries) {
    const qio::file_statistics before = file.statistics();
    run();
    const qio::file_statistics after = file.statistics();
    if (after.served_inline - before.served_inline > transfers / 2) return true;
    if (after.blocked_submissions == before.blocked_submissions && tries != 0) return false;
    std::this_thread::sleep_for(100ms);  // until the pause ends
  }
  return false;
}

/// Signals the daemon of a FUSE file system.
void signal_daemon(const fault::mounted& of, const std::string& signal) {
  fault::output_of("pkill -" + signal + " -f '^bindfs .*" + of.path + "'");
}

}  // namespace

TEST_CASE("reads and writes run inline on tmpfs and overlay, unless that is switched off") {
  const fault::scratch below;
  for (const std::string kind : {"tmpfs", "overlay"}) {
    const fault::mounted mounted(kind, 16 << 20, below.path);
    if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
    INFO(kind);
    on_every_engine([&](auto& context) {
      const std::string path = mounted.path + "/file";
      make_file(path, 64);
      auto file = opened(context, path);
      CHECK(runs_inline(file, 64, [&] { CHECK(context.run(right_reads(file, 0, 64)) == 64); }));
      CHECK(file.explain().find("inline reads")->value == "on");
      CHECK(runs_inline(file, 60, [&] { CHECK(context.run(complete_writes(file, 60)) == 60); }));
      CHECK(file.explain().find("inline writes")->value == "on");

      make_file(path, 64);
      auto plain =
          opened(context, path, {.inline_reads = inline_transfers::never, .inline_writes = inline_transfers::never});
      CHECK(context.run(right_reads(plain, 0, 64)) == 64);
      CHECK(context.run(complete_writes(plain, 60)) == 60);
      CHECK(plain.statistics().served_inline == 0);
      CHECK(plain.statistics().blocked_submissions == 0);
      CHECK(plain.explain().find("inline reads")->reason == "switched off");
    });
  }
}

TEST_CASE("a plain read at the end of a file returns what is there, and a long one goes to the engine") {
  const fault::mounted mounted("tmpfs", 16 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  on_every_engine([&](auto& context) {
    const std::string path = mounted.path + "/file";
    make_file(path, 512);
    auto file = opened(context, path);
    std::vector<std::byte> buffer((1 << 20) + 1);
    const auto read = [&](std::uint64_t offset, std::size_t bytes) -> qio::task<qio::result<std::size_t>> {
      co_return co_await file.async_read_at(offset, std::span(buffer).first(bytes));
    };
    CHECK(runs_inline(file, 3, [&] {
      CHECK(context.run(read(511 * block + 96, block)).value() == 4000);
      CHECK(context.run(read(512 * block, block)).value() == 0);
      CHECK(context.run(read(0, 1 << 20)).value() == 1 << 20);
    }));
    const std::uint64_t before = file.statistics().served_inline;
    CHECK(context.run(read(0, (1 << 20) + 1)).value() == (1 << 20) + 1);
    CHECK(file.statistics().served_inline == before);
  });
}

TEST_CASE("a sync on tmpfs does not need the engine") {
  const fault::mounted mounted("tmpfs", 1 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  on_every_engine([&](auto& context) {
    make_file(mounted.path + "/file", 1);
    auto file = opened(context, mounted.path + "/file", {.inline_writes = inline_transfers::never});
    CHECK(context.run(complete_writes(file, 4)) == 4);
    const auto sync = [&]() -> qio::task<bool> { co_return bool(co_await file.async_sync()); };
    CHECK(context.run(sync()));
    CHECK(file.statistics().served_inline == 1);
  });
}

TEST_CASE("on FUSE, transfers run inline only if asked for") {
  const fault::scratch below;
  const fault::mounted mounted("fuse", 0, below.path);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  on_every_engine([&](auto& context) {
    const std::string path = mounted.path + "/file";
    make_file(path, 64);
    auto file = opened(context, path);
    CHECK(context.run(right_reads(file, 0, 64)) == 64);
    CHECK(context.run(complete_writes(file, 60)) == 60);
    CHECK(file.statistics().served_inline == 0);
    for (const char* const transfers : {"inline reads", "inline writes"})
      CHECK(file.explain().find(transfers)->reason ==
            "it is not known that transfers of this file system end in memory");

    make_file(path, 64);
    auto asked =
        opened(context, path, {.inline_reads = inline_transfers::always, .inline_writes = inline_transfers::always});
    CHECK(context.run(right_reads(asked, 0, 64)) == 64);
    CHECK(asked.statistics().served_inline != 0);
    const std::uint64_t before = asked.statistics().served_inline;
    // A transfer that waited for the daemon keeps later ones from the attempt, for sixteen times as long.
    for (int i = 0; i < 400 && asked.statistics().served_inline == before; ++i) {
      std::this_thread::sleep_for(50ms);
      CHECK(context.run(complete_writes(asked, 60)) == 60);
    }
    CHECK(asked.statistics().served_inline > before);
  });
}

TEST_CASE("a context goes on while the daemon of a FUSE file system is stopped") {
  const fault::scratch below;
  const fault::mounted mounted("fuse", 0, below.path);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  make_file(below.path + "/file", 64);
  on_every_engine([&](auto& context) {
    auto file = opened(context, mounted.path + "/file");
    std::vector<std::string> events;
    const auto read = [&]() -> qio::task<void> {
      std::vector<std::byte> buffer(block);
      const auto bytes = co_await file.async_read_at(32 * block, buffer);
      events.push_back(bytes && bytes.value() == block ? "read" : "failed");
    };
    const auto go_on = [&]() -> qio::task<void> {
      static_cast<void>(co_await context.sleep_for(10ms));
      events.push_back("went on");
      signal_daemon(mounted, "CONT");
    };
    fault::output_of("echo 3 >/proc/sys/vm/drop_caches");
    signal_daemon(mounted, "STOP");
    // If the context stands still, nobody else continues the daemon.
    std::atomic<bool> is_over = false, stood_still = false;
    std::thread watches([&] {
      for (int i = 0; i < 2000 && !is_over; ++i) std::this_thread::sleep_for(10ms);
      stood_still = !is_over;
      if (stood_still) signal_daemon(mounted, "CONT");
    });
    context.run(qio::when_all(read(), go_on()));
    is_over = true;
    watches.join();
    CHECK(!stood_still);
    CHECK(events == std::vector<std::string>{"went on", "read"});
  });
}

TEST_CASE("after a read that waited for the disk below an overlay, the engine gets the reads of the file") {
  const fault::scratch below;
  const fault::mounted slow("fuse", 0, below.path);
  if (!slow.missing.empty()) QIO_SKIP(slow.missing);
  make_file(below.path + "/file", 4096);
  const fault::mounted mounted("overlay", 0, slow.path);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  on_every_engine([&](auto& context) {
    auto file = qio::cached_file::open(context, mounted.path + "/file").value();
    // The wait is not counted if the thread was also preempted, so it is tried again.
    bool is_counted = false;
    for (int tries = 0; tries < 20 && !is_counted; ++tries) {
      fault::output_of("echo 3 >/proc/sys/vm/drop_caches");
      CHECK(context.run(right_reads(file, 0, 4)) == 4);
      std::this_thread::sleep_for(100ms);  // until the pause after these ends
      const qio::file_statistics before = file.statistics();
      signal_daemon(slow, "STOP");
      std::thread continues([&] {
        std::this_thread::sleep_for(200ms);
        signal_daemon(slow, "CONT");
      });
      CHECK(context.run(right_reads(file, 2048, 1)) == 1);
      continues.join();
      const std::uint64_t at_once = file.statistics().served_inline;
      is_counted = file.statistics().blocked_submissions == before.blocked_submissions + 1;
      if (!is_counted) continue;
      CHECK(at_once == before.served_inline + 1);
      CHECK(context.run(right_reads(file, 0, 4)) == 4);  // in the page cache; the pause is 3.2 s long
      CHECK(file.statistics().served_inline == at_once);
    }
    CHECK(is_counted);
  });
}

TEST_CASE("opening a log drops what the page cache has of it, and so reads it from the device") {
  const fault::mounted mounted("ext4", 64 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  on_every_engine([&](auto& context) {
    // A page behind the first that are read: when the first record is visited, nothing has read it.
    auto page_behind = qio::platform::page_state::unknown;
    const auto open = [&](qio::creation how) {
      auto file = qio::cached_file::open(context, mounted.path + "/log", qio::access::read_write, how,
                                         {.pattern = qio::access_pattern::random});
      const auto visit = [&page_behind, handle = file.value().native_handle()](const qio::log_record&) {
        page_behind = qio::platform::state_of_page(handle, 3 << 20);
        return true;
      };
      return context.run(qio::open_log(std::move(file).value(), visit, {.extent = 4 << 20, .largest_batch = 4096}))
          .value();
    };
    {
      auto made = open(qio::creation::always_new);
      const auto append = [&]() -> qio::task<bool> {
        const auto number = co_await made.append({});
        co_return number.has_value();
      };
      REQUIRE(context.run(append()));
      // Something else may empty the page cache meanwhile, as other tests do: then it is filled again.
      const auto has_page = [handle = made.file().native_handle()] {
        return qio::platform::state_of_page(handle, 3 << 20) == qio::platform::page_state::at_hand;
      };
      for (int tries = 0; tries < 20 && !has_page(); ++tries) {
        std::vector<std::byte> page(block);
        REQUIRE(made.file().read_at(3 << 20, page).value() == block);
      }
      CHECK(has_page());
    }
    CHECK(open(qio::creation::open_existing).recovered().records == 1);
    CHECK(page_behind == qio::platform::page_state::elsewhere);
  });
}
