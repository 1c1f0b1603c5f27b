// System calls that a sandbox denies one by one, while others work: operations take another way, or fail with the
// system's error; none hangs.
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "forbid.hpp"
#include "os.hpp"
#include <qio/qio.hpp>
#include <qio/shared_log.hpp>

#if QIO_HAS_URING && !defined(__SANITIZE_THREAD__)
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using qio::access;
using qio::creation;

/// What fails without a call, because no other does the same.
enum : unsigned {
  syncing = 1,         ///< of contents and size, without a ring
  syncing_times = 2,   ///< also of the times: sync_kind::everything, without a ring
  writing_back = 4,    ///< start_writeback(), without a ring
  opening_direct = 8,  ///< direct files
  waking = 16,         ///< what a ring and Linux AIO need to be woken, and wake_handle()
};

struct denial {
  const char* name;
  std::vector<long> numbers;
  unsigned lost = 0;

  bool fails(unsigned what) const { return (lost & what) != 0; }
};

std::vector<denial> denials(const std::string& directory) {
  std::vector<denial> all{
      {"clone3", {__NR_clone3}},  // with EPERM, the C library starts no thread
      {"eventfd2", {__NR_eventfd2}, waking},
      {"fadvise64", {__NR_fadvise64}},
      {"fdatasync", {__NR_fdatasync}, syncing},
      {"fstatfs", {__NR_fstatfs}, opening_direct},
      {"fsync", {__NR_fsync}, syncing_times},
      {"getrusage", {__NR_getrusage}},
      {"ppoll", {__NR_ppoll}},
      {"preadv2", {__NR_preadv2}},
      {"preadv2 and pwritev2", {__NR_preadv2, __NR_pwritev2}},
      {"pwritev2", {__NR_pwritev2}},
      {"sync_file_range", {__NR_sync_file_range}, writing_back},
  };
  if (!os::is_in_overlay(directory)) all.push_back({"statx", {__NR_statx}});  // which says how it is direct
  return all;
}

/// So that what hangs ends by SIGALRM.
void expect_an_end() { ::alarm(60); }

bool is_as_expected(const qio::result<void>& told, bool fails, int code) {
  return fails ? !told && told.error() == static_cast<std::errc>(code) : told.has_value();
}

/// Reads and writes `file`, several blocks at a time. 0, or a number for the step that failed.
template <class File>
int transfer(qio::context& context, File& file) {
  constexpr std::size_t block = 4096, count = 32;
  auto memory = qio::aligned_buffer::allocate(count * block).value();
  const auto piece = [&](std::size_t i) { return std::span(memory.data() + i * block, block); };
  const auto each = [&](auto operation) -> bool {
    std::vector<qio::task<bool>> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(operation(i));
    return std::ranges::all_of(context.run(qio::when_all(std::move(all))), [](bool right) { return right; });
  };
  const auto write = [&](std::size_t i) -> qio::task<bool> {
    const auto written = co_await file.async_write_at(i * block, piece(i));
    co_return written&& written.value() == block;
  };
  const auto read = [&](std::size_t i) -> qio::task<bool> {
    const auto got = co_await file.async_read_at(i * block, piece(i));
    co_return got&& got.value() == block&& piece(i)[block - 1] == static_cast<std::byte>(i + 1);
  };
  for (int repeated = 0; repeated < 2; ++repeated) {  // the second time, within the file
    for (std::size_t i = 0; i < count; ++i) std::ranges::fill(piece(i), static_cast<std::byte>(i + 1));
    if (!each(write)) return 21;
    std::ranges::fill(std::span(memory.data(), count * block), std::byte{0});
    if (!each(read)) return 22;
  }
  const auto past = context.run(file.async_read_at(count * block, piece(0)));
  return past && past.value() == 0 ? 0 : 23;
}

