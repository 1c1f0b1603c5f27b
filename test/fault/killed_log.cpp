// Logs whose writers are killed at any moment, again and again: everything acknowledged is there, and whole.
#include "catch.hpp"
#include "directory.hpp"
#include <qio/log_writer.hpp>
#include <qio/qio.hpp>
#include <qio/task_scope.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace {

constexpr std::size_t most_writers = 16;
constexpr qio::log_options small_log{.extent = 1 << 20, .largest_batch = 32 * 1024, .id = 9};

// In memory that the processes share: how many records each writer has begun to append, and how many were acknowledged.
struct progress {
  std::array<std::atomic<std::uint64_t>, most_writers> begun{}, acknowledged{};
  std::atomic<std::uint64_t> all = 0;          // acknowledged
  std::atomic<std::uint64_t> last_number = 0;  // of a record in the log that was
};

class shared_progress {
 public:
  shared_progress() {
    void* const memory = ::mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    now_ = ::new (memory) progress();
  }
  shared_progress(const shared_progress&) = delete;
  shared_progress& operator=(const shared_progress&) = delete;
  ~shared_progress() { ::munmap(now_, sizeof(progress)); }
  progress* operator->() const { return now_; }

 private:
  progress* now_;
};

// The record with a number of a writer: these two, and as many bytes as they say.
struct record {
  record(std::uint64_t writer, std::uint64_t number) {
    std::minstd_rand random(static_cast<unsigned>(number * most_writers + writer) + 1);
    size_ = 16 + random() % (number % 50 == 0 ? 20'000 : 300);
    std::memcpy(bytes_.data(), &writer, 8);
    std::memcpy(bytes_.data() + 8, &number, 8);
    for (std::size_t each = 16; each < size_; ++each) bytes_[each] = static_cast<std::byte>(random() >> 8);
  }
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

 private:
  std::size_t size_;
  std::array<std::byte, 20'100> bytes_;
};

// What a log has of each writer.
class contents {
 public:
  // Whether it is whole, and follows the last one, and the writer's last one.
  bool add(const qio::log_record& found) {
    if (last_number != 0 && found.number != last_number + 1) return false;
    last_number = found.number;
    std::array<std::uint64_t, 2> names{};
    if (found.bytes.size() < sizeof names) return false;
    std::memcpy(names.data(), found.bytes.data(), sizeof names);
    const auto [writer, number] = names;
    if (writer >= most_writers || (last[writer] != 0 && number != last[writer] + 1)) return false;
    last[writer] = number;
    const auto right = record(writer, number);
    return std::ranges::equal(found.bytes, right.bytes());
  }

  std::array<std::uint64_t, most_writers> last{};  // 0: none
  std::uint64_t last_number = 0;
};

struct way {
  const char* name;
  qio::engine_kind engine;
  std::uint64_t writers;
};
// The last has a single writer, none of whose records waits for another.
constexpr way ways[] = {{"ring", qio::engine_kind::ring, 16},
                        {"workers", qio::engine_kind::workers, 5},
                        {"default", qio::engine_kind::any, 1}};

template <class Mode>
class killed_writers {
 public:
  explicit killed_writers(const way& how) : how_(how) {}

  // Appends until so many more records are acknowledged, and kills the process that does.
  void kill_after(std::uint64_t more) {
    const std::uint64_t until = now_->all + more;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      bool is_well = false;
      try {
        is_well = append_forever();
      } catch (const std::exception&) {}
      ::_exit(is_well ? 0 : 1);  // either is one too early
    }
    pid_t ended = 0;
    while (now_->all < until && (ended = ::waitpid(child, nullptr, WNOHANG)) == 0) std::this_thread::yield();
    REQUIRE(ended == 0);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }

