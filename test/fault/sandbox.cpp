// io_uring forbidden, and limits on the process: the context falls back or continues, and reports why.
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "forbid.hpp"
#include <qio/qio.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

namespace {

/// 0 if a default context can read and write here; otherwise a number for the step that failed.
int read_and_write(const std::string& path) {
  auto context = qio::context::create();
  if (!context) return 10;
  auto file = qio::cached_file::open(context.value(), path, qio::access::read_write, qio::creation::if_needed,
                                     {.inline_writes = qio::inline_transfers::never});
  if (!file) return 11;
  const auto copy = [](auto& on) -> qio::task<int> {
    std::vector<std::byte> block(4096, std::byte{7});
    const auto written = co_await on.async_write_at(0, block);
    if (!written) co_return 12;
    block.assign(4096, std::byte{0});
    const auto read = co_await on.async_read_at(0, block);
    co_return read&& read.value() == 4096 && block[4095] == std::byte{7} ? 0 : 13;
  };
  return context.value().run(copy(file.value()));
}

struct variant {
  const char* name;
  bool (*forbid)();
};

}  // namespace

#if QIO_HAS_URING && !defined(__SANITIZE_THREAD__)
TEST_CASE("if io_uring is forbidden, the context has Linux AIO and workers, and explain() says why") {
  const fault::scratch directory;
  const bool has_aio = qio::context::create({.engine = qio::engine_kind::aio}).has_value();
  for (const variant each : {variant{"EPERM", [] { return fault::forbid_io_uring(EPERM, false); }},
                             variant{"ENOSYS", [] { return fault::forbid_io_uring(ENOSYS, false); }},
                             variant{"entering forbidden", [] { return fault::forbid_io_uring(EPERM, true); }},
                             variant{"Docker's default profile", &fault::forbid_as_docker}}) {
    CAPTURE(each.name);
    const int answer = qio_test::in_child([&] {
      if (!each.forbid()) return 1;
      if (qio::context::create({.engine = qio::engine_kind::ring})) return 2;
      const auto facts = qio::context::create().value().explain();
      if (facts.find("engine") == nullptr || facts.find("engine")->value != (has_aio ? "aio" : "pool")) return 3;
      const qio::fact* const fallback = facts.find("fallback");
      if (fallback == nullptr || fallback->value != "from io_uring") return 4;
      if (fallback->reason.find("seccomp") == std::string::npos) return 5;
      return read_and_write(directory.path + "/file");
    });
    CHECK(answer == 0);
  }
}

TEST_CASE("a context that must have a ring fails with the system's error if io_uring is unavailable") {
  const int answer = qio_test::in_child([&] {
    if (!fault::forbid_io_uring(ENOSYS, false)) return 1;
    const auto refused = qio::context::create({.engine = qio::engine_kind::ring});
    return refused || refused.error() != std::errc::function_not_supported ? 2 : 0;
  });
  CHECK(answer == 0);
}
#endif

TEST_CASE("without preadv2, reads go to the engine") {
  const fault::scratch directory;
  for (const int code : {ENOSYS, EPERM, EOPNOTSUPP}) {
    CAPTURE(code);
    CHECK(qio_test::in_child([&] {
            if (!fault::forbid(__NR_preadv2, code)) return 1;
            return read_and_write(directory.path + "/file");
          }) == 0);
  }
}