/// 0 if files of the context do what `denied` leaves, and report the rest; else a number for the step that failed.
int use_files(qio::context& context, const std::string& directory, const denial& denied, int code, bool has_ring) {
  for (const auto inline_transfers : {qio::inline_transfers::automatic, qio::inline_transfers::never}) {
    const qio::open_options options{.inline_reads = inline_transfers, .inline_writes = inline_transfers};
    const auto open = [&](const char* name) {
      return context.run(
          qio::cached_file::async_open(context, directory + name, access::read_write, creation::if_needed, options));
    };
    auto cached = open("/cached");
    if (!cached) return 10;
    if (const int failed = transfer(context, cached.value()); failed != 0) return failed;
    const auto written_back = context.run(cached.value().async_start_writeback(0, 4096));
    if (!is_as_expected(written_back, !has_ring && denied.fails(writing_back), code)) return 11;
    const std::vector<std::byte> line(512, std::byte{1});
    const auto durable = context.run(cached.value().async_write_at(0, line, {.durable = true}));
    if (!durable || durable.value() != line.size()) return 20;
    if (!is_as_expected(context.run(cached.value().async_sync(qio::sync_kind::data_and_size)),
                        !has_ring && denied.fails(syncing), code))
      return 12;
    if (!context.run(cached.value().async_close())) return 13;
    auto other = open("/other");
    if (!other) return 14;
    const auto synced = context.run(other.value().async_sync(qio::sync_kind::everything));
    if (!is_as_expected(synced, !has_ring && denied.fails(syncing_times), code)) return 15;
    auto direct = qio::direct_file::open(context, directory + "/direct", access::read_write, creation::if_needed);
    if (denied.fails(opening_direct)) {
      if (direct || direct.error() != static_cast<std::errc>(code)) return 16;
      continue;
    }
    if (!direct) return 17;
    if (const int failed = transfer(context, direct.value()); failed != 0) return 100 + failed;
    if (!direct.value().resize(0)) return 18;
    if (context.run(qio::cached_file::async_open(context, directory + "/missing", access::read))) return 19;
  }
  return 0;
}

/// The same for blocking operations: no ring helps.
int use_blocking(const std::string& directory, const denial& denied, int code) {
  auto file = qio::cached_file::open(directory + "/blocking", access::read_write, creation::if_needed);
  if (!file) return 30;
  std::vector<std::byte> block(4096, std::byte{7});
  if (!file.value().write_at(0, block)) return 31;
  if (!is_as_expected(file.value().start_writeback(0, 4096), denied.fails(writing_back), code)) return 32;
  if (!is_as_expected(file.value().sync(qio::sync_kind::data_and_size), denied.fails(syncing), code)) return 33;
  block.assign(4096, std::byte{0});
  const auto read = file.value().read_at(0, block);
  return read && read.value() == 4096 && block[0] == std::byte{7} ? 0 : 34;
}

bool forbid_all(const denial& denied, int code) {
  return std::ranges::all_of(denied.numbers, [code](long each) { return fault::forbid(each, code); });
}

std::string_view engine_of(const qio::context& context) {
  static std::string value;
  value = context.explain().find("engine")->value;
  return value;
}

bool has_a_ring() { return qio::context::create({.engine = qio::engine_kind::ring}).has_value(); }
bool has_aio() { return qio::context::create({.engine = qio::engine_kind::aio}).has_value(); }
bool has_direct(const std::string& directory) {
  return qio::direct_file::open(directory + "/direct", access::read_write, creation::if_needed).has_value();
}

}  // namespace

TEST_CASE(
    "if a sandbox denies a system call before a context is created, the rest works, and errors are the system's") {
  const fault::scratch directory;
  if (!has_direct(directory.path)) QIO_SKIP("no direct I/O here");
  const bool ring = has_a_ring(), aio = has_aio();
  for (const denial& each : denials(directory.path))
    for (const int code : {EPERM, ENOSYS})
      for (const bool without_ring : {false, true}) {
        CAPTURE(each.name, code, without_ring);
        CHECK(qio_test::in_child([&] {
                expect_an_end();
                if (!forbid_all(each, code)) return 1;
                if (without_ring && !fault::forbid_io_uring(EPERM, false)) return 2;
                auto context = qio::context::create();
                if (!context) return 3;
                const bool has_ring = ring && !without_ring && !each.fails(waking);
                const bool has_aio = aio && !each.fails(waking);
                const std::string_view engine = has_ring ? "io_uring" : has_aio ? "aio" : "pool";
                if (engine_of(context.value()) != engine) return 4;
                if (each.fails(waking) && context.value().wake_handle()) return 5;
                if (const int failed = use_files(context.value(), directory.path, each, code, has_ring); failed != 0)
                  return failed;
                return use_blocking(directory.path, each, code);
              }) == 0);
      }
}

