// Runs a load on a context, and measures meanwhile how late that context runs what is due.
#pragma once

#include "heartbeat.hpp"
#include "neighbors.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stalls {

/// How a situation is brought about.
struct form {
  bool full = false;   ///< each load again and again for `time`, and large; otherwise once, and small
  bool never = false;  ///< nothing runs inline
  std::chrono::milliseconds time = std::chrono::seconds(15);

  /// For how many beats something is held.
  unsigned beats() const { return full ? 200 : 3; }
  template <class T>
  T either(T large, T small) const {
    return full ? large : small;
  }
};

/// What was measured and counted.
struct outcome {
  std::string missing;  ///< why the situation cannot be brought about here; otherwise empty
  std::string done;     ///< what was done
  lateness beats, cancels;
  nanoseconds took{};
  std::uint64_t operations = 0;
  std::uint64_t right = 0;      ///< operations with the result that they must have
  std::uint64_t timed_out = 0;  ///< of those
  std::uint64_t transfers = 0;  ///< of those: reads and writes that were completed
  std::string wrong;            ///< the first result that was not right
  qio::file_statistics statistics;
  bool opens = false;        ///< files were opened, which may wait a little on the context's thread
  bool was_released = true;  ///< the context asked for the release of what was held: its thread was not blocked
};

inline outcome lacking(std::string why) {
  outcome none;
  none.missing = std::move(why);
  return none;
}

/// A context, the form of the situation, and what was found.
class bench {
 public:
  bench(qio::context& on, const form& wanted, outcome& into) : context(on), how(wanted), found(into) {}

  /// Options for opening a file.
  qio::open_options options(qio::if_unavailable fallback = qio::if_unavailable::use_cache) const {
    qio::open_options result;
    result.fallback = fallback;
    return result;
  }

  /// Whether another round of the load is due.
  bool goes_on() {
    const bool first = rounds_++ == 0;
    return first || (how.full && clock::now() - began < how.time);
  }

  /// Ends after some beats.
  qio::task<void> beats(unsigned count) {
    for (; count != 0; --count) static_cast<void>(co_await context.sleep_for(1ms));
  }
  /// Calls on another thread what would keep this one busy, which is not to be measured.
  template <class Call>
  qio::task<void> elsewhere(Call call) {
    std::atomic<bool> has_ended = false;
    std::thread other([&] {
      call();
      has_ended = true;
    });
    while (!has_ended) co_await beats(1);
    other.join();
  }
  /// Runs the task that `work` returns while something is held: see guard. That is released after some beats, so never
  /// if the thread is blocked, before the time limit. False if it cannot be held.
  template <class Hold, class Work>
  qio::task<bool> while_held(Hold hold, Work work, std::chrono::milliseconds limit = guard::usual_limit) {
    std::optional<guard> held;
    co_await elsewhere([&] { held.emplace(hold, limit); });
    if (!held->holds()) co_return false;
    const auto release = [&]() -> qio::task<void> {
      co_await beats(how.beats());
      held->release();
    };
    co_await qio::when_all(work(), release());
    bool was_asked = false;
    co_await elsewhere([&] { was_asked = held->was_asked(); });
    if (limit == guard::usual_limit) found.was_released = found.was_released && was_asked;
    co_return true;
  }

  void count(bool is_right, const std::string& otherwise) {
    ++found.operations;
    found.right += is_right;
    if (!is_right && found.wrong.empty()) found.wrong = otherwise;
  }
  template <class Result>
  void count_success(const Result& result) {
    count(bool(result), result ? std::string() : result.error().message());
  }

  template <class File>
  void add_statistics(const File& of) {
    const qio::file_statistics& each = of.statistics();
    found.statistics.served_inline += each.served_inline;
    found.statistics.served_by_ring += each.served_by_ring;
    found.statistics.served_by_worker += each.served_by_worker;
    found.statistics.blocked_submissions += each.blocked_submissions;
  }

  qio::context& context;
  const form& how;
  outcome& found;
  heartbeat heart;
  arrivals cancels;
  const clock::time_point began = clock::now();

 private:
  unsigned rounds_ = 0;
};

/// Runs a load, `task<void> load(bench&)`, beside a heartbeat.
template <class Load>
outcome measure(const form& how, Load&& load) {
  outcome found;
  qio::context_options options;
  if (how.never) options.inline_work = qio::inline_work::never;
  auto context = qio::context::create(options);
  if (!context) return lacking(context.error().message());
  bench on(context.value(), how, found);
  const auto work = [&]() -> qio::task<void> {
    try {
      co_await load(on);
    } catch (const std::exception& failure) {
      on.count(false, failure.what());
    }
    on.heart.stop();
  };
  context.value().run(qio::when_all(on.heart.beat(context.value()), work()));
  found.beats = on.heart.of_beats();
  found.cancels = on.heart.of(on.cancels);
  found.took = clock::now() - on.began;
  return found;
}

