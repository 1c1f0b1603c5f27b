// SPDX-License-Identifier: BSL-1.0
// operations DIRECTORY ENGINE ROUNDS: what asynchronous operations cost beside the system calls that they stand for, on
// the file system of DIRECTORY. Prints a line for each operation:
//   name, microseconds of the system call, microseconds of the operation, median of the ratios, tab-separated
// or the name and the reason why it is unavailable. Both are medians; each ratio is that of one round, in which both
// take turns. ENGINE: default or workers.
#include <qio/qio.hpp>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using steady = std::chrono::steady_clock;

constexpr std::uint64_t file_bytes = 16 * 1024 * 1024;  // in the page cache as a whole
constexpr std::chrono::milliseconds time_of_a_turn{4};

[[noreturn]] void fail(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "operations: %s: %s\n", what.c_str(), why.c_str());
  std::exit(1);
}

double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

// Marsaglia's xorshift64.
class offsets {
 public:
  std::uint64_t next(std::uint64_t unit) noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ % (file_bytes / unit) * unit;
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

void require(std::int64_t answer, std::size_t bytes) {
  if (answer != static_cast<std::int64_t>(bytes))
    fail("a transfer", answer < 0 ? std::strerror(static_cast<int>(-answer)) : "is short");
}
std::int64_t answer_of(ssize_t returned) noexcept { return returned < 0 ? -errno : returned; }
std::int64_t answer_of(const qio::result<std::size_t>& transferred) {
  if (!transferred) fail("a transfer", transferred.error().message());
  return static_cast<std::int64_t>(transferred.value());
}

/// Takes the time of single operations for some milliseconds. The median, in microseconds.
template <class Operation>
double timed(Operation&& operation) {
  std::vector<double> found;
  const auto end = steady::now() + time_of_a_turn;
  do {
    const auto begin = steady::now();
    operation();
    found.push_back(std::chrono::duration<double, std::micro>(steady::now() - begin).count());
  } while (steady::now() < end || found.size() < 5);
  return median(std::move(found));
}

class table {
 public:
  explicit table(int rounds) : rounds_(rounds) {}

  /// `call()` makes one system call; `run(operation)` runs a coroutine whose operation() makes one operation.
  template <class Call, class Run>
  void row(const char* name, Call&& call, Run&& run) {
    std::vector<double> calls, operations, ratios;
    call();
    run();
    for (int round = 0; round < rounds_; ++round) {
      const bool call_first = round % 2 == 0;
      double raw = call_first ? timed(call) : 0;
      const double asynchronous = run();
      if (!call_first) raw = timed(call);
      calls.push_back(raw);
      operations.push_back(asynchronous);
      ratios.push_back(asynchronous / raw);
    }
    std::printf("%s\t%.2f\t%.2f\t%.2f\n", name, median(calls), median(operations), median(ratios));
    std::fflush(stdout);
  }

  static void unavailable(const char* name, const std::string& why) { std::printf("%s\t%s\n", name, why.c_str()); }

 private:
  int rounds_;
};

/// The time of one operation, taken in a coroutine, as a program would meet it.
template <class Context, class Operation>
double timed_on(Context& context, Operation operation) {
  return context.run([](Operation repeated) -> qio::task<double> {
    std::vector<double> found;
    const auto end = steady::now() + time_of_a_turn;
    do {
      const auto begin = steady::now();
      co_await repeated();
      found.push_back(std::chrono::duration<double, std::micro>(steady::now() - begin).count());
    } while (steady::now() < end || found.size() < 5);
    co_return median(std::move(found));
  }(std::move(operation)));
}

class measurement {
 public:
  measurement(qio::engine_kind engine, std::string path, int rounds)
      : path_(std::move(path)), out_(rounds), context_(qio::context::create({.engine = engine}).value()) {
    auto made = qio::cached_file::open(path_, qio::access::read_write, qio::creation::always_new);
    if (!made) fail(path_, made.error().message());
    for (std::uint64_t offset = 0; offset < file_bytes; offset += buffer_.size())
      require(answer_of(made.value().write_at(offset, buffer_)), buffer_.size());
    if (auto synced = made.value().sync(); !synced) fail(path_, synced.error().message());
  }