TEST_CASE("if a sandbox denies a system call later, the rest works, and errors are the system's") {
  const fault::scratch directory;
  if (!has_direct(directory.path)) QIO_SKIP("no direct I/O here");
  const bool ring = has_a_ring();
  for (const denial& each : denials(directory.path))
    for (const bool without_ring : {false, true}) {
      CAPTURE(each.name, without_ring);
      CHECK(qio_test::in_child([&] {
              expect_an_end();
              if (without_ring && !fault::forbid_io_uring(EPERM, false)) return 2;
              auto context = qio::context::create();
              if (!context) return 3;
              if (const int failed = use_files(context.value(), directory.path, {}, EPERM, ring); failed != 0)
                return failed;
              if (!forbid_all(each, EPERM)) return 1;
              // Workers that have been started before are not filtered; the context's own thread is.
              for (int repeated = 0; repeated < 2; ++repeated) {
                auto file = qio::cached_file::open(context.value(), directory.path + "/cached", access::read_write);
                if (!file) return 40;
                if (const int failed = transfer(context.value(), file.value()); failed != 0) return failed;
                auto direct = qio::direct_file::open(context.value(), directory.path + "/direct", access::read_write);
                if (each.fails(opening_direct)) continue;
                if (!direct) return 41;
                if (const int failed = transfer(context.value(), direct.value()); failed != 0) return 100 + failed;
              }
              return use_blocking(directory.path, each, EPERM);
            }) == 0);
    }
}

// --- io_uring_register alone ---

TEST_CASE("if a sandbox denies io_uring_register alone, there is no ring, and Linux AIO takes its place") {
  const fault::scratch directory;
  if (!has_a_ring() || !has_aio()) QIO_SKIP("no io_uring or no Linux AIO here");
  for (const int code : {EPERM, ENOSYS}) {
    CAPTURE(code);
    CHECK(qio_test::in_child([&] {
            expect_an_end();
            if (!fault::forbid(__NR_io_uring_register, code)) return 1;
            if (qio::context::create({.engine = qio::engine_kind::ring})) return 2;
            auto context = qio::context::create();
            if (!context || engine_of(context.value()) != "aio") return 3;
            const auto facts = context.value().explain();
            if (facts.find("fallback")->reason.find("seccomp") == std::string::npos) return 4;
            return use_files(context.value(), directory.path, {}, code, false);
          }) == 0);
  }
}

TEST_CASE("if a sandbox denies io_uring_register later, operations go on, and what needs it fails or is left out") {
  const fault::scratch directory;
  if (!has_a_ring()) QIO_SKIP("no io_uring here");
  if (!has_direct(directory.path)) QIO_SKIP("no direct I/O here");
  for (const bool was_used : {false, true}) {
    CAPTURE(was_used);
    CHECK(qio_test::in_child([&] {
            expect_an_end();
            auto context = qio::context::create({.engine = qio::engine_kind::ring});
            if (!context) return 1;
            if (was_used)
              if (const int failed = use_files(context.value(), directory.path, {}, EPERM, true); failed != 0)
                return failed;
            if (!fault::forbid(__NR_io_uring_register, EPERM)) return 2;
            if (const int failed = use_files(context.value(), directory.path, {}, EPERM, true); failed != 0)
              return failed;
            // A ring that nobody could enable is given up.
            const auto facts = context.value().explain();
            if ((facts.find("ring")->value == "off") == was_used) return 3;
            const auto handle = context.value().wake_handle();
            if (was_used) return !handle && handle.error() == std::errc::operation_not_permitted ? 0 : 4;
            return handle ? 0 : 5;
          }) == 0);
  }
}

// --- Linux AIO ---