  // Compares what is there with what was acknowledged, and with what may be.
  void check() {
    contents found;
    auto context = qio::context::create({.engine = how_.engine}).value();
    auto file = qio::basic_file<Mode>::open(context, path_, qio::access::read).value();
    bool is_right = true;
    const auto visit = [&](const qio::log_record& each) { return is_right = is_right && found.add(each); };
    REQUIRE(context.run(qio::read_log(file, visit, small_log)));
    REQUIRE(is_right);
    REQUIRE(found.last_number >= now_->last_number);
    for (std::uint64_t writer = 0; writer < how_.writers; ++writer) {
      if (found.last[writer] == 0) continue;  // all of its records may have been trimmed
      REQUIRE(found.last[writer] >= now_->acknowledged[writer]);
      REQUIRE(found.last[writer] <= now_->begun[writer]);
    }
  }

  std::uint64_t acknowledged() const { return now_->all; }

 private:
  static constexpr std::uint64_t kept = 3000;  // records, from which it trims

  bool append_forever() {
    auto context = qio::context::create({.engine = how_.engine}).value();
    return context.run(append_all(context));
  }

  qio::task<bool> append_all(qio::context& context) {
    contents found;
    for (;;) {
      auto file = qio::basic_file<Mode>::open(context, path_, qio::access::read_write, qio::creation::if_needed);
      if (!file) co_return false;
      found = contents();
      auto log = co_await qio::open_log(
          std::move(file).value(), [&](const qio::log_record& each) { return found.add(each); }, small_log);
      if (!log && log.error() == qio::errc::log_is_open) continue;  // the kernel has not closed all yet
      if (!log) co_return false;
      qio::task_scope scope(context);
      for (std::uint64_t writer = 0; writer < how_.writers; ++writer)
        scope.spawn(append_as(log.value(), writer, found.last[writer]));
      co_await scope.join();
      co_return false;
    }
  }

  qio::task<void> append_as(qio::log_writer<Mode>& log, std::uint64_t writer, std::uint64_t number) {
    for (;;) {
      const auto next = std::make_unique<record>(writer, ++number);
      now_->begun[writer] = number;
      const qio::result<std::uint64_t> appended = co_await log.append(next->bytes());
      if (!appended) co_return;
      now_->acknowledged[writer] = number;
      if (appended.value() > now_->last_number) now_->last_number = appended.value();
      ++now_->all;
      if (writer != 0 || number % 100 != 0 || appended.value() < kept) continue;
      const qio::result<std::uint64_t> first = co_await log.trim(appended.value() - kept);
      if (!first) co_return;
    }
  }

  const way how_;
  const qio_test::directory directory_;
  const std::string path_ = directory_ / "log";
  shared_progress now_;
};

template <class Mode>
void kill_until(const way& how, std::uint64_t appended) {
  INFO("by " << how.name << ", " << Mode::name);
  killed_writers<Mode> log(how);
  std::minstd_rand random(7);
  int kills = 0;
  for (; log.acknowledged() < appended; ++kills) {
    log.kill_after(1 + random() % (random() % 3 == 0 ? 20 : 2000));
    log.check();
  }
  if (appended > 10'000) WARN(kills << " writers were killed, after " << log.acknowledged() << " acknowledged records");
}

template <class Mode>
void kill_many(const way& how) {
  kill_until<Mode>(how, 170'000);
}

}  // namespace

TEST_CASE("a log that killed processes have appended to has all that was acknowledged, whole and in order") {
  kill_until<qio::direct>(ways[0], 3000);
  kill_until<qio::cached>(ways[1], 3000);
}

// Together, a million records.
TEST_CASE("the same of a direct log, by the ring, often", "[nightly]") { kill_many<qio::direct>(ways[0]); }
TEST_CASE("the same of a direct log, by workers, often", "[nightly]") { kill_many<qio::direct>(ways[1]); }
TEST_CASE("the same of a direct log, by default, often", "[nightly]") { kill_many<qio::direct>(ways[2]); }
TEST_CASE("the same of a cached log, by the ring, often", "[nightly]") { kill_many<qio::cached>(ways[0]); }
TEST_CASE("the same of a cached log, by workers, often", "[nightly]") { kill_many<qio::cached>(ways[1]); }
TEST_CASE("the same of a cached log, by default, often", "[nightly]") { kill_many<qio::cached>(ways[2]); }