  void all() {
    auto cached = opened<qio::cached>();
    const int plain = raw(O_RDWR);
    warm(plain);
    reads("cached read 4 KiB", plain, cached, 4096);
    reads("cached read 64 KiB", plain, cached, 64 * 1024);
    if (auto mapped = open<qio::mapped>(); mapped)
      reads("mapped file, asynchronous read 4 KiB", plain, mapped.value(), 4096);
    else
      table::unavailable("mapped file, asynchronous read 4 KiB", mapped.error().message());
    writes("cached write 512 B", plain, cached, 512);
    writes("cached write 4 KiB", plain, cached, 4096);
    writes("cached write 64 KiB", plain, cached, 64 * 1024);
    writes("cached write 256 KiB", plain, cached, 256 * 1024);
    writes("cached write 1 MiB", plain, cached, 1024 * 1024);
    uncached_writes();
    require_done(::fdatasync(plain));
    direct_transfers();
    out_.row(
        "clean fdatasync", [&] { require_done(::fdatasync(plain)); },
        [&] {
          return timed_on(context_, [&]() -> qio::task<void> {
            if (auto done = co_await cached.async_sync(qio::sync_kind::data_and_size); !done)
              fail("sync", done.error().message());
          });
        });
    out_.row(
        "open and close", [&] { ::close(raw(O_RDWR)); },
        [&] {
          return timed_on(context_, [&]() -> qio::task<void> {
            auto file = co_await file_of<qio::cached>::async_open(context_, path_, qio::access::read_write);
            if (!file) fail(path_, file.error().message());
            if (auto closed = co_await file.value().async_close(); !closed) fail("close", closed.error().message());
          });
        });
    ::close(plain);
  }

 private:
  template <class Mode>
  using file_of = qio::async_file<Mode>;

  template <class Mode>
  qio::result<file_of<Mode>> open() {
    return file_of<Mode>::open(context_, path_, qio::access::read_write);
  }
  template <class Mode>
  file_of<Mode> opened() {
    auto file = open<Mode>();
    if (!file) fail(path_, file.error().message());
    return std::move(file).value();
  }

  int raw(int flags) const {
    const int opened = ::open(path_.c_str(), flags | O_CLOEXEC);
    if (opened < 0) fail(path_, std::strerror(errno));
    return opened;
  }
  static void require_done(int answer) {
    if (answer != 0) fail("fdatasync", std::strerror(errno));
  }

  void warm(int file) {
    for (std::uint64_t offset = 0; offset < file_bytes; offset += buffer_.size())
      require(answer_of(::pread(file, buffer_.data(), buffer_.size(), static_cast<off_t>(offset))), buffer_.size());
  }

  template <class File>
  void reads(const char* name, int plain, File& file, std::size_t bytes) {
    const std::span<std::byte> into(buffer_.data(), bytes);
    out_.row(
        name,
        [&] {
          const auto offset = static_cast<off_t>(offsets_.next(bytes));
          require(answer_of(::pread(plain, into.data(), into.size(), offset)), bytes);
        },
        [&] {
          return timed_on(context_, [&]() -> qio::task<void> {
            require(answer_of(co_await file.async_read_at(offsets_.next(bytes), into)), bytes);
          });
        });
  }

  template <class File>
  void writes(const char* name, int plain, File& file, std::size_t bytes, int flags = 0) {
    const std::span<const std::byte> from(buffer_.data(), bytes);
    out_.row(
        name,
        [&] {
          const iovec single{buffer_.data(), bytes};
          const auto offset = static_cast<off_t>(offsets_.next(bytes));
          require(answer_of(flags == 0 ? ::pwrite(plain, buffer_.data(), bytes, offset)
                                       : ::pwritev2(plain, &single, 1, offset, flags)),
                  bytes);
        },
        [&] {
          return timed_on(context_, [&]() -> qio::task<void> {
            require(answer_of(co_await file.async_write_at(offsets_.next(bytes), from)), bytes);
          });
        });
  }

  void uncached_writes() {
    auto file = open<qio::uncached>();
    if (!file) return table::unavailable("uncached write 4 KiB", file.error().message());
    const int plain = raw(O_RDWR);
    require_done(::fdatasync(plain));
    ::posix_fadvise(plain, 0, 0, POSIX_FADV_DONTNEED);  // a page that is cached already would stay
    writes("uncached write 4 KiB", plain, file.value(), 4096, qio::platform::drop_pages);
    ::close(plain);
  }

  void direct_transfers() {
    auto file = open<qio::direct>();
    if (!file) {
      table::unavailable("direct read 4 KiB", file.error().message());
      return table::unavailable("direct write 4 KiB", file.error().message());
    }
    const int plain = raw(O_RDWR | O_DIRECT);
    reads("direct read 4 KiB", plain, file.value(), 4096);
    writes("direct write 4 KiB", plain, file.value(), 4096);
    ::close(plain);
  }

  std::string path_;
  table out_;
  offsets offsets_;
  qio::context context_;
  qio::aligned_buffer buffer_ = qio::aligned_buffer::allocate(1024 * 1024).value();
};

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count == 4 ? std::atoi(arguments[3]) : 0;
  if (rounds < 1) fail("usage", "operations DIRECTORY default|workers ROUNDS");
  const std::string path = std::string(arguments[1]) + "/operations.data";
  const bool by_workers = std::string_view(arguments[2]) == "workers";
  measurement(by_workers ? qio::engine_kind::workers : qio::engine_kind::any, path, rounds).all();
  ::unlink(path.c_str());
}