namespace {

/// A system call of Linux AIO, and what is left if a sandbox denies it from the beginning.
struct aio_call {
  const char* name;
  long number;
  std::string_view engine;
};
const aio_call aio_calls[] = {
    {"io_setup", __NR_io_setup, "pool"},
    {"io_submit", __NR_io_submit, "pool"},
    {"io_getevents", __NR_io_getevents, "pool"},
    {"io_destroy", __NR_io_destroy, "aio"},
};

/// Large reads of a direct file, of which `queue_depth` are in the kernel at a time.
class reads_in_flight {
 public:
  static constexpr std::size_t count = 32, bytes = std::size_t(1) << 20;

  reads_in_flight(qio::async_direct_file& file) {
    for (std::size_t i = 0; i < count; ++i) all_.push_back(std::make_unique<one>(file, i));
  }
  std::size_t completed() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(all_, [](const auto& each) { return each->told.has_value(); }));
  }
  bool succeeded(std::size_t i) const {
    const one& each = *all_[i];
    return each.told && *each.told && each.told->value() == bytes && each.memory.data()[bytes - 1] == std::byte{7};
  }
  bool was_canceled(std::size_t i) const {
    return all_[i]->told && !*all_[i]->told && all_[i]->told->error() == std::errc::operation_canceled;
  }
  void cancel(std::size_t i) { all_[i]->operation.cancel(); }

 private:
  struct one {
    one(qio::async_direct_file& file, std::size_t i) : operation(file.async_read_at(i * bytes, memory)) {
      operation.start([this](qio::result<std::size_t> found) { told.emplace(found); });
    }
    qio::aligned_buffer memory = qio::aligned_buffer::allocate(bytes).value();
    std::optional<qio::result<std::size_t>> told;
    qio::operation<qio::default_engine, std::size_t> operation;
  };
  std::vector<std::unique_ptr<one>> all_;
};

qio::async_direct_file large_file(qio::context& context, const std::string& directory) {
  auto file = qio::direct_file::open(context, directory + "/large", access::read_write, creation::if_needed).value();
  auto block = qio::aligned_buffer::allocate(reads_in_flight::bytes).value();
  std::ranges::fill(std::span(block.data(), reads_in_flight::bytes), std::byte{7});
  for (std::size_t i = 0; i < reads_in_flight::count; ++i) file.write_at(i * reads_in_flight::bytes, block).value();
  return file;
}

/// What explain() says of AIO that was given up.
bool says_why(const qio::context& context, int code) {
  const auto facts = context.explain();
  const qio::fact* const aio = facts.find("Linux AIO");
  const std::string said = std::error_code(code, std::generic_category()).message();
  return aio != nullptr && aio->value == "off" && aio->reason.find(said) != std::string::npos;
}

}  // namespace

TEST_CASE("if a sandbox denies a call of Linux AIO as well as io_uring, workers carry out what it cannot") {
  const fault::scratch directory;
  if (!has_aio()) QIO_SKIP("no Linux AIO here");
  if (!has_direct(directory.path)) QIO_SKIP("no direct I/O here");
  for (const aio_call& each : aio_calls)
    for (const int code : {EPERM, ENOSYS, EAGAIN}) {
      CAPTURE(each.name, code);
      CHECK(qio_test::in_child([&] {
              expect_an_end();
              if (!fault::forbid_io_uring(EPERM, false) || !fault::forbid(each.number, code)) return 1;
              if (each.engine == "pool" && qio::context::create({.engine = qio::engine_kind::aio})) return 2;
              auto context = qio::context::create();
              if (!context || engine_of(context.value()) != each.engine) return 3;
              if (const int failed = use_files(context.value(), directory.path, {}, code, false); failed != 0)
                return failed;
              const std::string facts = context.value().explain().text();
              if (each.engine == "pool" && facts.find("from Linux AIO") == std::string::npos) return 4;
              return 0;
            }) == 0);
    }
}