#if QIO_HAS_URING
TEST_CASE(
    "if the kernel can start no thread for a ring, the context's workers carry out what waits, and it is counted") {
  if (!qio::context::create({.engine = qio::engine_kind::ring})) QIO_SKIP("io_uring is unavailable here");
  const fault::scratch directory;
  const int answer = qio_test::in_child([&] {
    auto context = qio::context::create({.engine = qio::engine_kind::ring}).value();
    auto file = qio::cached_file::open(context, directory.path + "/file", qio::access::read_write,
                                       qio::creation::if_needed, {.inline_writes = qio::inline_transfers::never})
                    .value();
    const rlimit none{0, 0};
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) return 1;  // root may start any number
    if (::setrlimit(RLIMIT_NPROC, &none) != 0) return 2;
    // 32 at the same time, so that some have a place in the ring, and others wait for one.
    std::vector<std::byte> block(4096, std::byte{7});
    const auto write = [&](std::uint64_t offset) -> qio::task<bool> {
      const auto written = co_await file.async_write_at(offset, block, {.durable = true});
      const auto synced = co_await file.async_sync();
      co_return written&& written.value() == 4096 && synced;
    };
    std::vector<qio::task<bool>> writes;
    for (unsigned i = 0; i < 32; ++i) writes.push_back(write(i * 4096));
    for (const bool right : context.run(qio::when_all(std::move(writes))))
      if (!right) return 3;
    if (file.statistics().served_by_worker + file.statistics().served_by_ring != 64) return 4;
    const auto facts = context.explain();
    const qio::fact* const workers = facts.find("kernel workers");
    if (file.statistics().served_by_worker == 0) return workers == nullptr ? 77 : 5;
    if (workers == nullptr || workers->reason.find("RLIMIT_NPROC") == std::string::npos) return 6;
    // Nothing can be canceled there that has begun; what is canceled ends, and nothing else.
    auto canceled = file.async_sync();
    auto kept = file.async_sync();
    int ended = 0;
    canceled.start([&ended](qio::result<void>) { ++ended; });
    bool is_kept = false;
    kept.start([&](qio::result<void> done) { is_kept = done.has_value(), ++ended; });
    context.poll();
    canceled.cancel();
    while (ended != 2) context.run_one();
    return is_kept ? 0 : 7;
  });
  if (answer == 77) QIO_SKIP("this kernel starts threads for rings beyond RLIMIT_NPROC");
  CHECK(answer == 0);
}
#endif

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("with little lockable memory and few threads, a context still works") {
  const fault::scratch directory;
  const int answer = qio_test::in_child([&] {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) return 1;
    return read_and_write(directory.path + "/file");
  });
  CHECK(answer == 0);
}

#if QIO_HAS_URING
TEST_CASE("if too little memory may be locked, explain() names the limit, and registered_memory() is still available") {
  if (!qio::context::create({.engine = qio::engine_kind::ring})) QIO_SKIP("io_uring is unavailable here");
  const int answer = qio_test::in_child([] {
    constexpr rlim_t limit = 1 << 20;  // enough for a ring, which some kernels count, too
    const rlimit small{limit, limit};
    if (::setrlimit(RLIMIT_MEMLOCK, &small) != 0) return 1;
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) return 2;  // root may lock any amount
    auto context = qio::context::create({.engine = qio::engine_kind::ring, .registered_bytes = 4 * limit});
    if (!context) return 3;
    if (context.value().registered_memory().size() != 4 * limit) return 4;
    const auto facts = context.value().explain();
    const qio::fact& told = *facts.find("registered memory");
    return told.value == "off" && told.reason.find("RLIMIT_MEMLOCK") != std::string::npos ? 0 : 5;
  });
  CHECK(answer == 0);
}
#endif

TEST_CASE("a mapped file is mapped as it is where address space is limited to less than it would reserve") {
  const fault::scratch directory;
  const int answer = qio_test::in_child([&] {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t room = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t(64) << 20);
    const rlimit limit{room, room};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    auto file = qio::mapped_file::open(directory.path + "/file", qio::access::read_write, qio::creation::if_needed);
    if (!file || !file.value().resize(4096)) return 2;
    const auto view = file.value().writable_view(0, 4096);
    if (!view) return 3;
    view.value()[0] = std::byte{7};
    std::array<std::byte, 1> byte{};
    return file.value().read_at(0, byte) && byte[0] == std::byte{7} ? 0 : 4;
  });
  CHECK(answer == 0);
}