// --- Files whose contents are known ---

inline constexpr std::size_t block = 4096;

inline std::byte value_of(std::uint64_t number) { return static_cast<std::byte>(number % 251 + 1); }

/// Writes blocks of known contents, and makes sure that none is in the page cache. False if that fails.
inline bool make_cold(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_cold = ::fsync(file) == 0 && ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
  ::close(file);
  return is_cold;
}
inline bool make_file(const std::string& path, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  std::vector<std::byte> piece(std::min<std::size_t>(bytes, 1 << 20));
  bool is_written = true;
  for (std::size_t offset = 0; offset < bytes && is_written; offset += piece.size()) {
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = value_of((offset + i) / block);
    is_written =
        ::pwrite(file, piece.data(), piece.size(), static_cast<off_t>(offset)) == static_cast<ssize_t>(piece.size());
  }
  ::close(file);
  return is_written && make_cold(path);
}

inline bool has_values(std::uint64_t offset, std::span<const std::byte> data) {
  for (std::size_t i = 0; i < data.size(); i += block) {
    const std::byte expected = value_of((offset + i) / block);
    if (data[i] != expected || data[std::min(i + block, data.size()) - 1] != expected) return false;
  }
  return true;
}

/// Memory for one transfer, which is in memory already: allocating it must not take time of the context's thread. Child
/// processes do not inherit it, because this thread would copy its pages when it next writes to them.
class lent_memory {
 public:
  explicit lent_memory(std::size_t bytes) {
    auto& free = known()[bytes];
    if (free.empty()) reserve(1, bytes);
    data = {free.back(), bytes};
    free.pop_back();
    // Nothing of an earlier transfer may pass for a result.
    for (std::size_t i = 0; i < bytes; i += block) data[i] = data[std::min(i + block, bytes) - 1] = {};
  }
  lent_memory(const lent_memory&) = delete;
  lent_memory& operator=(const lent_memory&) = delete;
  ~lent_memory() { known()[data.size()].push_back(data.data()); }

  /// Has memory for so many transfers at a time.
  static void reserve(std::size_t count, std::size_t bytes) {
    auto& free = known()[bytes];
    if (free.size() >= count) return;
    count -= free.size();
    void* const memory =
        ::mmap(nullptr, count * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    ::madvise(memory, count * bytes, MADV_DONTFORK);
    for (std::size_t i = 0; i < count; ++i) free.push_back(static_cast<std::byte*>(memory) + i * bytes);
  }

  std::span<std::byte> data;

 private:
  static std::map<std::size_t, std::vector<std::byte*>>& known() {
    static std::map<std::size_t, std::vector<std::byte*>> all;
    return all;
  }
};

// --- Operations whose results are compared with what they must be ---

template <class File>
qio::task<void> read_right(bench& on, File& from, std::uint64_t offset, std::size_t bytes) {
  const lent_memory buffer(bytes);
  const auto done = co_await from.async_read_at(offset, buffer.data);
  on.found.transfers += bool(done);
  on.count(done && done.value() == bytes && has_values(offset, buffer.data),
           done ? "a read returned other data" : done.error().message());
}

template <class File>
qio::task<void> write_right(bench& on, File& to, std::uint64_t offset, std::size_t bytes) {
  const lent_memory buffer(bytes);
  for (std::size_t i = 0; i < bytes; ++i) buffer.data[i] = value_of((offset + i) / block);
  const auto done = co_await to.async_write_at(offset, buffer.data);
  on.found.transfers += bool(done);
  on.count(done && done.value() == bytes, done ? "a write was short" : done.error().message());
}

/// With a deadline after 5 ms: it may time out.
template <class File>
qio::task<void> read_in_time(bench& on, File& from, std::uint64_t offset, std::size_t bytes) {
  const lent_memory buffer(bytes);
  const clock::time_point due = clock::now() + 5ms;
  deadline_watch watch(on.cancels, due);
  const auto read = [&]() -> qio::task<void> {
    const auto done = co_await from.async_read_at(offset, buffer.data, {.deadline = due});
    watch.ended();
    const bool is_late = !done && done.error() == std::errc::timed_out;
    on.found.timed_out += is_late;
    on.found.transfers += bool(done);
    on.count(is_late || (done && done.value() == bytes && has_values(offset, buffer.data)),
             done ? "a read returned other data" : done.error().message());
  };
  co_await qio::when_all(watch.watch(on.context), read());
}

}  // namespace stalls