TEST_CASE("if a sandbox denies a call of Linux AIO while requests are in flight, all complete") {
  const fault::scratch directory;
  if (!has_aio()) QIO_SKIP("no Linux AIO here");
  if (!has_direct(directory.path)) QIO_SKIP("no direct I/O here");
  for (const aio_call& each : aio_calls)
    for (const bool without_ppoll : {false, true}) {
      CAPTURE(each.name, without_ppoll);
      CHECK(qio_test::in_child([&] {
              expect_an_end();
              auto context = qio::context::create({.engine = qio::engine_kind::aio, .queue_depth = 8}).value();
              auto file = large_file(context, directory.path);
              for (int repeated = 0; repeated < 2; ++repeated) {
                reads_in_flight reads(file);
                context.poll();
                if (repeated == 0) {
                  if (reads.completed() == reads.count) return 77;
                  if (!fault::forbid(each.number, EPERM)) return 1;
                  if (without_ppoll && !fault::forbid(__NR_ppoll, EPERM)) return 2;
                }
                reads.cancel(reads.count - 1);
                context.run();
                for (std::size_t i = 0; i < reads.count - 1; ++i)
                  if (!reads.succeeded(i)) return 3;
                if (!reads.was_canceled(reads.count - 1) && !reads.succeeded(reads.count - 1)) return 4;
              }
              const bool is_given_up = each.number == __NR_io_submit || each.number == __NR_io_getevents;
              if (is_given_up != says_why(context, EPERM)) return 5;
              if (!file.close()) return 6;
              return use_files(context, directory.path, {}, EPERM, false);
            }) == 0);
    }
}

TEST_CASE(
    "if a sandbox denies a call of Linux AIO while another event loop waits, the operations that follow wake it") {
  const fault::scratch directory;
  if (!has_aio()) QIO_SKIP("no Linux AIO here");
  if (!has_direct(directory.path)) QIO_SKIP("no direct I/O here");
  for (const aio_call& each : aio_calls) {
    CAPTURE(each.name);
    CHECK(qio_test::in_child([&] {
            expect_an_end();
            auto context = qio::context::create({.engine = qio::engine_kind::aio, .queue_depth = 8}).value();
            auto file = large_file(context, directory.path);
            const int handle = context.wake_handle().value();
            for (int repeated = 0; repeated < 20; ++repeated) {
              reads_in_flight reads(file);
              if (repeated == 1 && !fault::forbid(each.number, EPERM)) return 1;
              while (reads.completed() != reads.count) {
                pollfd ready{handle, POLLIN, 0};
                if (context.prepare_to_wait() && ::poll(&ready, 1, 30'000) != 1) return 2;
                context.poll();
              }
              for (std::size_t i = 0; i < reads.count; ++i)
                if (!reads.succeeded(i)) return 3;
            }
            return 0;
          }) == 0);
  }
}

TEST_CASE("if all processes together have almost as many AIO requests as the system allows, the queue is smaller") {
  const fault::scratch directory;
  if (!has_aio()) QIO_SKIP("no Linux AIO here");
  if (!has_direct(directory.path)) QIO_SKIP("no direct I/O here");
  struct limit {
    unsigned most;
    const char* engine;
  };
  for (const limit each : {limit{100, "aio"}, limit{17, "aio"}, limit{4, "pool"}}) {
    CAPTURE(each.most);
    CHECK(qio_test::in_child([&] {
            expect_an_end();
            if (!fault::forbid_io_uring(EPERM, false) || !fault::forbid_above(__NR_io_setup, each.most, EAGAIN))
              return 1;
            auto context = qio::context::create({.queue_depth = 1000});
            if (!context || engine_of(context.value()) != each.engine) return 2;
            const auto facts = context.value().explain();
            if (const qio::fact* const room = facts.find("requests in the kernel"))
              if (std::stoul(room->value.substr(room->value.find_last_of(' '))) >= each.most) return 3;
            if (each.engine == std::string_view("pool") && facts.text().find("fs.aio-max-nr") == std::string::npos)
              return 4;
            return use_files(context.value(), directory.path, {}, EPERM, false);
          }) == 0);
  }
}

TEST_CASE("a log of threads says that there can be no thread") {
  const fault::scratch directory;
  CHECK(qio_test::in_child([&] {
          expect_an_end();
          if (!fault::forbid(__NR_clone3, EAGAIN) || !fault::forbid(__NR_clone, EAGAIN)) return 1;
          const auto accept = [](const qio::log_record&) { return true; };
          const std::string path = directory.path + "/log";
          const auto log = qio::shared_log<qio::cached>::open(path, accept);
          if (log || log.error() != std::errc::resource_unavailable_try_again) return 2;
          return log.error().message().find(path) != std::string::npos ? 0 : 3;
        }) == 0);
}
#endif