TEST_CASE("workers carry out operations on the context's thread if no other can be started") {
  const fault::scratch directory;
  const int answer = qio_test::in_child([&] {
    if (!fault::forbid(__NR_clone3, EAGAIN) || !fault::forbid(__NR_clone, EAGAIN)) return 1;
    auto context = qio::context::create({.engine = qio::engine_kind::workers});
    if (!context) return 2;
    auto file = qio::cached_file::open(context.value(), directory.path + "/file", qio::access::read_write,
                                       qio::creation::if_needed, {.inline_writes = qio::inline_transfers::never});
    if (!file) return 3;
    const auto write = [](auto& on) -> qio::task<bool> {
      std::vector<std::byte> block(4096, std::byte{7});
      const auto written = co_await on.async_write_at(0, block);
      co_return written.has_value();
    };
    return context.value().run(write(file.value())) ? 0 : 4;
  });
  CHECK(answer == 0);
}
#endif

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a file is mapped where address space is too scarce for room to grow") {
  const fault::scratch directory;
  const std::string path = directory.path + "/file";
  const std::vector<std::byte> block(8192, std::byte{7});
  REQUIRE(qio::cached_file::open(path, qio::access::read_write, qio::creation::always_new).value().write_at(0, block));
  const int answer = qio_test::in_child([&] {
    unsigned long pages = 0;
    std::FILE* const used = std::fopen("/proc/self/statm", "re");
    if (used == nullptr || std::fscanf(used, "%lu", &pages) != 1) return 1;
    std::fclose(used);
    const rlim_t limit = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t(256) << 20);  // of 1 GiB
    const rlimit space{limit, limit};
    if (::setrlimit(RLIMIT_AS, &space) != 0) return 2;
    auto file = qio::mapped_file::open(path, qio::access::read_write);
    if (!file) return 3;
    std::vector<std::byte> found(8192);
    if (!file.value().read_at(0, found) || found != block) return 4;
    return file.value().write_at(8192, block) && file.value().size().value() == 16384 ? 0 : 5;
  });
  CHECK(answer == 0);
}
#endif

TEST_CASE("a write past RLIMIT_FSIZE fails, and reports the bytes written") {
  const fault::scratch directory;
  const std::string path = directory.path + "/file";
  const int answer = qio_test::in_child([&] {
    constexpr std::size_t limit = 3 * 4096;
    const rlimit size{limit, limit};
    if (std::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || ::setrlimit(RLIMIT_FSIZE, &size) != 0) return 1;
    auto context = qio::context::create().value();
    auto file = qio::cached_file::open(context, path, qio::access::read_write, qio::creation::if_needed).value();
    auto mapped = qio::mapped_file::open(path, qio::access::read_write).value();
    const std::vector<std::byte> block(5 * 4096, std::byte{7});
    const auto is_right = [](const qio::result<std::size_t>& told, std::size_t transferred) {
      return !told && told.error() == std::errc::file_too_large && told.error().transferred() == transferred;
    };
    if (!is_right(file.write_at(4096, block), limit - 4096)) return 2;
    // This process ignores SIGXFSZ, which would end others: a worker thread gets it instead of the context's thread.
    if (file.explain().find("inline writes")->value != "off") return 7;
    const auto write = [](auto& on, auto& data) -> qio::task<qio::result<std::size_t>> {
      co_return co_await on.async_write_at(4096, data);
    };
    if (!is_right(context.run(write(file, block)), limit - 4096)) return 3;
    if (!is_right(mapped.write_at(4096, block), limit - 4096)) return 4;
    if (file.resize(limit + 1)) return 5;
    return file.size().value() == limit ? 0 : 6;
  });
  CHECK(answer == 0);
}

TEST_CASE(
    "a direct write past an RLIMIT_FSIZE that ends in a block fails as past others, and reports the bytes written") {
  const fault::scratch directory;
  const std::string path = directory.path + "/file";
  const int answer = qio_test::in_child([&] {
    constexpr std::size_t limit = 3 * 4096 + 100;
    const rlimit size{limit, limit};
    if (std::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || ::setrlimit(RLIMIT_FSIZE, &size) != 0) return 1;
    const auto opened = [&](auto&... on) {
      return qio::direct_file::open(on..., path, qio::access::read_write, qio::creation::emptied);
    };
    const auto memory = qio::aligned_buffer::allocate(4 * 4096).value();
    // btrfs writes the rest through its cache, up to the limit; others write nothing.
    const auto is_right = [&](const auto& file, const qio::result<std::size_t>& told) {
      if (told || told.error() != std::errc::file_too_large) return false;
      const std::uint64_t done = told.error().transferred();
      return file.size().value() == (done == 0 ? 0 : 4096 + done);
    };
    auto blocking = opened();
    if (!blocking) return 77;
    if (!is_right(blocking.value(), blocking.value().write_at(4096, memory))) return 2;
    for (const qio::engine_kind each : {qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers}) {
      auto context = qio::context::create({.engine = each});
      if (!context) continue;
      auto file = opened(context.value()).value();
      if (!is_right(file, context.value().run(file.async_write_at(4096, memory)))) return 3 + static_cast<int>(each);
    }
    return 0;
  });
  if (answer == 77) QIO_SKIP("no direct files here");
  CHECK(answer == 0);
}
